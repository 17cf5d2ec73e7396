#include "job/outline.h"

#include <string.h>

#include "base/memory.h"
#include "data/formula.h"
#include "data/schema.h"
#include "data/schema_access.h"
#include "job/job.h"
#include "objective/objective_access.h"
#include "fedplt/objective_callbacks.h"
#include "fedplt/participation.h"

fplt__form fplt__schema_form(const fplt_schema *schema)
{
    fplt__form form = {.features = fplt__schema_features(schema)};
    form.task = fplt__schema_task(schema, &form.outputs);
    return form;
}

fplt_status fplt__declared_form(const fplt_settings *settings, const fplt_schema *schema,
                                fplt__form *form, fplt_error *error)
{
    const char *formula = fplt__job_formula(settings);
    fplt_design *design;
    *form = fplt__schema_form(schema);
    if (!formula)
        return FPLT_OK;
    fplt_status status = fplt__design_declare(formula, schema, &design, error);
    if (!status)
        form->features = fplt__design_names(design)->count;
    fplt__design_destroy(design);
    return status;
}

void fplt__outline_clear(fplt__outline *outline)
{
    fplt_participation_destroy(outline->participation);
    fplt_prox_destroy(outline->prox);
    fplt_objective_destroy(outline->objective);
    memset(outline, 0, sizeof *outline);
}

/* The shape of the problem without data: rows of zeros, a label of each class, and 1 in a regression, which every loss
 * takes. */
static fplt_status phantom(const fplt__form *form, const fplt_objective_settings *cost,
                           fplt_objective **objective, fplt_error *error)
{
    size_t rows = form->outputs < 2 ? 1 : form->outputs;
    size_t *start;
    double *label;
    fplt_dataset *dataset = NULL;
    fplt_status status = fplt__alloc_into(&start, rows + 1, sizeof *start, "a plan", error);
    if (status)
        return status;
    if (!(status = fplt__alloc_into(&label, rows, sizeof *label, "a plan", error))) {
        for (size_t i = 0; i < rows; i++)
            label[i] = form->task == FPLT_TASK_BINARY       ? 2.0 * (double)i - 1
                       : form->task == FPLT_TASK_REGRESSION ? 1
                                                            : (double)i;
        static const uint32_t no_column = 0;
        static const double no_value = 0;
        fplt_rows shape = {.count = rows,
                           .features = form->features,
                           .start = start,
                           .column = &no_column,
                           .value = &no_value,
                           .label = label};
        status = fplt_dataset_from_rows(&shape, form->task, &rows, 1, &dataset, error);
        fplt__free(label);
    }
    fplt__free(start);
    if (status)
        return status;
    fplt_objective_settings without_clusters = *cost;
    without_clusters.cluster = NULL;
    status = fplt_objective_create(&without_clusters, dataset, objective, error);
    fplt_dataset_destroy(dataset);
    return status;
}

static int be_zero(void *context, uint32_t agent, const double *x, double *value, double *gradient)
{
    (void)agent;
    (void)x;
    const fplt__form *form = context;
    *value = 0;
    memset(gradient, 0, form->features * sizeof *gradient);
    return 0;
}

/* In place of a cost that only the agents have. */
static fplt_status make_zero_cost(fplt__form *form, fplt_objective **objective, fplt_error *error)
{
    fplt_objective_callbacks zero = {.size = sizeof zero,
                                     .dimension = form->features,
                                     .agents = 1,
                                     .context = form,
                                     .value_gradient = be_zero};
    return fplt_objective_create_callback(&zero, objective, error);
}

static fplt_status make_cost(const fplt_settings *settings, const fplt_job_source *source,
                             fplt__outline *outline, fplt_error *error)
{
    if (outline->form.custom) {
        outline->cost = (fplt_objective_settings){
            .loss = "custom", .regulariser = "none", .clip = source->clip};
        return make_zero_cost(&outline->form, &outline->objective, error);
    }
    outline->cost = fplt__job_cost(settings, source, outline->form.task);
    return phantom(&outline->form, &outline->cost, &outline->objective, error);
}

static fplt_status read_method(const fplt_settings *settings, uint32_t agents,
                               fplt__outline *outline, fplt_error *error)
{
    fplt_run_settings *run = &outline->run;
    if (fplt_settings_is_auto(settings, "algorithm")) {
        fplt__method_context scene = {.dimension = outline->dimension,
                                      .agents = agents,
                                      .participation = outline->participation,
                                      .prox = outline->prox,
                                      .objective = outline->objective,
                                      .own_costs = outline->form.custom,
                                      .withheld = outline->form.withheld};
        fplt__job_method(settings, &scene, run, outline->parameter, outline->reason,
                         sizeof outline->reason);
        return FPLT_OK;
    }
    fplt_status status =
        fplt__job_algorithm(fplt_settings_text(settings, "algorithm"), &run->algorithm, error);
    if (!status) {
        run->algorithm = fplt__job_form(run->algorithm, outline->participation);
        fplt_algorithm_read(run->algorithm, settings, outline->parameter);
    }
    return status;
}

static fplt_status make(const fplt_settings *settings, const fplt_job_source *source,
                        uint32_t agents, fplt__outline *outline, fplt_error *error)
{
    fplt_status status;
    if ((status = make_cost(settings, source, outline, error)))
        return status;
    outline->dimension = fplt_objective_dimension(outline->objective);
    outline->run = fplt_run_defaults();
    outline->run.parameter = outline->parameter;
    fplt__job_run(settings, &outline->run);
    if ((status = fplt__job_training(settings, source, &outline->run.training, error)) ||
        (status = fplt__job_participation(settings, agents, &outline->participation, error)) ||
        (status = fplt__job_composite(settings, outline->dimension,
                                      fplt__objective_unpenalised(outline->objective),
                                      &outline->prox, error)))
        return status;
    return source->algorithm
               ? fplt__job_take_algorithm(source->algorithm, &outline->run, outline->parameter)
               : read_method(settings, agents, outline, error);
}

fplt_status fplt__outline_make(const fplt_settings *settings, const fplt_job_source *source,
                               const fplt__form *form, uint32_t agents, fplt__outline *outline,
                               fplt_error *error)
{
    memset(outline, 0, sizeof *outline);
    outline->form = *form;
    fplt_status status = make(settings, source, agents, outline, error);
    if (status)
        fplt__outline_clear(outline);
    return status;
}
