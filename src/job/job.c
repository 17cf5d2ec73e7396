/* A training job from settings: declaration of the settings, creation and destruction. */
#include "fedplt/algorithm.h"
#include "fedplt/job.h"
#include "fedplt/participation.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/tables.h"
#include "job/auto.h"
#include "job/build.h"
#include "job/job.h"
#include "job/tables.h"

/* Declaration */

struct section {
    unsigned part;
    const char *group;
    const fplt_setting *table;
};

/* In the order of the help. The seed comes first so that its one row stands under `run`, and before
 * the tables of the modules below come the rows that mean more here. */
static const struct section sections[] = {
    {FPLT_JOB_DIVIDE | FPLT_JOB_PREPARE | FPLT_JOB_GENERATE | FPLT_JOB_PARTICIPATION | FPLT_JOB_RUN,
     "run", fplt__job_seed_table},
    {FPLT_JOB_READ, "data", fplt__job_data_table},
    {FPLT_JOB_READ, "data", fplt__read_table},
    {FPLT_JOB_DIVIDE, "data", fplt__partition_table},
    {FPLT_JOB_PREPARE, "data", fplt__job_holdout_table},
    {FPLT_JOB_PREPARE, "data", fplt__transform_table},
    {FPLT_JOB_GENERATE, "generated data", fplt__generate_table},
    {FPLT_JOB_COST, "cost", fplt__job_cost_table},
    {FPLT_JOB_COMPOSITE, "common cost h", fplt__job_composite_table},
    {FPLT_JOB_ALGORITHM, "algorithm", fplt__job_algorithm_table},
    {FPLT_JOB_ALGORITHM, NULL, NULL}, /* the algorithm's own table */
    {FPLT_JOB_TRAINING, "local training", fplt__job_training_table},
    {FPLT_JOB_PARTICIPATION, "participation", fplt__job_participation_table},
    {FPLT_JOB_RUN, "run", fplt__job_run_table},
};

static const char *algorithm_name(size_t index, const char **help)
{
    const fplt_algorithm *algorithm = fplt_algorithm_list(index);
    if (algorithm && help)
        *help = algorithm->title;
    return algorithm ? algorithm->name : NULL;
}

fplt_status fplt__job_algorithm(const char *name, const fplt_algorithm **algorithm,
                                fplt_error *error)
{
    *algorithm = fplt_algorithm_find(name);
    return *algorithm ? FPLT_OK : fplt__unknown_name("algorithm", name, algorithm_name, error);
}

static int is_taken(const char *name)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        for (const fplt_setting *row = sections[i].table; row && row->name; row++)
            if (strcmp(row->name, name) == 0)
                return 1;
    return 0;
}

fplt_status fplt__job_check_parameters(const fplt_algorithm *algorithm, fplt_error *error)
{
    for (const fplt_setting *row = algorithm->settings; row->name; row++)
        if (is_taken(row->name))
            return fplt_error_set(error, FPLT_FAILED,
                                  "the parameter %s of %s has the name of a setting of every job",
                                  row->name, algorithm->name);
    return FPLT_OK;
}

static fplt_status declare_own(fplt_settings *settings, const fplt_algorithm *algorithm,
                               fplt_error *error)
{
    fplt_status status = fplt__job_check_parameters(algorithm, error);
    return status ? status
                  : fplt_settings_add(settings, algorithm->name, algorithm->settings, error);
}

fplt_status fplt_job_declare(fplt_settings *settings, unsigned parts, const char *name,
                             fplt_error *error)
{
    const fplt_algorithm *algorithm = NULL;
    int automatic = name && strcmp(name, "auto") == 0;
    fplt_status status;
    fplt__job_tables_fill();
    if (parts & FPLT_JOB_ALGORITHM && !automatic &&
        (status = fplt__job_algorithm(name ? name : "fed-plt", &algorithm, error)))
        return status;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct section *section = &sections[i];
        if (!(section->part & parts) || (!section->table && automatic))
            continue;
        status = section->table ? fplt_settings_add(settings, section->group, section->table, error)
                                : declare_own(settings, algorithm, error);
        if (status)
            return status;
    }
    return FPLT_OK;
}

/* The whole */

/* Settings that the source takes the place of. */
static fplt_status refuse_given(const fplt_settings *settings, const fplt_setting *table,
                                const char *but, const char *instead, fplt_error *error)
{
    for (const fplt_setting *row = table; row->name; row++)
        if (fplt_settings_given(settings, row->name) && strcmp(row->name, "seed") != 0 &&
            strcmp(row->name, but) != 0)
            return fplt_error_set(error, FPLT_BAD_VALUE, "%s: %s is given, but %s; leave it out",
                                  fplt__settings_origin(settings, row->name), row->name, instead);
    return FPLT_OK;
}

static fplt_status check_source(const fplt_settings *settings, const fplt_job_source *source,
                                fplt_error *error)
{
    static const char costs[] = "the costs are the caller's own",
                      data[] = "the data set is in memory";
    const fplt_setting *const about_costs[] = {fplt__job_data_table,  fplt__read_table,
                                               fplt__partition_table, fplt__job_holdout_table,
                                               fplt__transform_table, fplt__generate_table,
                                               fplt__job_cost_table};
    const fplt_setting *const about_data[] = {fplt__job_data_table, fplt__read_table,
                                              fplt__generate_table};
    fplt_status status = FPLT_OK;
    if (fplt__job_setting_is(settings, "engine", "mpi") && !source->ranks && !source->whole)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "%s: engine is mpi, but this process runs without MPI: start `mpirun -n 4 "
            "fedplt train ... --engine mpi`, with a fedplt whose `fedplt version` tells "
            "of MPI",
            fplt__settings_origin(settings, "engine"));
    if (source->objective && source->dataset)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "a data set and own costs are both given; leave one of them out");
    for (size_t i = 0; !status && source->objective && i < sizeof about_costs / sizeof *about_costs;
         i++)
        status =
            refuse_given(settings, about_costs[i], source->public_only ? "clip" : "", costs, error);
    for (size_t i = 0;
         !status && source->dataset && !source->part && i < sizeof about_data / sizeof *about_data;
         i++)
        status = refuse_given(settings, about_data[i], "agents", data, error);
    if (!status && source->solver && !source->public_only &&
        fplt_settings_given(settings, "solver"))
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: solver is given, but a custom solver takes its place; "
                                "leave one of them out",
                                fplt__settings_origin(settings, "solver"));
    return status;
}

static fplt_status build(fplt_job *job, const fplt_settings *settings, uint32_t run,
                         const fplt_job_source *source, fplt_error *error)
{
    fplt_status status;
    if ((status = fplt__job_build_costs(job, settings, run, source, error)) ||
        (status = fplt__job_build_training(job, settings, source, error)) ||
        (status = fplt__job_build_run(job, settings, source, run, error)) ||
        (status = fplt__job_resolve_auto(
             job, settings, source->public_only,
             source->dataset || fplt__job_setting_wished(settings, "data"), error)) ||
        !source->start)
        return status;
    size_t count = source->start_count;
    return fplt__job_start(job, source->start,
                           count ? count : fplt_objective_dimension(job->view.objective), "start",
                           error);
}

fplt_status fplt_job_create_from(const fplt_settings *settings, uint32_t run,
                                 const fplt_job_source *source, fplt_job **out, fplt_error *error)
{
    const fplt_job_source nothing = {.dataset = NULL};
    fplt_job *job;
    *out = NULL;
    source = source ? source : &nothing;
    fplt_status status = check_source(settings, source, error);
    if (!status)
        status = fplt__settings_effective(settings, error);
    if (!status)
        status = fplt__alloc_into(&job, 1, sizeof *job, "a job", error);
    if (status) {
        fplt_dataset_destroy(source->dataset);
        return status;
    }
    job->view.settings = settings;
    job->view.run = fplt_run_defaults();
    job->view.run.ranks = source->ranks;
    if ((status = build(job, settings, run, source, error))) {
        fplt_job_destroy(job);
        return status;
    }
    *out = job;
    return FPLT_OK;
}

fplt_status fplt__job_create(const fplt_settings *settings, uint32_t run, fplt_job **out,
                             fplt_error *error)
{
    return fplt_job_create_from(settings, run, NULL, out, error);
}

void fplt_job_destroy(fplt_job *job)
{
    if (!job)
        return;
    fplt_participation_destroy(job->participation);
    fplt_prox_destroy(job->prox);
    fplt_objective_destroy(job->objective);
    fplt_dataset_destroy(job->training);
    fplt_dataset_destroy(job->held_out);
    fplt_transform_clear(&job->transform);
    fplt__auto_clear(&job->automatic);
    fplt__free(job->each);
    fplt__free(job->start);
    fplt__free(job);
}

const fplt_job_view *fplt_job_get_view(const fplt_job *job)
{
    return &job->view;
}

void fplt__job_take_plan(fplt_job *job, const fplt__job_plan *plan)
{
    fplt_run_settings *run = &job->view.run;
    FPLT__ASSERT(plan->parameter && plan->epochs > 0);
    run->parameter = plan->parameter;
    run->training.step = plan->step;
    run->training.epochs = plan->epochs;
    run->training.noise_tau = plan->noise_tau;
    run->unit = plan->unit;
    run->each = plan->each;
    run->rounds = plan->rounds;
    run->tolerance = run->change = 0;
    if (!plan->measures)
        run->evaluate_every = 0;
    run->curvature = plan->curvature;
    run->curvatures = NULL;
    run->blind = !plan->measures;
    run->noise = plan->noise;
    job->view.automatic = NULL; /* its sentences tell of the data */
    job->view.releases_mean = plan->releases_mean;
    job->view.planned = plan->planned;
}

fplt_status fplt__job_start(fplt_job *job, const double *x, size_t dimension, const char *origin,
                            fplt_error *error)
{
    size_t n = fplt_objective_dimension(job->view.objective);
    if (dimension != n)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: the starting point has %zu coordinates, but the job needs %zu",
                              origin, dimension, n);
    double *copy;
    fplt_status status = fplt__alloc_into(&copy, n, sizeof *copy, "the starting point", error);
    if (status)
        return status;
    memcpy(copy, x, n * sizeof *copy);
    fplt__free(job->start);
    job->start = copy;
    job->view.run.start = FPLT_START_GIVEN;
    job->view.run.given = copy;
    return FPLT_OK;
}

fplt_status fplt__job_weights(const fplt_job_view *view, fplt_engine *engine, double *x,
                              fplt_error *error)
{
    fplt_status status =
        view->releases_mean ? fplt_engine_mean(engine, x) : fplt_engine_model(engine, x);
    return status ? fplt_error_set(error, status, "the model is out of range") : FPLT_OK;
}
