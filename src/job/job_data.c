/* The data of a job: which files or generator, how to read them, which rows are held out or transformed. */
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "data/schema.h"
#include "data/schema_access.h"
#include "engine/ranks.h"
#include "job/build.h"
#include "job/job.h"
#include "objective/objective_access.h"

/* Given, where the command at hand has such a setting at all. */
int fplt__job_setting_wished(const fplt_settings *settings, const char *name)
{
    return fplt__settings_find(settings, name) && fplt_settings_given(settings, name);
}

int fplt__job_setting_is(const fplt_settings *settings, const char *name, const char *word)
{
    const char *text = fplt_settings_text(settings, name);
    return text && strcmp(text, word) == 0;
}

/* What missing values are filled with; NULL: they are not. */
static const char *filling(const fplt_settings *settings)
{
    return fplt__job_setting_is(settings, "missing", "refuse") ||
                   fplt__job_setting_is(settings, "missing", "drop")
               ? NULL
               : fplt_settings_text(settings, "missing");
}

void fplt__job_filling(const fplt_settings *settings, fplt_transform_settings *transform)
{
    transform->fill = filling(settings);
    transform->fill_value = fplt_settings_real(settings, "missing-value");
    transform->fill_bounds = fplt_settings_text(settings, "missing-bounds");
    transform->fill_cells = (unsigned)fplt_settings_integer(settings, "missing-cells");
}

static int has_site_effects(const fplt_settings *settings)
{
    return fplt__settings_find(settings, "site-effects") &&
           fplt__job_setting_is(settings, "site-effects", "fixed");
}

const char *fplt__job_formula(const fplt_settings *settings)
{
    return fplt__settings_find(settings, "formula") ? fplt_settings_text(settings, "formula")
                                                    : NULL;
}

const char *fplt__job_cluster(const fplt_settings *settings)
{
    if (!fplt__settings_find(settings, "random-intercept") ||
        fplt__job_setting_is(settings, "random-intercept", "site") ||
        !fplt__loss_is_clustered(fplt_settings_text(settings, "loss")))
        return NULL;
    return fplt_settings_text(settings, "random-intercept");
}

/* Labels are numbers where the loss takes nothing else, and where the task says so. */
static const char *labels_task(const fplt_settings *settings)
{
    return fplt__job_setting_is(settings, "task", "auto") &&
                   fplt__settings_find(settings, "loss") &&
                   fplt__loss_takes_numbers_only(fplt_settings_text(settings, "loss"))
               ? "regression"
               : fplt_settings_text(settings, "task");
}

fplt_read_settings fplt__job_read(const fplt_settings *settings)
{
    fplt_read_settings read = fplt_read_defaults();
    read.format = fplt_settings_text(settings, "format");
    read.label = fplt_settings_text(settings, "label");
    read.site = fplt_settings_text(settings, "site");
    read.labels = fplt_settings_text(settings, "labels");
    read.features = (size_t)fplt_settings_integer(settings, "features");
    read.no_header = !fplt_settings_switch(settings, "header");
    read.drop_missing = fplt__job_setting_is(settings, "missing", "drop");
    read.separator = fplt_settings_text(settings, "separator");
    if (fplt_settings_given(settings, "largest-file"))
        read.largest = (size_t)(fplt_settings_real(settings, "largest-file") * 1073741824.0);
    read.keep_missing = filling(settings) != NULL;
    read.columns = fplt_settings_text(settings, "columns");
    read.ignore = fplt_settings_text(settings, "ignore");
    read.id = fplt_settings_text(settings, "id");
    read.cluster = fplt__job_cluster(settings);
    read.row_weight = fplt_settings_text(settings, "row-weight");
    read.categories = fplt_settings_text(settings, "categories");
    read.drop_first_level = fplt_settings_switch(settings, "drop-first-level");
    read.task = labels_task(settings);
    read.decimal = fplt_settings_text(settings, "decimal");
    read.missing_codes = fplt_settings_text(settings, "missing-codes");
    read.dates = fplt_settings_text(settings, "dates");
    if (fplt__settings_find(settings, "threads"))
        read.threads = (unsigned)fplt_settings_integer(settings, "threads");
    return read;
}

static fplt_task generator_task(const fplt_settings *settings)
{
    if (fplt__job_setting_is(settings, "task", "classes"))
        return FPLT_TASK_CLASSES;
    if (fplt__job_setting_is(settings, "task", "regression") ||
        (fplt__job_setting_is(settings, "task", "auto") &&
         fplt__job_setting_is(settings, "generator", "quadratic")))
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

size_t fplt__job_list_length(const char *list)
{
    size_t count = 0;
    char item[8];
    while (*list) {
        list = fplt__list_next(list, item, sizeof item);
        count++;
    }
    return count;
}

/* The items of a list as texts of their own, in one block. */
static fplt_status split(const char *list, char ***items, size_t *count, fplt_error *error)
{
    size_t room = strlen(list) + 1;
    *count = fplt__job_list_length(list);
    fplt_status status =
        fplt__alloc_into(items, 1, *count * (sizeof **items + room), "a list", error);
    if (status)
        return status;
    char *text = (char *)(*items + *count);
    for (size_t i = 0; i < *count; i++, text += room) {
        (*items)[i] = text;
        list = fplt__list_next(list, text, room);
    }
    return FPLT_OK;
}

/* Whether a promise is wanted, of commands that make one. */
static int is_private(const fplt_settings *settings)
{
    static const char *const names[] = {"privacy.epsilon", "privacy.tau"};
    int wanted = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        wanted |=
            fplt__settings_find(settings, names[i]) && fplt_settings_given(settings, names[i]);
    return wanted;
}

/* The schema of the settings, to be destroyed; NULL: none. */
static fplt_status load_schema(const fplt_settings *settings, const char *path,
                               fplt_schema **schema, fplt_error *error)
{
    const char *file = fplt_settings_text(settings, "schema");
    const char *bounds = fplt_settings_text(settings, "bounds");
    fplt_read_settings read = fplt__job_read(settings);
    *schema = NULL;
    if (!file && !bounds)
        return FPLT_OK;
    fplt_status status = file ? fplt_schema_read(file, schema, error)
                              : fplt__schema_flat(path, &read, bounds, schema, error);
    if (!status && is_private(settings))
        fplt__schema_be_lenient(*schema);
    return status;
}

fplt_status fplt__job_schema(const fplt_settings *settings, fplt_schema **schema, fplt_error *error)
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
    fplt_read_settings own = fplt__job_read(settings);
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
            fplt__settings_origin(settings, "agents"), agents, there);
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
    int from_file = paths || fplt__job_setting_wished(settings, "data");
    fplt_status status;
    *dataset = NULL;
    if (!from_file && !fplt__job_setting_wished(settings, "partition"))
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

fplt_status fplt__job_dataset(const fplt_settings *settings, uint32_t run, const char *const *paths,
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
    wanted.stretch = source->by_schema ? source->stretch : 0;
    wanted.radius = source->radius > 0 ? source->radius : fplt_settings_real(settings, "radius");
    wanted.formula = fplt__job_formula(settings);
    wanted.site_effects = has_site_effects(settings);
    /* the penalty of a column that hardly varies would otherwise curve far more than the losses */
    if (fplt__job_penalises_columns(settings) &&
        !fplt__job_setting_is(settings, "regulariser", "none"))
        wanted.ridge = fplt_settings_real(settings, "eps");
    return wanted;
}

/* Whether a process can take the rows of its own agents without those of others: they are drawn, or a
 * schema says what they are, and nothing is divided, held out or weighed by looking at all. */
static int is_apart(const fplt_settings *settings, const fplt_job_source *source)
{
    return source->ranks && !source->dataset && !fplt__job_setting_wished(settings, "partition") &&
           !(fplt__job_setting_wished(settings, "data") &&
             (!fplt__job_setting_wished(settings, "schema") ||
              fplt__job_setting_wished(settings, "agents"))) &&
           !(fplt_settings_real(settings, "holdout") > 0) && !fplt__job_formula(settings) &&
           !has_site_effects(settings) &&
           !fplt__job_setting_is(settings, "class-weight", "balanced");
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
        fplt__job_filling(settings, &wanted);
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
    fplt_read_settings read = fplt__job_read(settings);
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

/* Refuses rows that are all alike: a model of them would say nothing. */
static fplt_status check_variation(const fplt_dataset *training, fplt_error *error)
{
    fplt_rows all = fplt_dataset_all(training);
    for (size_t r = 1; all.dense && r < all.count; r++)
        if (memcmp(all.dense, all.dense + r * all.features, all.features * sizeof *all.dense) != 0)
            return FPLT_OK;
    if (!all.dense || all.count < 2)
        return FPLT_OK;
    const char *name = fplt_dataset_feature_name(training, 0);
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "every column is constant: '%.80s' and all others have the same value in "
                          "all %zu rows, so there is nothing to learn from; look at the file with "
                          "`fedplt data inspect`",
                          name ? name : "1", all.count);
}

fplt_status fplt__job_build_data(const fplt_settings *settings, uint32_t run,
                                 const fplt_job_source *source, fplt_dataset **training,
                                 fplt_dataset **held_out, fplt_transform *transform,
                                 fplt_error *error)
{
    *training = source->dataset;
    *held_out = NULL;
    *transform = (fplt_transform){0, NULL, NULL, 0};
    fplt_status status = FPLT_OK;
    if (is_apart(settings, source))
        status = fplt__job_setting_wished(settings, "data")
                     ? read_own(settings, source, training, error)
                     : generate_own(settings, run, source, training, error);
    else if (!*training)
        status = read_dataset(settings, run, NULL, 0, NULL, source->public_only, training, error);
    else if (!source->part)
        status = divide(settings, training, error);
    if (!status && !(*training)->census)
        status = fplt__dataset_drop_weightless(training, error);
    if (!status && !source->dataset && !source->public_only && !(*training)->census)
        status = check_variation(*training, error);
    if (!status && !source->part)
        status = hold_out(settings, training, held_out, error);
    if (!status)
        status = transform_both(settings, source, *training, *held_out, transform, error);
    if (!status && fplt__job_setting_is(settings, "class-weight", "balanced"))
        status = fplt__dataset_balance(*training, error);
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
