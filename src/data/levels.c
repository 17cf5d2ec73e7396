/* Levels of categories that an existing model knows, and those that it does not. */
#include <stdio.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/levels.h"

/* `column=level`, where it fits. */
struct level_text {
    char text[1024];
    fplt__span span;
};

static void join(fplt__span column, fplt__span level, struct level_text *joined)
{
    size_t length = column.length + 1 + level.length;
    joined->span = (fplt__span){joined->text, 0};
    if (length >= sizeof joined->text)
        return; /* no feature has a name of no letters */
    memcpy(joined->text, column.text, column.length);
    joined->text[column.length] = '=';
    memcpy(joined->text + column.length + 1, level.text, level.length);
    joined->text[length] = 0;
    joined->span.length = length;
}

fplt_status fplt__levels_init(fplt__expected *expected, const fplt_read_settings *settings,
                              fplt_error *error)
{
    static const char *const words[] = {"refuse", "reference", "missing"};
    const char *given = settings->unknown_level;
    fplt_status status = FPLT_OK;
    expected->drops_first = settings->drop_first_level;
    while (given && expected->unknown_level < 3 &&
           strcmp(given, words[expected->unknown_level]) != 0)
        expected->unknown_level++;
    if (expected->unknown_level == 3)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "unknown-level is '%.80s', but it must be one of refuse, reference, missing", given);
    for (size_t i = 0; i < settings->reference_count && !status; i++) {
        uint32_t number;
        status = fplt__lookup_add(&expected->references,
                                  fplt__span_of(settings->reference_levels[i]), &number, error);
    }
    return status;
}

/* A model of an earlier program does not say what its references are. */
static int knows_references(const fplt__expected *expected)
{
    return expected->references.count || !expected->drops_first;
}

int fplt__level_is_known(const fplt__expected *expected, fplt__span column, fplt__span level)
{
    struct level_text joined;
    if (!expected->names.count)
        return 1;
    join(column, level, &joined);
    return fplt__lookup_find(&expected->names, joined.span) != FPLT__NOWHERE ||
           fplt__lookup_find(&expected->references, joined.span) != FPLT__NOWHERE ||
           !knows_references(expected);
}

/* Of a lookup of `column=level` the levels of a column, as far as there is room; and the one that differs from `level`
 * in upper and lower case or in a letter only. */
static void list_levels(const fplt__lookup *features, fplt__span column, fplt__span level,
                        char *list, size_t size, const char **nearest)
{
    size_t used = strlen(list), closest = level.length > 4 ? 2 : 1;
    for (uint32_t i = 0; i < features->count; i++) {
        fplt__span feature = fplt__lookup_word(features, i);
        if (feature.length <= column.length || feature.text[column.length] != '=' ||
            memcmp(feature.text, column.text, column.length) != 0)
            continue;
        const char *known = feature.text + column.length + 1;
        char copy[64];
        snprintf(copy, sizeof copy, "%.*s", (int)level.length, level.text);
        if (strcasecmp(known, copy) == 0 || fplt__edit_distance(known, copy) < closest)
            *nearest = known;
        if (used + 56 < size)
            used += (size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "",
                                     fplt__show(fplt__span_of(known)).text);
        else if (used + 6 < size && list[used - 1] != '.')
            used += (size_t)snprintf(list + used, size - used, ", ...");
    }
}

fplt_status fplt__refuse_level(const fplt__expected *expected, fplt__origin origin,
                               fplt__span column, fplt__span level, fplt_error *error)
{
    char list[300] = "", meant[80] = "";
    const char *nearest = NULL;
    list_levels(&expected->references, column, level, list, sizeof list, &nearest);
    list_levels(&expected->names, column, level, list, sizeof list, &nearest);
    if (nearest)
        snprintf(meant, sizeof meant, "; is '%s' meant?", fplt__show(fplt__span_of(nearest)).text);
    return fplt__bad_data(error, origin.name, origin.line,
                          "column '%s': the model does not know the level '%s', it knows %s%s "
                          "Correct the file, or add --unknown-level missing (as a missing value) "
                          "or --unknown-level reference (as the reference level)",
                          fplt__show(column).text, fplt__show(level).text, list,
                          *meant ? meant : ".");
}

fplt_status fplt__levels_check(const fplt__expected *expected, const fplt__column *column,
                               fplt__span name, const char *source, fplt_error *error)
{
    uint32_t unknown = 0, second = 0;
    if (knows_references(expected) || expected->unknown_level != FPLT__UNKNOWN_REFUSED)
        return FPLT_OK;
    for (uint32_t i = 0; i < column->levels.count; i++)
        if (column->slot[i] == FPLT__NOWHERE && unknown++)
            second = i;
    if (unknown < 2)
        return FPLT_OK;
    return fplt__refuse_level(expected, (fplt__origin){source, 0}, name,
                              fplt__lookup_word(&column->levels, second), error);
}
