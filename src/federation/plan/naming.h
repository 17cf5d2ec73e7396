/* What features, classes and label are called in the model of a plan. */
#ifndef FPLT_FEDERATION_NAMING_H
#define FPLT_FEDERATION_NAMING_H

#include "data/dataset.h"
#include "data/formula.h"
#include "federation/plan/plan_resolution.h"
#include "wire/dictionary.h"

typedef struct fplt__naming {
    fplt__names features; /* of the model, those of a formula included; none: positions only */
    fplt_design *design;  /* owned: what the formula makes of the columns of the run; NULL: none */
    fplt__names classes;  /* none: regression */
    fplt__dictionary dictionary; /* of the plan; zeros: it has a schema */
} fplt__naming;

/* By the plan's dictionary or its schema; to be cleared, also on failure. */
fplt_status fplt__naming_make(const fplt__plan_resolution *terms, const fplt__agreement *agreement,
                              fplt__naming *naming, fplt_error *error);
void fplt__naming_clear(fplt__naming *naming);

/* The columns of a run before its formula: by its schema, or else by its dictionary. To be cleared. */
fplt_status fplt__naming_columns(const fplt_schema *schema, const char *dictionary,
                                 fplt__names *columns, fplt_error *error);

/* Refuses to begin a run at a model whose features or classes are others, or in another order: `names` are those of
 * the model (fplt__naming_list), `what` begins the sentence. */
fplt_status fplt__naming_compare(const char *names, const fplt__agreement *agreement,
                                 const char *what, fplt_error *error);
/* Features and classes of a model as one text, to be released with fplt_free; NULL: features have no names. */
fplt_status fplt__naming_list(const fplt_model_info *info, char **names, fplt_error *error);

#endif
