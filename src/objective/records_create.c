/* Creation of an objective over records: loss, layout, chunks and parts. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "objective/cox.h"
#include "objective/random_intercept.h"
#include "objective/traversal.h"

fplt_objective_settings fplt_objective_defaults(void)
{
    return (fplt_objective_settings){
        .loss = "logistic",
        .regulariser = "ridge",
        .weight = 0.5,
        .huber_delta = 1,
        .quadrature_points = FPLT__NODES,
    };
}

static fplt_status check_numbers(const fplt_objective_settings *settings, fplt_error *error)
{
    if (!(settings->weight >= 0 && isfinite(settings->weight)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "weight of the regulariser is %g, but it must be finite and at least "
                              "0",
                              settings->weight);
    if (!(settings->clip >= 0 && isfinite(settings->clip)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "clip is %g, but it must be finite and above 0, or 0 for no clipping",
                              settings->clip);
    return FPLT_OK;
}

static int is_float32(const fplt_objective_settings *settings)
{
    return settings->precision && strcmp(settings->precision, "float32") == 0;
}

static fplt_status choose_precision(fplt_objective *o, const fplt_objective_settings *settings,
                                    fplt_error *error)
{
    const char *name = settings->precision ? settings->precision : "double";
    o->narrow = is_float32(settings);
    o->inward = settings->inward;
    if (!o->narrow && strcmp(name, "double") != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "precision: there is no '%.80s'; there are double, float32", name);
    return FPLT_OK;
}

/* The nodes that integrals over a random intercept are sums over. */
static fplt_status choose_rule(fplt_objective *o, const fplt_objective_settings *settings,
                               fplt_error *error)
{
    uint32_t points = settings->quadrature_points ? settings->quadrature_points : FPLT__NODES;
    if (points > FPLT__NODES_MAX)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "quadrature_points is %u, but it must be between 1 and %d", points,
                              FPLT__NODES_MAX);
    o->parameter = points;
    o->most = o->loss->most;
    fplt_status status = fplt__alloc_into(&o->rule, 2 * (size_t)points, sizeof *o->rule,
                                          "the nodes of quadrature", error);
    if (!status)
        fplt__hermite_rule(points, o->rule);
    return status;
}

/* What the loss has beside, and what follows from it. */
static fplt_status choose_parameter(fplt_objective *o, const fplt_objective_settings *settings,
                                    const fplt_dataset *dataset, fplt_error *error)
{
    int huber = fplt__loss_has(o->loss, "huber-delta"), ties = fplt__loss_has(o->loss, "ties");
    int bound = fplt__loss_has(o->loss, "predictor-bound");
    int efron = settings->ties && strcmp(settings->ties, "efron") == 0;
    if (settings->ties && (!ties || (!efron && strcmp(settings->ties, "breslow") != 0)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "ties is '%.80s', but the loss %s has %s",
                              settings->ties, o->loss->name,
                              ties ? "efron and breslow" : "no ties of events");
    o->parameter = huber  ? settings->huber_delta
                   : ties ? (efron ? FPLT__TIES_EFRON : FPLT__TIES_BRESLOW)
                          : settings->predictor_bound;
    if (huber && !(o->parameter > 0 && isfinite(o->parameter)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "huber_delta is %g, but it must be finite and above 0", o->parameter);
    if (fplt__loss_has(o->loss, "quadrature-points"))
        return choose_rule(o, settings, error);
    if (bound && o->parameter == 0)
        o->parameter = fmax(log(fplt__dataset_largest_label(dataset)), 0) + 1;
    if (bound && !(fabs(o->parameter) <= 700))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "predictor_bound is %g, but it must be between -700 and 700",
                              o->parameter);
    o->most = o->loss->most_of ? o->loss->most_of(o->parameter) : o->loss->most;
    return FPLT_OK;
}

/* The likelihood of clusters is a sum over all rows, and has no place for their weights. */
static fplt_status check_clusters(const fplt_objective *o, const fplt_objective_settings *settings,
                                  const fplt_dataset *dataset, fplt_error *error)
{
    uint32_t agents = settings->all_agents ? settings->all_agents : fplt_dataset_agents(dataset);
    if (!o->loss->clustered)
        return !settings->cluster
                   ? FPLT_OK
                   : fplt_error_set(error, FPLT_UNSUPPORTED,
                                    "the loss %s has no random intercept of clusters",
                                    o->loss->name);
    if (fplt_dataset_all(dataset).weight)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "rows have weights, but the loss %s has no likelihood of weighted "
                              "rows: leave row-weight and class-weight out",
                              o->loss->name);
    if (agents > 1 && !settings->weigh_rows)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "agents count alike, but the likelihood of the loss %s is a sum over "
                              "all rows: set weights to rows",
                              o->loss->name);
    if (settings->cluster && fplt_dataset_all(dataset).count && !fplt__dataset_persons(dataset, 0))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the rows have no clusters: random-intercept is '%.80s', a column "
                              "of a CSV file, or of type person in a schema",
                              settings->cluster);
    return FPLT_OK;
}

static fplt_status check_fit(const fplt_objective *o, const fplt_objective_settings *settings,
                             const fplt_dataset *dataset, fplt_error *error)
{
    fplt_status status = check_clusters(o, settings, dataset, error);
    if (status)
        return status;
    if (o->loss->hazards && settings->intercept)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the loss %s does not see an intercept: leave it out", o->loss->name);
    if (o->loss->whole && settings->clip > 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the loss %s is no sum over records, so clip has nothing to clip",
                              o->loss->name);
    if (o->loss->shared && settings->clip > 0)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the loss %s has coordinates beside the columns, whose gradients have "
            "no bound: clip has no meaning with it",
            o->loss->name);
    if (o->loss->ordered && !settings->intercept)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the loss %s has thresholds, of which the first is the intercept's: "
                              "set intercept to yes",
                              o->loss->name);
    if (o->loss->classes && fplt_dataset_all(dataset).offset)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "rows have one offset, but the loss %s has one output a class",
                              o->loss->name);
    return FPLT_OK;
}

static fplt_status check_task(const fplt__loss *loss, fplt_task task, fplt_error *error)
{
    static const char *const names[] = {"two classes", "three classes or more", "regression",
                                        "survival"};
    const char *remedy = "";
    if (loss->tasks >> task & 1)
        return FPLT_OK;
    if (fplt__task_classifies(task) && loss->tasks >> FPLT_TASK_REGRESSION & 1)
        remedy = " (task regression takes labels as numbers)";
    if (loss->tasks == 1u << FPLT_TASK_SURVIVAL)
        remedy = " (a schema declares columns of type: time and type: event)";
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "the loss %s does not fit a data set for %s%s; it is %s", loss->name,
                          names[task], remedy, loss->help);
}

/* Records treated together: about 32 KiB of dense ones, so that they are still in the first-level cache
 * when the second half of the traversal reads them again; and not too many margins where there are
 * many outputs. */
static size_t chunk_for(int sparse, size_t columns, size_t outputs)
{
    size_t rows = sparse ? FPLT_CHUNK : 4096 / fplt__padded(columns), others = 32768 / outputs;
    rows = (rows < others ? rows : others) / FPLT_PANEL * FPLT_PANEL;
    return rows < FPLT_PANEL ? FPLT_PANEL : rows > FPLT_CHUNK ? FPLT_CHUNK : rows;
}

static size_t most_rows(const fplt_dataset *dataset)
{
    size_t most = 1;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++) {
        size_t rows = fplt__dataset_count(dataset, i);
        most = rows > most ? rows : most;
    }
    return most;
}

fplt__kernel_shape fplt__objective_shape(const fplt_objective_settings *settings,
                                         const fplt_dataset *dataset)
{
    fplt__kernel_shape shape = {
        .columns = fplt_dataset_features(dataset) + (settings->intercept != 0),
        .agents = fplt_dataset_agents(dataset),
        .batch = settings->batch,
        .sparse = !fplt_dataset_all(dataset).dense,
        .narrow = is_float32(settings),
    };
    shape.rows = (double)fplt__dataset_all_rows(dataset) / (shape.agents ? shape.agents : 1);
    return shape;
}

static fplt_status configure(fplt_objective *o, const fplt_objective_settings *settings,
                             const fplt_dataset *dataset, fplt_error *error)
{
    enum { MIN = 1 << 13, VECTORS = 32 }; /* numbers of a part; vectors of them */
    fplt_status status;
    const fplt__regulariser *regulariser;
    fplt__kernel_shape shape = fplt__objective_shape(settings, dataset);
    if ((status = fplt__loss_find(settings->loss, &o->loss, error)) ||
        (status = fplt__regulariser_find(settings->regulariser, &regulariser, error)) ||
        (status = check_numbers(settings, error)) ||
        (status = fplt__kernel_choose(settings->kernel, &shape, &o->kernel, error)) ||
        (status = choose_precision(o, settings, error)))
        return status;
    o->task = fplt_dataset_task(dataset);
    if ((status = check_task(o->loss, o->task, error)) ||
        (status = check_fit(o, settings, dataset, error)) ||
        (status = choose_parameter(o, settings, dataset, error)))
        return status;
    o->agents = fplt_dataset_agents(dataset);
    o->features = fplt_dataset_features(dataset);
    o->columns = o->features + (settings->intercept != 0);
    o->classes = fplt__task_classifies(o->task) ? fplt_dataset_outputs(dataset) : 0;
    o->outputs = o->loss->classes ? o->classes : 1;
    o->shared = fplt__loss_shared(o->loss, o->classes);
    o->dimension = o->outputs * o->columns + o->shared;
    o->intercepts = settings->intercept ? o->outputs : 0;
    o->clip = settings->clip;
    o->row_clusters = settings->cluster != NULL;
    o->sparse = !fplt_dataset_all(dataset).dense;
    fplt__layout layout = o->sparse                                ? FPLT_SPARSE
                          : o->columns <= o->kernel->panel_columns ? FPLT_PANELS
                                                                   : FPLT_ROWS;
    size_t multiple = layout == FPLT_ROWS ? o->kernel->row_multiple : 1;
    o->like = (fplt__matrix){.layout = layout,
                             .panel = o->kernel->panel_rows,
                             .columns = o->columns,
                             .stride = (o->columns + multiple - 1) / multiple * multiple};
    o->part_numbers = VECTORS * o->columns > MIN ? VECTORS * o->columns : MIN;
    o->chunk = o->loss->whole ? fplt__padded(most_rows(dataset))
                              : chunk_for(o->sparse, o->columns, fplt__objective_margins(o));
    o->quadratic =
        o->loss->least == o->most && !o->loss->whole && regulariser->least == regulariser->most;
    return fplt__penalty_make(regulariser, settings->weight, settings->units, o->features,
                              o->outputs, &o->penalty, error);
}

static void divide_shards(fplt_objective *o)
{
    o->plain = fplt__objective_margins(o) == 1 && !(o->clip > 0) && !o->row_weight && !o->offset &&
               !o->loss->whole;
    o->parts = 1;
    for (uint32_t i = 0; i < o->agents; i++) {
        fplt__shard shard = fplt__shard_of(o, i);
        size_t parts = fplt__shard_parts(&shard);
        o->parts = parts > o->parts ? parts : o->parts;
    }
    o->scratch = fplt__records_scratch(o);
    fplt__objective_pair_up(o);
}

static void weigh(fplt_objective *o, const fplt_objective_settings *settings)
{
    double all = settings->all_agents ? settings->all_weight : 0;
    uint32_t agents = settings->all_agents ? settings->all_agents : o->agents;
    for (uint32_t i = 0; i < o->agents && !settings->all_agents; i++)
        all += fplt__shard_of(o, i).total;
    o->unit = all / agents;
    o->weighed = settings->weigh_rows ? agents : 0;
    for (uint32_t i = 0; i < o->agents; i++)
        o->place[i].scale = settings->weigh_rows ? fplt__shard_of(o, i).total / (all / agents) : 1;
}

static fplt_status create(const fplt_objective_settings *settings, const fplt_dataset *dataset,
                          fplt_dataset *giver, fplt_objective **objective, fplt_error *error)
{
    fplt_objective *o;
    *objective = NULL;
    fplt_status status = fplt__alloc_into(&o, 1, sizeof *o, "an objective", error);
    if (status)
        return status;
    o->kind = &fplt__objective_over_records;
    if ((status = configure(o, settings, dataset, error)) ||
        (status = fplt__objective_pack(o, dataset, giver, error)) ||
        (status = fplt__objective_count_records(o, error))) {
        fplt_objective_destroy(o);
        return status;
    }
    weigh(o, settings);
    divide_shards(o);
    *objective = o;
    return FPLT_OK;
}

fplt_status fplt_objective_create(const fplt_objective_settings *settings,
                                  const fplt_dataset *dataset, fplt_objective **objective,
                                  fplt_error *error)
{
    return create(settings, dataset, NULL, objective, error);
}

fplt_status fplt__objective_create_of(const fplt_objective_settings *settings, fplt_dataset *giver,
                                      fplt_objective **objective, fplt_error *error)
{
    return create(settings, giver, giver, objective, error);
}
