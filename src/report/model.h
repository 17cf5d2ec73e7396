#ifndef FPLT_REPORT_MODEL_H
#define FPLT_REPORT_MODEL_H

#include <jansson.h>

#include "fedplt/model.h"
#include "fedplt/schema.h"
#include "objective/loss.h"

struct fplt_model {
    fplt_model_info info;   /* all it points at is owned */
    const fplt__loss *kind; /* of info.loss */
    uint32_t outputs;
    fplt_transform transform;
    fplt_schema *schema;
    char *loss, *label, *site, *labels, *program, *training;
    char **feature_names, **class_names;
    double *weights;
    json_t *record; /* owned: what `training` is the text of; NULL: parse that */
};

/* A new reference to the whole as JSON, or NULL when there is no memory or a text is not UTF-8. */
json_t *fplt__model_json(const fplt_model *model);

/* Choices, measures and quality of a run; `model` NULL: nothing is judged. */
fplt_status fplt__record_make(const fplt_job_view *view, fplt_engine *engine, const double *weights,
                              const fplt_model *model, fplt_record *record, fplt_error *error);

/* As fplt_model_from_run, with the record of the run as it was used and the certificate (borrowed)
 * in it; either may be NULL. */
fplt_status fplt__model_from_run(const fplt_job *job, fplt_engine *engine,
                                 const fplt_result *result, json_t *certificate,
                                 fplt_record *record, fplt_model **model, fplt_error *error);

#endif
