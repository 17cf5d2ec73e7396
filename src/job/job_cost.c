/* The costs of a job: f_i over its data or of the caller, and h. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "engine/ranks.h"
#include "job/build.h"
#include "job/job.h"
#include "linalg/kernel.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "prox/prox.h"
#include "prox/prox_access.h"
#include "fedplt/solver.h"

fplt_objective_settings fplt__job_cost_settings(const fplt_settings *settings, fplt_task task)
{
    static const char *const by_task[] = {[FPLT_TASK_BINARY] = "logistic",
                                          [FPLT_TASK_CLASSES] = "softmax",
                                          [FPLT_TASK_REGRESSION] = "least-squares",
                                          [FPLT_TASK_SURVIVAL] = "cox"};
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.loss = fplt_settings_text(settings, "loss");
    if (strcmp(cost.loss, "auto") == 0)
        cost.loss = by_task[task];
    cost.regulariser = fplt_settings_text(settings, "regulariser");
    cost.weight = fplt_settings_real(settings, "eps");
    cost.huber_delta = fplt_settings_real(settings, "huber-delta");
    cost.predictor_bound = fplt_settings_is_auto(settings, "predictor-bound")
                               ? 0
                               : fplt_settings_real(settings, "predictor-bound");
    if (cost.predictor_bound == 0 && !fplt_settings_is_auto(settings, "predictor-bound"))
        cost.predictor_bound = DBL_MIN; /* 0 is auto there, and e to this is 1 as well */
    if (strcmp(cost.loss, "cox") == 0 || fplt_settings_given(settings, "ties"))
        cost.ties = fplt_settings_text(settings, "ties");
    if (fplt__loss_is_clustered(cost.loss)) {
        cost.cluster = fplt__job_cluster(settings);
        cost.quadrature_points = (uint32_t)fplt_settings_integer(settings, "quadrature-points");
    }
    /* a preference is no wish: where the loss sees no intercept there is none */
    cost.intercept =
        fplt_settings_switch(settings, "intercept") &&
        (fplt_settings_given(settings, "intercept") || fplt__loss_takes_intercept(cost.loss));
    cost.weigh_rows = fplt__job_setting_is(settings, "weights", "rows");
    cost.clip = fplt_settings_real(settings, "clip");
    cost.kernel = fplt_settings_text(settings, "kernel");
    if (strcmp(cost.kernel, "auto") == 0)
        cost.kernel = NULL;
    cost.precision = fplt_settings_text(settings, "precision");
    return cost;
}

fplt_objective_settings fplt__job_cost(const fplt_settings *settings, const fplt_job_source *source,
                                       fplt_task task)
{
    fplt_objective_settings cost = fplt__job_cost_settings(settings, task);
    cost.weigh_rows |= source->weigh_rows;
    cost.intercept |= source->intercept;
    if (source->weight > 0)
        cost.weight = source->weight;
    if (source->clip > 0)
        cost.clip = source->clip;
    cost.inward = source->public_only || fplt__job_transform(settings, source).radius > 0;
    const fplt_solver *solver =
        source->solver ? source->solver : fplt_solver_find(fplt_settings_text(settings, "solver"));
    if (solver && solver->traits & FPLT_STOCHASTIC)
        cost.batch = (uint32_t)fplt_settings_integer(settings, "batch");
    return cost;
}

int fplt__job_penalises_columns(const fplt_settings *settings)
{
    return fplt__settings_find(settings, "penalty-units") &&
           fplt__job_setting_is(settings, "penalty-units", "columns");
}

fplt_status fplt__job_composite(const fplt_settings *settings, size_t dimension, size_t intercepts,
                                fplt_prox **prox, fplt_error *error)
{
    fplt_prox_settings h = fplt_prox_defaults();
    h.name = fplt_settings_text(settings, "h");
    h.weight = fplt_settings_real(settings, "h-weight");
    h.weight2 = fplt_settings_real(settings, "h-weight2");
    h.low = fplt_settings_real(settings, "h-low");
    h.high = fplt_settings_real(settings, "h-high");
    h.radius = fplt_settings_real(settings, "h-radius");
    h.group = (size_t)fplt_settings_integer(settings, "h-group");
    return fplt_prox_create(&h, dimension, dimension - intercepts, prox, error);
}

fplt_status fplt__job_prox(const fplt_job_view *view, const fplt_settings *settings, size_t n,
                           size_t intercepts, fplt_prox **prox, fplt_error *error)
{
    fplt_status status = fplt__job_composite(settings, n, intercepts, prox, error);
    if (!status && view->cost.units && !fplt__prox_is_zero(*prox))
        status = fplt__prox_set_units(*prox, view->cost.units, view->transform->features, error);
    if (status) {
        fplt_prox_destroy(*prox);
        *prox = NULL;
    }
    return status;
}

/* Facts that depend on the rows or the machine of every process: the largest label, and the number of the first kernel
 * that all of them have. */
struct common {
    double largest_label;
    size_t kernel;
};

static fplt_status take_common(fplt_ranks *ranks, fplt_dataset *training,
                               fplt_objective_settings *cost, fplt_error *error)
{
    struct common *each;
    fplt_status status = fplt__alloc_into(&each, ranks->count, sizeof *each, "a job", error);
    if ((status = fplt_ranks_agree(ranks, status, error))) {
        fplt__free(each);
        return status;
    }
    struct common *own = &each[ranks->number];
    own->largest_label = fplt__dataset_largest_label(training);
    while (!fplt__kernel_get(own->kernel)->available())
        own->kernel++;
    fplt__ranks_gather_each(ranks, each, sizeof *each);
    if (training->census)
        fplt__ranks_gather(ranks, training->agents, training->census, sizeof *training->census);
    struct common all = each[0];
    for (unsigned i = 1; i < ranks->count; i++) {
        all.largest_label = fmax(all.largest_label, each[i].largest_label);
        all.kernel = each[i].kernel > all.kernel ? each[i].kernel : all.kernel;
    }
    training->largest_label = all.largest_label;
    fplt__kernel_shape shape = fplt__objective_shape(cost, training);
    if (!cost->kernel)
        cost->kernel = fplt__kernel_for(&shape, all.kernel)->name;
    fplt__free(each);
    return FPLT_OK;
}

/* Sums are exact in steps of 2^-64: numbers that reach no further than this have no digits left. */
#define MIN_LABEL 1e-11

static fplt_status check_labels(const fplt_dataset *training, fplt_error *error)
{
    double most = fplt__dataset_largest_label(training);
    if (fplt_dataset_task(training) != FPLT_TASK_REGRESSION || !(most > 0) || most >= MIN_LABEL)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the labels reach no further than %.3g, too little for sums that are "
                          "exact in steps of 5.4e-20: give labels in smaller units, so that they "
                          "reach %g at least",
                          most, MIN_LABEL);
}

fplt_status fplt__job_labelled(const fplt_settings *settings, const char *loss, fplt_error *error)
{
    return !fplt__job_setting_is(settings, "label", "none")
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: label is none, but the loss %s learns from labels: name their "
                                "column",
                                fplt__settings_origin(settings, "label"), loss);
}

/* Effects of sites: Cox has a baseline of every site already; a site of one class has no finite effect without a
 * penalty, which is said. */
static fplt_status check_sites(const fplt_dataset *training, const char *loss, fplt_error *error)
{
    if (strcmp(loss, "cox") == 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "site-effects is fixed, but survival times have a baseline hazard of "
                              "every site already (strata); leave it out");
    for (uint32_t i = 0; fplt__task_classifies(training->task) && i < training->agents; i++) {
        size_t first = training->first[i], r = first, end = training->first[i + 1];
        while (r < end && training->label[r] == training->label[first])
            r++;
        if (r == end && end > first)
            fplt__log(FPLT_LOG_WARNING,
                      "the site '%.80s' has rows of one class only: its effect is as large as the "
                      "penalty allows, and without one it has none",
                      fplt_dataset_agent_name(training, i));
    }
    return FPLT_OK;
}

/* Own costs of a run that makes a promise. */
static fplt_status clip_own(fplt_job *job, const fplt_job_source *source, fplt_error *error)
{
    fplt_job_view *view = &job->view;
    view->cost =
        (fplt_objective_settings){.loss = "custom", .regulariser = "none", .clip = source->clip};
    fplt_status status =
        fplt__objective_clip_records(source->objective, source->clip, &job->objective, error);
    view->objective = job->objective;
    return status;
}

static fplt_status build_objective(fplt_job *job, const fplt_settings *settings, uint32_t run,
                                   const fplt_job_source *source, fplt_error *error)
{
    fplt_job_view *view = &job->view;
    view->transform = &job->transform;
    view->objective = source->objective;
    if (view->objective)
        return source->public_only ? clip_own(job, source, error) : FPLT_OK;
    fplt_status status = fplt__job_build_data(settings, run, source, &job->training, &job->held_out,
                                              &job->transform, error);
    if ((status = fplt_ranks_agree(source->ranks, status, error)))
        return status;
    view->training = job->training;
    view->held_out = job->held_out;
    view->in_memory = source->dataset != NULL;
    view->cost = fplt__job_cost(settings, source, fplt_dataset_task(job->training));
    if (!source->dataset && (status = fplt__job_labelled(settings, view->cost.loss, error)))
        return status;
    if (source->ranks && (status = take_common(source->ranks, job->training, &view->cost, error)))
        return status;
    if (!source->public_only && (status = check_labels(job->training, error)))
        return status;
    if (fplt__job_setting_is(settings, "site-effects", "fixed") &&
        (status = check_sites(job->training, view->cost.loss, error)))
        return status;
    if (fplt__job_penalises_columns(settings))
        view->cost.units = job->transform.scale;
    job->training->passes = source->rows_once;
    status = source->rows_once
                 ? fplt__objective_create_of(&view->cost, job->training, &job->objective, error)
                 : fplt_objective_create(&view->cost, job->training, &job->objective, error);
    view->objective = job->objective;
    if (!status && source->rows_once)
        fplt__dataset_drop_rows(job->training);
    return status == FPLT_BAD_DATA ? fplt__job_locate_bad_row(settings, job->training, error)
                                   : status;
}

fplt_status fplt__job_build_costs(fplt_job *job, const fplt_settings *settings, uint32_t run,
                                  const fplt_job_source *source, fplt_error *error)
{
    fplt_job_view *view = &job->view;
    fplt_status status = build_objective(job, settings, run, source, error);
    if (status)
        return status;
    size_t n = fplt_objective_dimension(view->objective);
    size_t intercepts = fplt__objective_unpenalised(view->objective);
    if ((status = fplt__job_prox(view, settings, n, intercepts, &job->prox, error)))
        return status;
    view->prox = job->prox;
    return FPLT_OK;
}
