/* The cost of an agent's rows, transformed as the plan says, the node that trains with it, and the score of held-out rows. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "engine/agents_map.h"
#include "engine/hub_node.h"
#include "engine/member.h"
#include "fedplt/noise.h"
#include "federation/agent/local_data_parts.h"
#include "job/auto.h"
#include "job/job.h"
#include "promise/promise.h"

static const fplt_objective *cost_of(const fplt__local_data *material)
{
    return material->objective ? material->objective : material->lent;
}

size_t fplt__local_data_dimension(const fplt__local_data *material)
{
    const fplt_objective *cost = cost_of(material);
    return cost ? fplt_objective_dimension(cost) : 0;
}

static fplt_status transform(fplt__local_data *material, const fplt__agreement *agreement,
                             fplt_error *error)
{
    fplt_transform made;
    fplt_status status = fplt__plan_resolution_transform(material->settings, &material->source,
                                                         fplt_dataset_features(material->training),
                                                         agreement, &made, error);
    if (!status)
        status = fplt_transform_apply(&made, material->training, error);
    if (!status && material->held_out)
        status = fplt_transform_apply(&made, material->held_out, error);
    fplt_transform_clear(&made);
    return status;
}

fplt_status fplt__local_data_shape(fplt__local_data *material, const fplt__agreement *agreement,
                                   uint32_t all_agents, uint64_t all_records, fplt_error *error)
{
    if (cost_of(material))
        return FPLT_OK;
    fplt_status status = transform(material, agreement, error);
    if (status)
        return status;
    fplt_objective_settings cost = fplt__job_cost(material->settings, &material->source,
                                                  fplt_dataset_task(material->training));
    cost.all_agents = all_agents;
    cost.all_weight = (double)all_records;
    return fplt_objective_create(&cost, material->training, &material->objective, error);
}

/* As one process does: automatic parameters from another estimate would give another model. Whether all other sites let
 * Hessians leave is not known here. They are taken not to: if an automatic algorithm then trains nothing, the one with
 * Hessians does not either. */
static fplt_status choose_estimate(const fplt__local_data *material, int *how, fplt_error *error)
{
    fplt__outline job;
    fplt__form form = fplt__local_data_form(material);
    form.withheld = 1;
    fplt_status status = fplt__outline_make(material->terms, &material->source, &form,
                                            material->members, &job, error);
    if (status)
        return status;
    *how = fplt__run_looks(&job.run);
    fplt__outline_clear(&job);
    return FPLT_OK;
}

fplt_status fplt__local_data_curvature_bounds(fplt__local_data *material,
                                              fplt_curvature_bounds *bend, fplt_error *error)
{
    int how;
    FPLT__ASSERT(cost_of(material));
    *bend = (fplt_curvature_bounds){{0, 0}, 0};
    fplt_status status = choose_estimate(material, &how, error);
    return status ? status
                  : fplt__curvature_bounds_find(cost_of(material), 0, how, NULL, bend, error);
}

static fplt_status make_norms(fplt__local_data *material, fplt_error *error)
{
    size_t rows = fplt_dataset_rows(material->training);
    fplt_status status = fplt__alloc_into(&material->norms,
                                          rows + fplt_objective_scratch(material->objective) +
                                              fplt__local_data_dimension(material),
                                          sizeof *material->norms, "norms of rows", error);
    if (!status &&
        (status = fplt__objective_row_norms(material->objective, 0, material->norms, error))) {
        fplt__free(material->norms);
        material->norms = NULL;
    }
    return status;
}

fplt_status fplt__local_data_influence(fplt__local_data *material, const double *x, double bound,
                                       fplt__influence *influence, fplt_error *error)
{
    if (material->lent)
        return FPLT_UNSUPPORTED;
    FPLT__ASSERT(material->objective);
    fplt_status status = material->norms ? FPLT_OK : make_norms(material, error);
    if (status)
        return status;
    double *scratch = material->norms + fplt_dataset_rows(material->training);
    material->judged = NULL;
    status = fplt__objective_influence(material->objective, 0, x, material->norms, bound, scratch,
                                       influence);
    if (status)
        return status;
    material->judged = scratch + fplt_objective_scratch(material->objective);
    memcpy(material->judged, x, fplt__local_data_dimension(material) * sizeof *x);
    return FPLT_OK;
}

double fplt__local_data_moved(const fplt__local_data *material, const double *x)
{
    double square = 0;
    for (size_t j = 0; material->judged && j < fplt__local_data_dimension(material); j++)
        square += (x[j] - material->judged[j]) * (x[j] - material->judged[j]);
    return material->judged ? sqrt(square) : INFINITY;
}

/* The node */

/* What the plan settles and the settings leave open. */
static fplt_status take_resolved(fplt__local_data *material, const fplt__agreement *agreement,
                                 fplt_error *error)
{
    static const char *const names[] = {"epochs", "gamma"};
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < sizeof names / sizeof *names; i++) {
        const char *value = fplt__pair_find(agreement->resolved, agreement->resolves, names[i]);
        if (value)
            status = fplt_settings_set(material->settings, names[i], value, "the plan", error);
    }
    return status;
}

/* Noise from the system; where it is simulated, from the seed. */
static fplt_status make_noise(fplt__local_data *material, fplt_error *error)
{
    if (material->noise ||
        strcmp(fplt_settings_text(material->settings, "privacy.noise"), "secure"))
        return FPLT_OK;
    fplt_status status = fplt_noise_create(&material->noise, error);
    if (!status)
        material->source_of_noise = fplt_promise_noise(material->noise);
    return status;
}

/* With a promise everything comes from public bounds, without one from the rows. */
static fplt_status set_privacy(fplt__local_data *material, const fplt__agreement *agreement,
                               fplt_node_settings *settings, fplt_error *error)
{
    fplt_curvature_bounds bend;
    fplt_status status;
    if (!agreement->private) {
        status = fplt__local_data_curvature_bounds(material, &bend, error);
        settings->curvature = bend.everywhere;
        return status;
    }
    FPLT__ASSERT(settings->member_index < agreement->proposal.members && agreement->tau);
    settings->curvature = agreement->curvature;
    settings->training.noise_tau = agreement->tau[settings->member_index];
    status = make_noise(material, error);
    settings->noise = material->noise ? &material->source_of_noise : NULL;
    return status;
}

fplt_status fplt__local_data_node(fplt__local_data *material, const fplt__agreement *agreement,
                                  uint32_t identity, const double *start, fplt_node **node,
                                  fplt_error *error)
{
    FPLT__ASSERT(cost_of(material) && identity < agreement->proposal.members);
    fplt_participation *participation;
    fplt_node_settings settings = {.objective = cost_of(material),
                                   .member_index = identity,
                                   .start = start,
                                   .second = start,
                                   .cap = agreement->cap};
    fplt_status status;
    if ((status = take_resolved(material, agreement, error)) ||
        (status = fplt__job_training(material->settings, &material->source, &settings.training,
                                     error)) ||
        (status = set_privacy(material, agreement, &settings, error)) ||
        (status = fplt__job_participation(material->settings, agreement->proposal.members,
                                          &participation, error)))
        return status;
    settings.cohort = fplt_expected_cohort(participation);
    fplt_participation_destroy(participation);
    return fplt_node_create(&agreement->plan, &settings, node, error);
}

/* Held-out rows */

/* Their losses without the regulariser, every row once. */
static fplt_status make_scores(fplt__local_data *material, fplt_error *error)
{
    fplt_objective_settings cost = fplt__job_cost(material->settings, &material->source,
                                                  fplt_dataset_task(material->held_out));
    cost.regulariser = "none";
    cost.weight = 0;
    cost.weigh_rows = 0;
    fplt_status status = fplt_objective_create(&cost, material->held_out, &material->scored, error);
    if (status)
        return status;
    size_t n = fplt_objective_dimension(material->scored);
    return fplt__alloc_into(&material->scratch,
                            n + FPLT__MEASURES + fplt_objective_scratch(material->scored),
                            sizeof *material->scratch, "held-out rows", error);
}

fplt_status fplt__local_data_score(fplt__local_data *material, const double *x,
                                   double out[FPLT__MEASURES])
{
    fplt_error error;
    if (!material->held_out)
        return FPLT_UNSUPPORTED;
    if (!material->scratch && make_scores(material, &error))
        return error.status;
    size_t n = fplt_objective_dimension(material->scored);
    fplt_status status = fplt__member_measure(material->scored, 0, x, material->scratch,
                                              material->scratch + n + FPLT__MEASURES);
    FPLT__ASSERT(!material->objective || n == fplt__local_data_dimension(material));
    memcpy(out, material->scratch + n, FPLT__MEASURES * sizeof *out);
    out[0] *= (double)fplt_dataset_rows(material->held_out);
    return status;
}
