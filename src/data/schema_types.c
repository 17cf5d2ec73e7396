/* The types of columns and the keys that each type allows. */
#include "data/schema_types.h"

const fplt__schema_type fplt__schema_types[FPLT__SCHEMA_TYPES] = {
    [FPLT__NUMBERS] = {"number", "a feature",
                       FPLT__KEY_BOUNDS | FPLT__KEY_CENTRE | FPLT__KEY_SCALE | FPLT__KEY_MISSING,
                       FPLT__KEY_BOUNDS},
    [FPLT__CATEGORY] = {"category", "a feature for each level",
                        FPLT__KEY_LEVELS | FPLT__KEY_BASE | FPLT__KEY_MISSING | FPLT__KEY_OTHER,
                        FPLT__KEY_LEVELS},
    [FPLT__LABEL] = {"label", "the value to predict",
                     FPLT__KEY_BOUNDS | FPLT__KEY_CLASSES | FPLT__KEY_MISSING | FPLT__KEY_OTHER, 0},
    [FPLT__SITE] = {"site", "the agent that owns the row", FPLT__KEY_NAMES, 0},
    [FPLT__WEIGHT] = {"weight", "the weight of the row", FPLT__KEY_BOUNDS | FPLT__KEY_MISSING,
                      FPLT__KEY_BOUNDS},
    [FPLT__OFFSET] = {"offset", "added to the score", FPLT__KEY_BOUNDS | FPLT__KEY_MISSING,
                      FPLT__KEY_BOUNDS},
    [FPLT__TIME] = {"time", "until the event or the end of observation",
                    FPLT__KEY_BOUNDS | FPLT__KEY_MISSING, FPLT__KEY_BOUNDS},
    [FPLT__EVENT] = {"event", "whether it happened",
                     FPLT__KEY_CLASSES | FPLT__KEY_MISSING | FPLT__KEY_OTHER, FPLT__KEY_CLASSES},
    [FPLT__PERSON] = {"person", "the person that the row belongs to",
                      FPLT__KEY_MAX | FPLT__KEY_MISSING | FPLT__KEY_OTHER, FPLT__KEY_MAX},
    [FPLT__IGNORED] = {"ignore", "ignored", 0, 0},
    [FPLT__SCHEMA_TYPES - 1] = {"id", "ignored", 0, 0},
};

const char *fplt__type_name(size_t type, const char **help)
{
    if (type >= FPLT__SCHEMA_TYPES)
        return NULL;
    if (help)
        *help = fplt__schema_types[type].help;
    return fplt__schema_types[type].name;
}

int fplt__schema_answers_other(const fplt__declared *column, int libsvm)
{
    return (fplt__schema_types[column->type].keys & FPLT__KEY_OTHER && !column->bounded) ||
           (libsvm && column->type == FPLT__NUMBERS);
}
