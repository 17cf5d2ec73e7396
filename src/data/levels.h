/* Columns of CSV files, their levels, and the levels that an existing model knows. */
#ifndef FPLT_DATA_LEVELS_H
#define FPLT_DATA_LEVELS_H

#include "data/profile.h"

/* A feature column of a CSV file; a category keeps level numbers as its cells. */
typedef struct fplt__column {
    int category;
    fplt__lookup levels;
    uint32_t *slot; /* owned: level number -> feature, or FPLT__NOWHERE */
    uint32_t number_slot;
} fplt__column;

/* Action for a level that an existing model does not know. */
typedef enum fplt__unknown {
    FPLT__UNKNOWN_REFUSED,
    FPLT__UNKNOWN_REFERENCE,
    FPLT__UNKNOWN_MISSING
} fplt__unknown;

/* Features that an existing model or a schema requires; no names: any features are read. */
typedef struct fplt__expected {
    fplt__lookup names;
    fplt__lookup categories;     /* columns of which a name may be a level */
    fplt__lookup references;     /* `column=level` of levels without a feature */
    int drops_first;             /* the model has no feature for the first level of a category */
    fplt__unknown unknown_level; /* action for levels that the model does not know */
} fplt__expected;

/* Levels beside an existing model (levels.c). Without one every level is known. */
fplt_status fplt__levels_init(fplt__expected *expected, const fplt_read_settings *settings,
                              fplt_error *error);
int fplt__level_is_known(const fplt__expected *expected, fplt__span column, fplt__span level);
fplt_status fplt__refuse_level(const fplt__expected *expected, fplt__origin origin,
                               fplt__span column, fplt__span level, fplt_error *error);
/* Once all rows are read: where a model does not say what its reference levels are, one level of a column may be
 * without a feature, and more are refused. */
fplt_status fplt__levels_check(const fplt__expected *expected, const fplt__column *column,
                               fplt__span name, const char *source, fplt_error *error);

#endif
