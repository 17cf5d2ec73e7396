/* fedplt data: make, look at and convert data sets. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "fedplt/schema.h"
#include "base/file.h"
#include "base/settings.h"
#include "data/dataset_access.h"
#include "data/schema_access.h"
#include "job/job.h"
#include "report/report.h"

static const fplt_setting json_table[] = {
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    {"show", FPLT_INTEGER, 0, "20", 0, 4294967295.0, NULL, "agents and features shown at most", 0,
     0},
    FPLT_SETTINGS_END,
};

static const fplt_setting format_table[] = {
    {"to", FPLT_CHOICE, 0, "auto", 0, 0, "auto|csv|libsvm|npy|fplt",
     "format to write; auto: by the name of the file", 0, 0},
    {"force", FPLT_SWITCH, 0, "no", 0, 0, NULL, "replace a file that is there", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_generate(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_job_declare(settings, FPLT_JOB_GENERATE, NULL, error);
    return status ? status : fplt_settings_add(settings, "output", format_table, error);
}

/* The files are arguments here; what needs data has them. */
static fplt_status declare_reading(const cli_call *cli, unsigned parts, fplt_settings *settings,
                                   fplt_error *error)
{
    fplt_status status = fplt_job_declare(settings, FPLT_JOB_READ | parts, NULL, error);
    if (status || !cli->argument_count)
        return status;
    return fplt__settings_prefer(settings, "data", cli->arguments[0], "the arguments", error);
}

static fplt_status refuse_flag(const cli_call *cli, fplt_error *error)
{
    if (!fplt_settings_given(cli->settings, "data") || cli->config)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "--data: fedplt %s takes its files without a flag: fedplt %s %s",
                          cli->command->name, cli->command->name, cli->command->arguments);
}

static fplt_status declare_inspect(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = cli->config ? cli_command_find("train")->declare(cli, settings, error)
                                     : declare_reading(cli, FPLT_JOB_DIVIDE, settings, error);
    return status ? status : fplt_settings_add(settings, "output", json_table, error);
}

static fplt_status declare_convert(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = declare_reading(cli, FPLT_JOB_DIVIDE, settings, error);
    return status ? status : fplt_settings_add(settings, "output", format_table, error);
}

static const fplt_setting draft_table[] = {
    {"out", FPLT_TEXT, 0, NULL, 0, 0, NULL, "file to write; by default, or for -, standard output",
     0, 0},
    FPLT_SETTINGS_END,
};

/* What a draft goes by. */
static const fplt_setting drafting_table[] = {
    {"format", FPLT_CHOICE, 0, "auto", 0, 0, "auto|csv|libsvm",
     "format of the file; auto: by its name, then its content", 0, 0},
    {"label", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column of the label, name or number from 1; by default `label`", 0, 0},
    {"site", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column that says which agent has the row; by default `site` if there; or none", 0, 0},
    {"ignore", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "columns that are not to be looked at", 0,
     0},
    {"id", FPLT_TEXT, 0, NULL, 0, 0, NULL, "column that names the rows", 0, 0},
    {"separator", FPLT_CHOICE, 0, "auto", 0, 0, "auto|comma|tab|semicolon",
     "between the fields of a CSV file; auto: the first of them that is in its first line", 0, 0},
    {"header", FPLT_SWITCH, 0, "yes", 0, 0, NULL, "the first line of a CSV file names the columns",
     0, 0},
    {"features", FPLT_INTEGER, 0, NULL, 1, 4294967295.0, NULL,
     "number of features, where a LIBSVM file shows fewer", 0, 0},
    {"largest-file", FPLT_REAL, FPLT_ABOVE, NULL, 0, 1048576, NULL,
     "GiB that a file may have; by default 1024, and 1 where it has no size (a pipe)", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare_draft(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    fplt_status status = fplt_settings_add(settings, "output", draft_table, error);
    return status ? status : fplt_settings_add(settings, "data", drafting_table, error);
}

static fplt_status draft(cli_call *cli, fplt_error *error)
{
    fplt_read_settings read = fplt_read_defaults();
    const char *path = cli_out(cli);
    char *text;
    read.format = fplt_settings_text(cli->settings, "format");
    read.label = fplt_settings_text(cli->settings, "label");
    read.site = fplt_settings_text(cli->settings, "site");
    read.ignore = fplt_settings_text(cli->settings, "ignore");
    read.id = fplt_settings_text(cli->settings, "id");
    read.separator = fplt_settings_text(cli->settings, "separator");
    read.no_header = !fplt_settings_switch(cli->settings, "header");
    read.features = (size_t)fplt_settings_integer(cli->settings, "features");
    if (fplt_settings_given(cli->settings, "largest-file"))
        read.largest = (size_t)(fplt_settings_real(cli->settings, "largest-file") * 1073741824.0);
    fplt_status status = path ? cli_protect(cli, path, error) : FPLT_OK;
    if (status)
        return status;
    status = fplt__schema_draft(cli->arguments, cli->argument_count, &read, &text, error);
    if (status)
        return status;
    cli->running = 1;
    if (path)
        status = fplt__file_save(path, 0666, text, strlen(text), error);
    else
        fputs(text, stdout);
    fplt_free(text);
    return status;
}

static fplt_status write(cli_call *cli, const fplt_dataset *dataset, const char *path,
                         fplt_error *error)
{
    const char *format = fplt_settings_text(cli->settings, "to");
    cli->running = 1;
    return fplt_dataset_write(dataset, path, strcmp(format, "auto") == 0 ? NULL : format, error);
}

/* Data are not made again as easily as they are replaced. */
static fplt_status check_free(const cli_call *cli, const char *path, fplt_error *error)
{
    struct stat about;
    fplt_status status = cli_protect(cli, path, error);
    if (status || stat(path, &about) || !S_ISREG(about.st_mode) ||
        fplt_settings_switch(cli->settings, "force"))
        return status;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: this file is there already; --force replaces it", path);
}

static void print_size(const char *path, const fplt_dataset *dataset)
{
    size_t rows = fplt_dataset_rows(dataset), features = fplt_dataset_features(dataset);
    uint32_t agents = fplt_dataset_agents(dataset);
    printf("%s: %zu row%s, %zu feature%s, %u agent%s\n", path, rows, cli_plural(rows), features,
           cli_plural(features), agents, cli_plural(agents));
}

static fplt_status generate(cli_call *cli, fplt_error *error)
{
    fplt_dataset *dataset;
    fplt_status status = check_free(cli, cli->arguments[0], error);
    if (status)
        return status;
    status = fplt__job_dataset(cli->settings, 0, NULL, 0, NULL, &dataset, error);
    if (status)
        return status;
    status = write(cli, dataset, cli->arguments[0], error);
    if (!status)
        print_size(cli->arguments[0], dataset);
    fplt_dataset_destroy(dataset);
    return status;
}

/* The files that are given, missing values filled as the settings say. */
static fplt_status read_whole(const cli_call *cli, size_t count, fplt_dataset **dataset,
                              fplt_error *error)
{
    fplt_transform_settings settings = fplt_transform_defaults();
    fplt_transform transform;
    fplt_status status = fplt__job_dataset(cli->settings, 0, cli->config ? NULL : cli->arguments,
                                           cli->config ? 0 : count, NULL, dataset, error);
    if (status)
        return status;
    fplt__job_filling(cli->settings, &settings);
    if (!(status = fplt_transform_fit(*dataset, &settings, &transform, error)))
        status = fplt_transform_apply(&transform, *dataset, error);
    fplt_transform_clear(&transform);
    if (status)
        fplt_dataset_destroy(*dataset);
    return status;
}

static fplt_status convert(cli_call *cli, fplt_error *error)
{
    size_t inputs = cli->argument_count - 1;
    fplt_dataset *dataset;
    fplt_status status = refuse_flag(cli, error);
    if (!status)
        status = check_free(cli, cli->arguments[inputs], error);
    if (status)
        return status;
    status = read_whole(cli, inputs, &dataset, error);
    if (status)
        return status;
    status = write(cli, dataset, cli->arguments[inputs], error);
    if (!status)
        print_size(cli->arguments[inputs], dataset);
    fplt_dataset_destroy(dataset);
    return status;
}

/* Mean, deviation, least and largest of a column; zeros of CSR rows count. */
struct column {
    double mean, deviation, least, most;
    size_t seen;
};

static void add_value(struct column *column, double value)
{
    column->seen++;
    double off = value - column->mean;
    column->mean += off / (double)column->seen;
    column->deviation += off * (value - column->mean);
    column->least = fmin(column->least, value);
    column->most = fmax(column->most, value);
}

static void see_rows(const fplt_rows *rows, struct column *columns, size_t count)
{
    for (size_t j = 0; j < count; j++)
        columns[j] = (struct column){0, 0, HUGE_VAL, -HUGE_VAL, 0};
    for (size_t r = 0; r < rows->count; r++) {
        if (rows->dense)
            for (size_t j = 0; j < count; j++)
                add_value(&columns[j], rows->dense[r * rows->features + j]);
        else
            for (size_t k = rows->start[r]; k < rows->start[r + 1]; k++)
                if (rows->column[k] < count)
                    add_value(&columns[rows->column[k]], rows->value[k]);
    }
    /* Welford's sums of what was stored, joined with those of the zeros that were not. */
    for (size_t j = 0; j < count; j++) {
        struct column *c = &columns[j];
        double zeros = (double)(rows->count - c->seen), seen = (double)c->seen;
        double all = (double)rows->count, mean = c->mean;
        if (zeros > 0) {
            c->least = fmin(c->least, 0);
            c->most = fmax(c->most, 0);
            c->deviation += mean * mean * seen * zeros / all;
            c->mean = mean * seen / all;
        }
        c->deviation = sqrt(c->deviation / all);
    }
}

static fplt_status features_table(const fplt_dataset *dataset, size_t most, fplt_table **out,
                                  fplt_error *error)
{
    static const char *const names[] = {"feature", "mean", "deviation", "least", "largest"};
    fplt_rows rows = fplt_dataset_all(dataset);
    size_t count = rows.features < most ? rows.features : most;
    struct column *columns;
    fplt_status status = cli_alloc(&columns, count, sizeof *columns, "columns", error);
    if (status)
        return status;
    if (!(status = fplt__table_create(names, 5, out, error))) {
        see_rows(&rows, columns, count);
        for (size_t j = 0; j < count; j++) {
            char number[24];
            const char *name = fplt_dataset_feature_name(dataset, j);
            snprintf(number, sizeof number, "%zu", j + 1);
            fplt__table_text(*out, name ? name : number);
            fplt__table_number(*out, columns[j].mean, 4);
            fplt__table_number(*out, columns[j].deviation, 4);
            fplt__table_number(*out, columns[j].least, 4);
            fplt__table_number(*out, columns[j].most, 4);
        }
    }
    free(columns);
    return status;
}

static double mean_label(const fplt_rows *rows)
{
    double sum = 0;
    for (size_t i = 0; i < rows->count; i++)
        sum += rows->label[i];
    return sum / (double)rows->count;
}

static fplt_status agents_table(const fplt_dataset *dataset, size_t most, fplt_table **out,
                                fplt_error *error)
{
    int binary = fplt_dataset_task(dataset) == FPLT_TASK_BINARY;
    const char *const names[] = {"agent", "rows", binary ? "share of +1" : "mean label"};
    uint32_t agents = fplt_dataset_agents(dataset);
    fplt_status status = fplt__table_create(names, 3, out, error);
    for (uint32_t i = 0; !status && i < agents && i < most; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        const char *name = fplt_dataset_agent_name(dataset, i);
        char number[16];
        snprintf(number, sizeof number, "%u", i);
        fplt__table_text(*out, name ? name : number);
        fplt__table_whole(*out, (long long)rows.count);
        fplt__table_number(*out, binary ? (mean_label(&rows) + 1) / 2 : mean_label(&rows), 4);
    }
    return status;
}

/* Rows of every class among these; null where there are no classes. */
static json_t *class_rows(const fplt_dataset *dataset, const fplt_rows *rows)
{
    uint32_t classes =
        fplt__task_classifies(fplt_dataset_task(dataset)) ? fplt_dataset_outputs(dataset) : 0;
    int binary = fplt_dataset_task(dataset) == FPLT_TASK_BINARY;
    json_t *made = classes ? json_array() : json_null();
    for (uint32_t k = 0; k < classes; k++) {
        json_int_t count = 0;
        for (size_t i = 0; i < rows->count; i++)
            count += binary ? (rows->label[i] > 0) == (k == 1) : rows->label[i] == k;
        json_array_append_new(made, json_integer(count));
    }
    return made;
}

static json_t *agents_json(const fplt_dataset *dataset, size_t most)
{
    json_t *made = json_array();
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset) && i < most; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        json_array_append_new(made, json_pack("{s:I, s:s?, s:I, s:o, s:o}", "agent", (json_int_t)i,
                                              "site", fplt_dataset_agent_name(dataset, i), "rows",
                                              (json_int_t)rows.count, "mean_label",
                                              cli_json_number(mean_label(&rows)), "class_rows",
                                              class_rows(dataset, &rows)));
    }
    return made;
}

static json_t *classes_json(const fplt_dataset *dataset, const fplt__description *d)
{
    json_t *made = json_array();
    for (uint32_t k = 0; fplt__task_classifies(d->task) && k < d->outputs; k++)
        json_array_append_new(made,
                              json_pack("{s:s?, s:I}", "class", fplt_dataset_class_name(dataset, k),
                                        "rows", (json_int_t)fplt__dataset_class_rows(dataset, k)));
    return made;
}

/* Where there are more agents or features than are shown, the arrays are shorter than the counts. */
static fplt_status print_json(const fplt_dataset *dataset, const fplt_table *features, size_t most,
                              fplt_error *error)
{
    fplt__description d = fplt__dataset_describe(dataset);
    return cli_print_json(
        json_pack(
            "{s:I, s:I, s:I, s:s, s:I, s:b, s:b, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
            "rows", (json_int_t)d.rows, "features", (json_int_t)d.features, "agents",
            (json_int_t)d.agents, "task", fplt_task_name(d.task), "outputs", (json_int_t)d.outputs,
            "sparse", d.sparse, "mapped", fplt__dataset_is_mapped(dataset), "nonzeros",
            (json_int_t)d.nonzeros, "fewest_rows", (json_int_t)d.fewest_rows, "most_rows",
            (json_int_t)d.most_rows, "largest_norm", cli_json_number(d.largest_norm),
            "lowest_label", cli_json_number(d.lowest_label), "highest_label",
            cli_json_number(d.highest_label), "classes", classes_json(dataset, &d), "agent_table",
            agents_json(dataset, most), "feature_table", cli_json_table(features)),
        error);
}

static fplt_status print_description(const fplt_dataset *dataset, const fplt_table *agents,
                                     const fplt_table *features, fplt_error *error)
{
    fplt__description d = fplt__dataset_describe(dataset);
    if (fplt__dataset_is_mapped(dataset))
        printf("fplt, mapped%s\n", fplt__dataset_schema(dataset) ? ", with a schema" : "");
    printf("%zu row%s, %zu feature%s, %u agent%s (%zu to %zu rows)\n", d.rows, cli_plural(d.rows),
           d.features, cli_plural(d.features), d.agents, cli_plural(d.agents), d.fewest_rows,
           d.most_rows);
    printf("task %s, labels %g to %g, %s (%.3g %% of the numbers are not 0)\n",
           fplt_task_name(d.task), d.lowest_label, d.highest_label, d.sparse ? "sparse" : "dense",
           100 * (double)d.nonzeros / ((double)d.rows * (double)d.features));
    printf("largest norm of a row %.6g\n", d.largest_norm);
    for (uint32_t k = 0; fplt__task_classifies(d.task) && k < d.outputs && k < 20; k++) {
        const char *name = fplt_dataset_class_name(dataset, k);
        printf("class %u%s%s: %zu rows\n", k, name ? " = " : "", name ? name : "",
               fplt__dataset_class_rows(dataset, k));
    }
    puts("");
    fplt_status status = cli_print_table(agents, error);
    if (!status && fplt__table_rows(agents) < d.agents)
        printf("... and %zu more\n", d.agents - fplt__table_rows(agents));
    puts("");
    if (!status)
        status = cli_print_table(features, error);
    if (!status && fplt__table_rows(features) < d.features)
        printf("... and %zu more\n", d.features - fplt__table_rows(features));
    return status;
}

static fplt_status describe(const cli_call *cli, const fplt_dataset *dataset, fplt_error *error)
{
    size_t most = (size_t)fplt_settings_integer(cli->settings, "show");
    fplt_table *agents = NULL, *features = NULL;
    fplt_status status;
    if (!(status = agents_table(dataset, most, &agents, error)) &&
        !(status = features_table(dataset, most, &features, error)))
        status = fplt_settings_switch(cli->settings, "json")
                     ? print_json(dataset, features, most, error)
                     : print_description(dataset, agents, features, error);
    fplt_table_destroy(agents);
    fplt_table_destroy(features);
    return status;
}

/* What the columns hold is printed also where the rows cannot be trained on. */
static fplt_status inspect(cli_call *cli, fplt_error *error)
{
    fplt_dataset *dataset = NULL;
    fplt_status status = refuse_flag(cli, error), surveyed;
    if (status)
        return status;
    if (!(status = read_whole(cli, cli->argument_count, &dataset, error))) {
        status = describe(cli, dataset, error);
        fplt_dataset_destroy(dataset);
    }
    if (fplt_settings_switch(cli->settings, "json"))
        return status;
    surveyed = cli_print_survey(cli, NULL);
    return status == FPLT_OK && surveyed == FPLT_NO_MEMORY
               ? fplt_error_set(error, surveyed, "no memory for a table")
               : status;
}

const cli_command cli_data[] = {
    {.name = "data generate",
     .summary = "write a synthetic data set",
     .arguments = "FILE",
     .about = "Writes generated data to a file; its name ends in .csv (with the sites), .fplt, "
              ".libsvm or .npy. By default the paper's: 100 agents, 5 features, 250 rows each.",
     .examples = "fedplt data generate paper.csv\n"
                 "fedplt data generate many.libsvm --generator planted --agents 20 --features 1000",
     .least = 1,
     .most = 1,
     .declare = declare_generate,
     .run = generate},
    {.name = "data inspect",
     .summary = "rows, columns, sites, missing values and likely mistakes of data files",
     .arguments = "FILE...",
     .config_by_name = 1,
     .about =
         "Reads data as `fedplt train` would and says what is in it. Several files are one agent "
         "each. Of CSV files without a schema follows what every column holds at every site: rows, "
         "missing values, numbers with mean, deviation and quantiles, words with their counts, and "
         "likely mistakes with the setting that helps; also where training would refuse the file. "
         "Takes the YAML file of a training as well.",
     .examples = "fedplt data inspect hospitals.csv\n"
                 "fedplt data inspect a9a --partition skewed --agents 100 --json",
     .least = 1,
     .most = 1000000,
     .declare = declare_inspect,
     .run = inspect},
    {.name = "data convert",
     .summary = "turn data files into another format",
     .arguments = "FILE... TO",
     .about =
         "Reads data and writes them to the last file. Numbers keep every bit. LIBSVM and NPY do "
         "not hold sites and names; labels are written as the program has them (-1 and +1, or 0, "
         "1, ...). A file .fplt holds all that the program knows of the data (sites, names, ids, "
         "weights, the schema) and opens at once: it is mapped into memory, and training on it "
         "gives "
         "the bits of training on the file it was made of.",
     .examples = "fedplt data convert a9a a9a.csv --agents 100\n"
                 "fedplt data convert hospitals.csv hospitals.fplt\n"
                 "fedplt data convert north.csv south.csv all.csv",
     .least = 2,
     .most = 1000000,
     .declare = declare_convert,
     .run = convert},
    {.name = "data schema",
     .summary = "draft a schema: types, bounds, levels and classes of the columns",
     .arguments = "FILE...",
     .about =
         "Looks at files that may be looked at (a sample made public, data of your own) and "
         "writes a schema in YAML, to be read over and then given to --schema of train, evaluate, "
         "predict, data inspect and data convert. A promise of privacy needs one: with it nothing "
         "that shapes a model is read from the records. Bounds in the draft come from the data; "
         "replace them by what is known without the data before private training.",
     .examples = "fedplt data schema hospitals.csv > hospitals.schema.yaml\n"
                 "fedplt train --data hospitals.csv --schema hospitals.schema.yaml "
                 "--privacy.epsilon 2",
     .least = 1,
     .most = 1000000,
     .declare = declare_draft,
     .run = draft},
    {.name = NULL},
};
