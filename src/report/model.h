#ifndef FPLT_REPORT_MODEL_H
#define FPLT_REPORT_MODEL_H

#include <jansson.h>

#include "fedplt/model.h"
#include "objective/loss.h"

struct fplt_model {
    fplt_model_info info;   /* all it points at is owned */
    const fplt__loss *kind; /* of info.loss */
    uint32_t outputs;
    fplt_transform transform;
    char *loss, *label, *site, *labels, *program, *training;
    char **feature_names, **class_names;
    double *weights;
};

/* A new reference to the whole as JSON, or NULL when there is no memory or a text is not UTF-8. */
json_t *fplt__model_json(const fplt_model *model);

const char *fplt__task_name(fplt_task task);

/* The record of a run, as JSON; NULL when there is no memory. `result` may be NULL. */
json_t *fplt__training_json(const fplt_job *job, fplt_engine *engine, const fplt_result *result);

#endif
