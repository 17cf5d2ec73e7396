/* A training job from settings. */
#include "fedplt/job.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/text.h"
#include "data/dataset.h"
#include "engine/ranks.h"
#include "fedplt/schema.h"
#include "job/job.h"
#include "job/tables.h"
#include "linalg/kernel.h"
#include "objective/objective.h"

struct fplt_job {
    fplt_job_view view;
    fplt_dataset *training, *held_out; /* owned, as is all below */
    fplt_transform transform;
    fplt_objective *objective;
    fplt_prox *prox;
    fplt_participation *participation;
    fplt_training *each;
    double *start;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_auto automatic;
    char reason[sizeof((fplt_auto *)0)->about_algorithm]; /* for an automatic algorithm */
};

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
    {FPLT_JOB_READ, "data", fplt_read_table},
    {FPLT_JOB_DIVIDE, "data", fplt_partition_table},
    {FPLT_JOB_PREPARE, "data", fplt__job_holdout_table},
    {FPLT_JOB_PREPARE, "data", fplt_transform_table},
    {FPLT_JOB_GENERATE, "generated data", fplt_generate_table},
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
    return *algorithm ? FPLT_OK : fplt_unknown_name("algorithm", name, algorithm_name, error);
}

static const char *solver_name(size_t index, const char **help)
{
    const fplt_solver *solver = fplt_solver_list(index);
    if (solver && help)
        *help = solver->help;
    return solver ? solver->name : NULL;
}

static int is_taken(const char *name)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        for (const fplt_setting *row = sections[i].table; row && row->name; row++)
            if (strcmp(row->name, name) == 0)
                return 1;
    return 0;
}

/* A parameter with the name of another setting would silently share its value. */
static fplt_status declare_own(fplt_settings *settings, const fplt_algorithm *algorithm,
                               fplt_error *error)
{
    for (const fplt_setting *row = algorithm->settings; row->name; row++)
        if (is_taken(row->name))
            return fplt_error_set(error, FPLT_FAILED,
                                  "the parameter %s of %s has the name of a setting of every job",
                                  row->name, algorithm->name);
    return fplt_settings_add(settings, algorithm->name, algorithm->settings, error);
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

/* Data */

/* Given, where the command at hand has such a setting at all. */
static int wished(const fplt_settings *settings, const char *name)
{
    return fplt_settings_find(settings, name) && fplt_settings_given(settings, name);
}

static int is(const fplt_settings *settings, const char *name, const char *word)
{
    const char *text = fplt_settings_text(settings, name);
    return text && strcmp(text, word) == 0;
}

/* What missing values are filled with; NULL: they are not. */
static const char *filling(const fplt_settings *settings)
{
    return is(settings, "missing", "refuse") || is(settings, "missing", "drop")
               ? NULL
               : fplt_settings_text(settings, "missing");
}

void fplt_job_filling(const fplt_settings *settings, fplt_transform_settings *transform)
{
    transform->fill = filling(settings);
    transform->fill_value = fplt_settings_real(settings, "missing-value");
}

fplt_read_settings fplt_job_read(const fplt_settings *settings)
{
    fplt_read_settings read = fplt_read_defaults();
    read.format = fplt_settings_text(settings, "format");
    read.label = fplt_settings_text(settings, "label");
    read.site = fplt_settings_text(settings, "site");
    read.labels = fplt_settings_text(settings, "labels");
    read.features = (size_t)fplt_settings_integer(settings, "features");
    read.no_header = !fplt_settings_switch(settings, "header");
    read.drop_missing = is(settings, "missing", "drop");
    read.separator = fplt_settings_text(settings, "separator");
    if (fplt_settings_given(settings, "largest-file"))
        read.largest = (size_t)(fplt_settings_real(settings, "largest-file") * 1073741824.0);
    read.keep_missing = filling(settings) != NULL;
    read.columns = fplt_settings_text(settings, "columns");
    read.ignore = fplt_settings_text(settings, "ignore");
    read.id = fplt_settings_text(settings, "id");
    read.row_weight = fplt_settings_text(settings, "row-weight");
    read.categories = fplt_settings_text(settings, "categories");
    read.drop_first_level = fplt_settings_switch(settings, "drop-first-level");
    read.task = fplt_settings_text(settings, "task");
    read.decimal = fplt_settings_text(settings, "decimal");
    read.missing_codes = fplt_settings_text(settings, "missing-codes");
    read.dates = fplt_settings_text(settings, "dates");
    if (fplt_settings_find(settings, "threads"))
        read.threads = (unsigned)fplt_settings_integer(settings, "threads");
    return read;
}

static fplt_task generator_task(const fplt_settings *settings)
{
    if (is(settings, "task", "classes"))
        return FPLT_TASK_CLASSES;
    if (is(settings, "task", "regression") ||
        (is(settings, "task", "auto") && is(settings, "generator", "quadratic")))
        return FPLT_TASK_REGRESSION;
    return FPLT_TASK_BINARY;
}

static fplt_generate_settings read_generator(const fplt_settings *settings, uint32_t run)
{
    fplt_generate_settings generator = fplt_generate_defaults();
    generator.name = fplt_settings_text(settings, "generator");
    if (fplt_settings_given(settings, "agents"))
        generator.agents = (uint32_t)fplt_settings_integer(settings, "agents");
    if (fplt_settings_given(settings, "features"))
        generator.features = (size_t)fplt_settings_integer(settings, "features");
    generator.rows = (size_t)fplt_settings_integer(settings, "rows");
    generator.unequal = fplt_settings_real(settings, "unequal");
    generator.spread = fplt_settings_real(settings, "spread");
    generator.noise = fplt_settings_real(settings, "noise");
    generator.lowest = fplt_settings_real(settings, "lmin");
    generator.highest = fplt_settings_real(settings, "lmax");
    generator.classes = (uint32_t)fplt_settings_integer(settings, "classes");
    generator.seed = (uint64_t)fplt_settings_integer(settings, "seed");
    generator.run = run;
    generator.task = generator_task(settings);
    return generator;
}

static fplt_status generate(const fplt_settings *settings, uint32_t run, fplt_dataset **dataset,
                            fplt_error *error)
{
    fplt_generate_settings generator = read_generator(settings, run);
    return fplt_dataset_generate(&generator, dataset, error);
}

static size_t list_length(const char *list)
{
    size_t count = 0;
    char item[8];
    while (*list) {
        list = fplt_list_next(list, item, sizeof item);
        count++;
    }
    return count;
}

/* The items of a list as texts of their own, in one block. */
static fplt_status split(const char *list, char ***items, size_t *count, fplt_error *error)
{
    size_t room = strlen(list) + 1;
    *count = list_length(list);
    fplt_status status =
        fplt__alloc_into(items, 1, *count * (sizeof **items + room), "a list", error);
    if (status)
        return status;
    char *text = (char *)(*items + *count);
    for (size_t i = 0; i < *count; i++, text += room) {
        (*items)[i] = text;
        list = fplt_list_next(list, text, room);
    }
    return FPLT_OK;
}

/* The schema of the settings, to be destroyed; NULL: none. */
static fplt_status load_schema(const fplt_settings *settings, const char *path,
                               fplt_schema **schema, fplt_error *error)
{
    const char *file = fplt_settings_text(settings, "schema");
    const char *bounds = fplt_settings_text(settings, "bounds");
    fplt_read_settings read = fplt_job_read(settings);
    *schema = NULL;
    if (!file && !bounds)
        return FPLT_OK;
    return file ? fplt_schema_read(file, schema, error)
                : fplt_schema_flat(path, &read, bounds, schema, error);
}

fplt_status fplt_job_schema(const fplt_settings *settings, fplt_schema **schema, fplt_error *error)
{
    const char *data = fplt_settings_text(settings, "data");
    char **items = NULL;
    size_t count = 0;
    *schema = NULL;
    fplt_status status = data ? split(data, &items, &count, error) : FPLT_OK;
    if (!status)
        status = load_schema(settings, count ? items[0] : "", schema, error);
    fplt__free(items);
    return status;
}

static fplt_status read_files(const fplt_settings *settings, const char *const *paths, size_t count,
                              const fplt_read_settings *read, int silent, fplt_dataset **dataset,
                              fplt_error *error)
{
    fplt_read_settings own = fplt_job_read(settings);
    fplt_schema *schema = NULL;
    char **items = NULL;
    fplt_status status = FPLT_OK;
    own.silent = silent;
    own.unchecked = !paths; /* the numbers of a job's own data are looked at when they are packed */
    if (!paths) {
        if ((status = split(fplt_settings_text(settings, "data"), &items, &count, error)))
            return status;
        paths = (const char *const *)items;
    }
    if (!read && count)
        status = load_schema(settings, paths[0], &schema, error);
    own.schema = schema;
    if (!status)
        status = fplt_dataset_read(paths, count, read ? read : &own, dataset, error);
    fplt__free(items);
    fplt_schema_destroy(schema);
    return status;
}

/* A partition replaces the sites. A number of agents alone divides data that has no sites. */
static fplt_status divide(const fplt_settings *settings, fplt_dataset **dataset, fplt_error *error)
{
    fplt_partition_settings partition = fplt_partition_defaults();
    uint32_t there = fplt_dataset_agents(*dataset);
    int counted = fplt_settings_given(settings, "agents");
    uint32_t agents = (uint32_t)fplt_settings_integer(settings, "agents");
    const char *name = fplt_settings_text(settings, "partition");
    if (!name && (!counted || agents == there))
        return FPLT_OK;
    if (!name && there > 1)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "%s: agents is %u, but the data belong to %u sites; leave agents out, "
            "or give a partition to divide the rows anew",
            fplt_settings_origin(settings, "agents"), agents, there);
    if (name)
        partition.name = name;
    if (counted)
        partition.agents = agents;
    partition.alpha = fplt_settings_real(settings, "alpha");
    partition.seed = (uint64_t)fplt_settings_integer(settings, "seed");
    return fplt__dataset_divide(dataset, &partition, error);
}

/* `silent` as in fplt_read_settings, where `read` is NULL. */
static fplt_status read_dataset(const fplt_settings *settings, uint32_t run,
                                const char *const *paths, size_t count,
                                const fplt_read_settings *read, int silent, fplt_dataset **dataset,
                                fplt_error *error)
{
    int from_file = paths || wished(settings, "data");
    fplt_status status;
    *dataset = NULL;
    if (!from_file && !wished(settings, "partition"))
        return generate(settings, run, dataset, error);
    status = from_file ? read_files(settings, paths, count, read, silent, dataset, error)
                       : generate(settings, run, dataset, error);
    if (!status)
        status = divide(settings, dataset, error);
    if (status) {
        fplt_dataset_destroy(*dataset);
        *dataset = NULL;
    }
    return status;
}

fplt_status fplt_job_dataset(const fplt_settings *settings, uint32_t run, const char *const *paths,
                             size_t count, const fplt_read_settings *read, fplt_dataset **dataset,
                             fplt_error *error)
{
    return read_dataset(settings, run, paths, count, read, 0, dataset, error);
}

static fplt_status hold_out(const fplt_settings *settings, fplt_dataset **training,
                            fplt_dataset **held_out, fplt_error *error)
{
    double share = fplt_settings_real(settings, "holdout");
    if (!(share > 0))
        return FPLT_OK;
    fplt_dataset *kept;
    uint64_t seed = (uint64_t)fplt_settings_integer(settings, "seed");
    fplt_status status = fplt_dataset_split(*training, share, seed, &kept, held_out, error);
    if (status)
        return status;
    fplt_dataset_destroy(*training);
    *training = kept;
    return FPLT_OK;
}

fplt_transform_settings fplt__job_transform(const fplt_settings *settings,
                                            const fplt_job_source *source)
{
    fplt_transform_settings wanted = fplt_transform_defaults();
    wanted.standardise = source->by_schema ? "schema" : fplt_settings_text(settings, "standardise");
    wanted.radius = source->radius > 0 ? source->radius : fplt_settings_real(settings, "radius");
    return wanted;
}

/* Whether a process can take the rows of its own agents without those of others: they are drawn, or a
 * schema says what they are, and nothing is divided, held out or weighed by looking at all. */
static int is_apart(const fplt_settings *settings, const fplt_job_source *source)
{
    return source->ranks && !source->dataset && !wished(settings, "partition") &&
           !(wished(settings, "data") &&
             (!wished(settings, "schema") || wished(settings, "agents"))) &&
           !(fplt_settings_real(settings, "holdout") > 0) &&
           !is(settings, "class-weight", "balanced");
}

/* Moments go from process to process. */
static fplt_status relay_ready(void *context, fplt_status status, fplt_error *error)
{
    return fplt_ranks_agree(context, status, error);
}

static void relay_take(void *context, void *bytes, size_t size)
{
    const fplt_ranks *ranks = context;
    if (ranks->number)
        ranks->receive(ranks->context, ranks->number - 1, bytes, size);
}

static void relay_pass(void *context, void *bytes, size_t size)
{
    const fplt_ranks *ranks = context;
    if (ranks->count == 1)
        return;
    ranks->send(ranks->context, (ranks->number + 1) % ranks->count, bytes, size);
    if (!ranks->number)
        ranks->receive(ranks->context, ranks->count - 1, bytes, size);
    ranks->share(ranks->context, bytes, size);
}

/* Found on the training rows, done to both. */
static fplt_status transform_both(const fplt_settings *settings, const fplt_job_source *source,
                                  fplt_dataset *training, fplt_dataset *held_out,
                                  fplt_transform *transform, fplt_error *error)
{
    fplt_transform_settings wanted = fplt__job_transform(settings, source);
    if (!source->by_schema)
        fplt_job_filling(settings, &wanted);
    const fplt__relay relay = {relay_ready, relay_take, relay_pass, source->ranks};
    fplt_status status =
        fplt__transform_fit(training, &wanted, is_apart(settings, source) ? &relay : NULL,
                            transform, error);
    if (!status)
        status = fplt_transform_apply(transform, training, error);
    if (!status && held_out)
        status = fplt_transform_apply(transform, held_out, error);
    return status;
}

/* The rows of the own agents stay. Held-out rows are the leader's. */
static fplt_status keep_own(const fplt_job_source *source, fplt_dataset **training,
                            fplt_dataset **held_out, fplt_error *error)
{
    uint32_t first, end;
    fplt_dataset *kept;
    if (!source->ranks || source->ranks->count == 1 || (*training)->census)
        return FPLT_OK;
    fplt__ranks_block(source->ranks, fplt_dataset_agents(*training), source->ranks->number, &first,
                      &end);
    fplt_status status = fplt__dataset_keep(*training, first, end, &kept, error);
    if (status)
        return status;
    fplt_dataset_destroy(*training);
    *training = kept;
    if (source->ranks->number) {
        fplt_dataset_destroy(*held_out);
        *held_out = NULL;
    }
    return FPLT_OK;
}

static fplt_status generate_own(const fplt_settings *settings, uint32_t run,
                                const fplt_job_source *source, fplt_dataset **dataset,
                                fplt_error *error)
{
    fplt_generate_settings generator = read_generator(settings, run);
    uint32_t first, end;
    fplt__ranks_block(source->ranks, generator.agents, source->ranks->number, &first, &end);
    return fplt__dataset_generate_part(&generator, first, end, dataset, error);
}

static fplt_status read_own(const fplt_settings *settings, const fplt_job_source *source,
                            fplt_dataset **dataset, fplt_error *error)
{
    fplt_read_settings read = fplt_job_read(settings);
    fplt_schema *schema = NULL;
    char **items = NULL;
    size_t count;
    fplt_status status = split(fplt_settings_text(settings, "data"), &items, &count, error);
    if (!status)
        status = load_schema(settings, count ? items[0] : "", &schema, error);
    read.schema = schema;
    read.silent = source->public_only;
    if (!status)
        status =
            fplt__dataset_read_part((const char *const *)items, count, &read, source->ranks->number,
                                    source->ranks->count, dataset, error);
    fplt__free(items);
    fplt_schema_destroy(schema);
    return status;
}

static fplt_status build_data(const fplt_settings *settings, uint32_t run,
                              const fplt_job_source *source, fplt_dataset **training,
                              fplt_dataset **held_out, fplt_transform *transform, fplt_error *error)
{
    *training = source->dataset;
    *held_out = NULL;
    *transform = (fplt_transform){0, NULL, NULL, 0};
    fplt_status status = FPLT_OK;
    if (is_apart(settings, source))
        status = wished(settings, "data") ? read_own(settings, source, training, error)
                                          : generate_own(settings, run, source, training, error);
    else if (!*training)
        status = read_dataset(settings, run, NULL, 0, NULL, source->public_only, training, error);
    else if (!source->part)
        status = divide(settings, training, error);
    if (!status && !source->part)
        status = hold_out(settings, training, held_out, error);
    if (!status)
        status = transform_both(settings, source, *training, *held_out, transform, error);
    if (!status && is(settings, "class-weight", "balanced"))
        status = fplt_dataset_balance(*training, error);
    if (!status)
        status = keep_own(source, training, held_out, error);
    if (status) {
        fplt_dataset_destroy(*training);
        fplt_dataset_destroy(*held_out);
        fplt_transform_clear(transform);
        *training = *held_out = NULL;
    }
    return status;
}

/* Costs */

fplt_objective_settings fplt_job_cost(const fplt_settings *settings, fplt_task task)
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
    /* a preference is no wish: where the loss sees no intercept there is none */
    cost.intercept =
        fplt_settings_switch(settings, "intercept") &&
        (fplt_settings_given(settings, "intercept") || fplt_loss_takes_intercept(cost.loss));
    cost.weigh_rows = is(settings, "weights", "rows");
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
    fplt_objective_settings cost = fplt_job_cost(settings, task);
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

fplt_status fplt_job_composite(const fplt_settings *settings, size_t dimension, size_t intercepts,
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

/* Participation and training */

static fplt_status read_shares(const fplt_settings *settings, uint32_t agents, double **shares,
                               fplt_error *error)
{
    const char *list = fplt_settings_text(settings, "active-share");
    size_t count = list_length(list);
    if (count == 1)
        return FPLT_OK;
    if (count != agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: active-share has %zu numbers, but it must have 1, or %u: one an "
                              "agent",
                              fplt_settings_origin(settings, "active-share"), count, agents);
    fplt_status status = fplt__alloc_into(shares, count, sizeof **shares, "probabilities", error);
    char item[64];
    for (size_t i = 0; !status && i < count; i++) {
        list = fplt_list_next(list, item, sizeof item);
        status = fplt_parse_real(item, &(*shares)[i]);
    }
    return status;
}

fplt_status fplt_job_participation(const fplt_settings *settings, uint32_t agents,
                                   fplt_participation **participation, fplt_error *error)
{
    double *shares = NULL;
    fplt_participation_settings rule = {.rule = fplt_settings_text(settings, "participation"),
                                        .probability = fplt_settings_real(settings, "active-share"),
                                        .trace = fplt_settings_text(settings, "trace")};
    *participation = NULL;
    rule.count = fplt_settings_given(settings, "active")
                     ? (uint32_t)fplt_settings_integer(settings, "active")
                     : (agents + 1) / 2;
    if (strcmp(rule.rule, "trace") == 0 && !rule.trace)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "participation trace needs a file: give trace");
    fplt_status status = FPLT_OK;
    if (strcmp(rule.rule, "bernoulli") == 0)
        status = read_shares(settings, agents, &shares, error);
    rule.probabilities = shares;
    if (!status)
        status = fplt_participation_create(&rule, agents, participation, error);
    fplt__free(shares);
    return status;
}

static fplt_status check_noise(const fplt_training *training, int given, fplt_error *error)
{
    if (training->solver->traits & FPLT_NOISY && !given)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the solver %s adds noise and needs its scale: give tau",
                              training->solver->name);
    return FPLT_OK;
}

fplt_status fplt__job_training(const fplt_settings *settings, const fplt_job_source *source,
                               fplt_training *training, fplt_error *error)
{
    int noise_given = fplt_settings_text(settings, "tau") != NULL;
    *training = fplt_training_defaults();
    training->solver =
        source->solver ? source->solver : fplt_solver_find(fplt_settings_text(settings, "solver"));
    training->context = source->solver_context;
    if (!training->solver)
        return fplt_unknown_name("solver", fplt_settings_text(settings, "solver"), solver_name,
                                 error);
    fplt_status status = FPLT__CHECK_TABLE(fplt_solver, training->solver, error);
    if (status)
        return status;
    training->step =
        fplt_settings_is_auto(settings, "gamma") ? 0 : fplt_settings_real(settings, "gamma");
    training->epochs = fplt_settings_is_auto(settings, "epochs")
                           ? 0
                           : (uint32_t)fplt_settings_integer(settings, "epochs");
    training->batch = (uint32_t)fplt_settings_integer(settings, "batch");
    training->replacement = fplt_settings_switch(settings, "replacement");
    training->by_pass = is(settings, "epoch", "pass");
    training->noise_tau = noise_given ? fplt_settings_real(settings, "tau") : 0;
    training->memory = (uint32_t)fplt_settings_integer(settings, "memory");
    training->tolerance = fplt_settings_real(settings, "local-tolerance");
    /* the noise of a promise follows from it */
    return source->public_only ? FPLT_OK : check_noise(training, noise_given, error);
}

fplt_status fplt_job_training(const fplt_settings *settings, fplt_training *training,
                              fplt_error *error)
{
    const fplt_job_source nothing = {.dataset = NULL};
    return fplt__job_training(settings, &nothing, training, error);
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
                                  fplt_settings_origin(settings, row->name), row->name, instead);
    return FPLT_OK;
}

static fplt_status check_source(const fplt_settings *settings, const fplt_job_source *source,
                                fplt_error *error)
{
    static const char costs[] = "the costs are the caller's own",
                      data[] = "the data set is in memory";
    const fplt_setting *const about_costs[] = {fplt__job_data_table, fplt_read_table,
                                               fplt_partition_table, fplt__job_holdout_table,
                                               fplt_transform_table, fplt_generate_table,
                                               fplt__job_cost_table};
    const fplt_setting *const about_data[] = {fplt__job_data_table, fplt_read_table,
                                              fplt_generate_table};
    fplt_status status = FPLT_OK;
    if (is(settings, "engine", "mpi") && !source->ranks && !source->whole)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "%s: engine is mpi, but this process runs without MPI: start `mpirun -n 4 "
            "fedplt train ... --engine mpi`, with a fedplt whose `fedplt version` tells "
            "of MPI",
            fplt_settings_origin(settings, "engine"));
    if (source->objective && source->dataset)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "a data set and own costs are both given; leave one of them out");
    for (size_t i = 0; !status && source->objective && i < sizeof about_costs / sizeof *about_costs;
         i++)
        status = refuse_given(settings, about_costs[i], "", costs, error);
    for (size_t i = 0;
         !status && source->dataset && !source->part && i < sizeof about_data / sizeof *about_data;
         i++)
        status = refuse_given(settings, about_data[i], "agents", data, error);
    if (!status && source->solver && !source->public_only &&
        fplt_settings_given(settings, "solver"))
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: solver is given, but a solver of one's own takes its place; "
                                "leave one of them out",
                                fplt_settings_origin(settings, "solver"));
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
    return !is(settings, "label", "none")
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: label is none, but the loss %s learns from labels: name their "
                                "column",
                                fplt_settings_origin(settings, "label"), loss);
}

static fplt_status build_objective(fplt_job *job, const fplt_settings *settings, uint32_t run,
                                   const fplt_job_source *source, fplt_error *error)
{
    fplt_job_view *view = &job->view;
    view->transform = &job->transform;
    view->objective = source->objective;
    if (view->objective)
        return FPLT_OK;
    fplt_status status =
        build_data(settings, run, source, &job->training, &job->held_out, &job->transform, error);
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

static fplt_status build_costs(fplt_job *job, const fplt_settings *settings, uint32_t run,
                               const fplt_job_source *source, fplt_error *error)
{
    fplt_job_view *view = &job->view;
    fplt_status status = build_objective(job, settings, run, source, error);
    if (status)
        return status;
    size_t n = fplt_objective_dimension(view->objective);
    size_t intercepts = fplt_objective_intercepts(view->objective);
    if ((status = fplt_job_composite(settings, n, intercepts, &job->prox, error)))
        return status;
    view->prox = job->prox;
    return FPLT_OK;
}

/* What is given for solvers must be about one that some agent has. */
static fplt_status check_solvers(const fplt_job *job, const fplt_settings *settings,
                                 fplt_error *error)
{
    uint32_t agents = fplt_objective_agents(job->view.objective);
    const fplt_solver *solver;
    char list[512] = "";
    for (size_t k = 0; (solver = fplt_solver_list(k)); k++)
        for (uint32_t i = 0; i < agents; i++)
            if (job->each[i].solver == solver) {
                size_t used = strlen(list);
                snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", solver->name);
                break;
            }
    return fplt__settings_effective_there(settings, "uncoordinated", "solver", list, error);
}

static fplt_status build_training(fplt_job *job, const fplt_settings *settings,
                                  const fplt_job_source *source, fplt_error *error)
{
    fplt_run_settings *run = &job->view.run;
    uint32_t agents = fplt_objective_agents(job->view.objective);
    const char *path = fplt_settings_text(settings, "uncoordinated");
    fplt_status status;
    if ((status = fplt_job_participation(settings, agents, &job->participation, error)) ||
        (status = fplt__job_training(settings, source, &run->training, error)))
        return status;
    job->view.participation = run->participation = job->participation;
    if (!path)
        return FPLT_OK;
    if ((status = fplt__alloc_into(&job->each, agents, sizeof *job->each,
                                   "the training of each agent", error)) ||
        (status = fplt_job_uncoordinated(path, &run->training, job->training, agents, job->each,
                                         error)) ||
        (status = check_solvers(job, settings, error)))
        return status;
    run->each = job->each;
    return FPLT_OK;
}

static int was_given(const fplt_settings *settings, const char *name)
{
    return fplt_settings_given(settings, name) && !fplt_settings_is_auto(settings, name);
}

/* Where passes over long dense rows are all there is to pay for: nobody spoke of communication, and there is
 * none. */
static double numbers_at_hand(const fplt_job *job, const fplt_settings *settings)
{
    const fplt_objective *objective = job->objective;
    if (!objective || objective->sparse || job->view.run.ranks ||
        wished(settings, "t-communication") || wished(settings, "t-gradient"))
        return 0;
    return (double)fplt_dataset_rows(job->training) * (double)objective->columns;
}

/* What is best, and of what may be taken the best. */
static const fplt_algorithm *choose_method(fplt_occasion *occasion, int withheld, char *reason,
                                           size_t size)
{
    const fplt_algorithm *best = fplt_method_choose(occasion, reason, size);
    if (!withheld || !(best->allows & FPLT_SENDS_HESSIANS))
        return best;
    occasion->hessians = 0;
    const fplt_algorithm *next = fplt_method_choose(occasion, reason, size);
    size_t used = strlen(reason);
    snprintf(reason + used, size - used,
             " %s would need fewer rounds, but some site does not let Hessians leave.", best->name);
    return next;
}

void fplt__job_method(const fplt_settings *settings, const fplt__method_context *scene,
                      fplt_run_settings *run, double *parameter, char *reason, size_t size)
{
    const fplt_solver *solver = run->training.solver;
    const char *regulariser = scene->regulariser;
    fplt_occasion occasion = {
        .dimension = scene->dimension,
        .partial = !fplt_participation_is_full(scene->participation),
        .random = scene->varied || solver->traits & (FPLT_STOCHASTIC | FPLT_NOISY),
        .trains = was_given(settings, "solver") || was_given(settings, "epochs") ||
                  was_given(settings, "gamma"),
        .composite = !fplt_prox_is_zero(scene->prox),
        .hessians = !regulariser || strcmp(regulariser, "nonconvex") != 0,
        .gradient_time = fplt_settings_real(settings, "t-gradient"),
        .communication_time = fplt_settings_real(settings, "t-communication"),
        .numbers = scene->numbers,
    };
    run->algorithm = choose_method(&occasion, scene->withheld, reason, size);
    fplt_algorithm_defaults(run->algorithm, parameter);
    if (!fplt_settings_given(settings, "epochs") && solver->traits & FPLT_PLAIN_STEPS &&
        run->algorithm->allows & FPLT_NEEDS_CERTAINTY)
        run->training.epochs = 0;
}

static fplt_status read_method(fplt_job *job, const fplt_settings *settings, fplt_error *error)
{
    fplt_run_settings *run = &job->view.run;
    if (fplt_settings_is_auto(settings, "algorithm")) {
        const fplt_job_view *view = &job->view;
        fplt__method_context scene = {.dimension = fplt_objective_dimension(view->objective),
                                      .participation = view->participation,
                                      .prox = job->prox,
                                      .regulariser =
                                          view->cost.loss ? view->cost.regulariser : "nonconvex",
                                      .varied = job->each != NULL,
                                      .numbers = numbers_at_hand(job, settings)};
        fplt__job_method(settings, &scene, run, job->parameter, job->reason, sizeof job->reason);
        return FPLT_OK;
    }
    fplt_status status =
        fplt__job_algorithm(fplt_settings_text(settings, "algorithm"), &run->algorithm, error);
    if (!status)
        fplt_algorithm_read(run->algorithm, settings, job->parameter);
    return status;
}

void fplt__job_run(const fplt_settings *settings, fplt_run_settings *run)
{
    run->seed = (uint64_t)fplt_settings_integer(settings, "seed");
    run->rounds = (uint64_t)fplt_settings_integer(settings, "rounds");
    run->tolerance = fplt_settings_real(settings, "tolerance");
    run->relative = fplt_settings_switch(settings, "relative");
    run->change = fplt_settings_real(settings, "change");
    if (!fplt_settings_is_auto(settings, "eval-every"))
        run->evaluate_every = (uint32_t)fplt_settings_integer(settings, "eval-every");
    run->gradient_time = fplt_settings_real(settings, "t-gradient");
    run->communication_time = fplt_settings_real(settings, "t-communication");
}

static fplt_status build_run(fplt_job *job, const fplt_settings *settings, uint32_t number,
                             fplt_error *error)
{
    static const struct {
        const char *word;
        fplt_start start;
    } starts[] = {{"zero", FPLT_START_ZERO},
                  {"model", FPLT_START_GIVEN},
                  {"random", FPLT_START_RANDOM},
                  {"prior", FPLT_START_PRIOR}};
    fplt_run_settings *run = &job->view.run;
    fplt_status status = read_method(job, settings, error);
    if (status)
        return status;
    run->parameter = job->parameter;
    run->prox = job->prox;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (is(settings, "start", starts[i].word))
            run->start = starts[i].start;
    run->start_scale = fplt_settings_real(settings, "start-scale");
    run->run = number;
    run->threads = (unsigned)fplt_settings_integer(settings, "threads");
    run->at_model = is(settings, "criterion-at", "model");
    fplt__job_run(settings, run);
    return FPLT_OK;
}

uint32_t fplt__job_spacing(const fplt__load *load, const fplt_run_settings *run,
                           const fplt_participation *participation, int own_data)
{
    double agents = fplt_participation_agents(participation), cohort = 0;
    int full = fplt_participation_is_full(participation);
    for (uint32_t i = 0; i < agents; i++)
        cohort += fplt_participation_rate(participation, i);
    if (full && (!own_data || run->algorithm->allows & FPLT_TRAINS_NOTHING))
        return run->evaluate_every;
    return (uint32_t)fplt__load_spacing(load, &run->training, agents, cohort);
}

/* What is auto becomes a number; agents with no epochs of their own (0) take it too. */
static fplt_status resolve(fplt_job *job, const fplt_settings *settings, int public_only,
                           int own_data, fplt_error *error)
{
    fplt_run_settings *run = &job->view.run;
    if (public_only) {
        if (!run->training.epochs)
            run->training.epochs = fplt_training_defaults().epochs;
        return FPLT_OK;
    }
    run->scaled = job->transform.scale != NULL;
    fplt_status status = fplt_auto_resolve(job->view.objective, run, &job->automatic, error);
    if (status)
        return status;
    fplt_auto_apply(&job->automatic, run);
    memcpy(job->automatic.about_algorithm, job->reason, sizeof job->reason);
    job->view.automatic = &job->automatic;
    fplt__load load = fplt__load_of(job->view.objective);
    if (fplt_settings_is_auto(settings, "eval-every"))
        run->evaluate_every = fplt__job_spacing(&load, run, run->participation, own_data);
    return FPLT_OK;
}

static fplt_status build(fplt_job *job, const fplt_settings *settings, uint32_t run,
                         const fplt_job_source *source, fplt_error *error)
{
    fplt_status status;
    if ((status = build_costs(job, settings, run, source, error)) ||
        (status = build_training(job, settings, source, error)) ||
        (status = build_run(job, settings, run, error)) ||
        (status = resolve(job, settings, source->public_only,
                          source->dataset || wished(settings, "data"), error)) ||
        !source->start)
        return status;
    size_t count = source->start_count;
    return fplt_job_start(job, source->start,
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
        status = fplt_settings_effective(settings, error);
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

fplt_status fplt_job_create(const fplt_settings *settings, uint32_t run, fplt_job **out,
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
    fplt_auto_clear(&job->automatic);
    fplt__free(job->each);
    fplt__free(job->start);
    fplt__free(job);
}

const fplt_job_view *fplt_job_get_view(const fplt_job *job)
{
    return &job->view;
}

fplt_job_view *fplt_job_edit(fplt_job *job)
{
    return &job->view;
}

fplt_status fplt_job_start(fplt_job *job, const double *x, size_t dimension, const char *origin,
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
