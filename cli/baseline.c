/* fedplt baseline: a federation beside each site alone and all rows pooled. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "fedplt/validate.h"
#include "progress.h"
#include "base/settings.h"
#include "base/text.h"
#include "job/job.h"
#include "report/report.h"

enum { MAX_METHODS = 20, MAX_ACROSS = 8 };

static const fplt_setting table[] = {
    {"algorithms", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "federated methods to compare, separated by commas; by default the one that train would take",
     0, 0},
    {"test-share", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "0.3", 0, 1, NULL,
     "share of every site's rows that is only measured", 0, 0},
    {"resamples", FPLT_INTEGER, 0, "200", 0, 100000, NULL,
     "of the held-out rows, for the intervals; 0: none", 0, 0},
    {"level", FPLT_REAL, FPLT_ABOVE | FPLT_BELOW, "0.95", 0, 1, NULL, "of the intervals", 0, 0},
    {"out", FPLT_TEXT, 0, NULL, 0, 0, NULL, "folder for baseline.csv and baseline.svg", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    {"quiet", FPLT_SWITCH, 0, "no", 0, 0, NULL, "show no progress", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt__setting_need needs[] = {
    {"algorithm", "!algorithms", NULL},
    {"holdout", NULL, "test-share says how many rows are held out"},
    {"t-gradient", "epochs=auto,algorithm=auto;epochs=auto,!algorithms", NULL},
    {"t-communication", "epochs=auto,algorithm=auto;epochs=auto,!algorithms", NULL},
    {NULL, NULL, NULL},
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status = fplt_settings_add(settings, "baseline", table, error);
    return status ? status : cli_declare_trainer(cli, settings, error);
}

/* What was given on the command line, with another algorithm. */
struct other {
    cli_call *cli;
    const char *algorithm;
};

static const char *peek_other(void *context, const char *name)
{
    const struct other *other = context;
    return strcmp(name, "algorithm") == 0 ? other->algorithm : cli_peek(other->cli, name);
}

static fplt_status settings_for(cli_call *cli, const char *algorithm, fplt_settings **made,
                                fplt_error *error)
{
    struct other other = {cli, algorithm};
    const fplt_setting *row;
    fplt_status status = fplt_settings_create(made, error);
    if (!status)
        status = fplt_trainer_declare(*made, 0, peek_other, &other, error);
    if (!status)
        status = fplt_settings_set(*made, "algorithm", algorithm, "--algorithms", error);
    for (size_t i = 0; !status && (row = fplt_settings_row(cli->settings, i, NULL)); i++)
        if (strcmp(row->name, "algorithm") != 0 && fplt__settings_find(*made, row->name) &&
            fplt_settings_given(cli->settings, row->name))
            status =
                fplt_settings_set(*made, row->name, fplt_settings_text(cli->settings, row->name),
                                  fplt__settings_origin(cli->settings, row->name), error);
    return status;
}

struct methods {
    fplt_settings *settings[MAX_METHODS]; /* owned but for the command's own */
    char name[MAX_METHODS][64];
    const char *names[MAX_METHODS];
    size_t count;
    int own; /* the settings are made here */
};

static fplt_status choose(cli_call *cli, struct methods *methods, fplt_error *error)
{
    const char *list = fplt_settings_text(cli->settings, "algorithms");
    if (!list) {
        methods->settings[0] = cli->settings;
        snprintf(methods->name[0], sizeof methods->name[0], "%s",
                 fplt_settings_text(cli->settings, "algorithm"));
        methods->names[0] = methods->name[0];
        methods->count = 1;
        return FPLT_OK;
    }
    methods->own = 1;
    while (*list) {
        if (methods->count == MAX_METHODS)
            return fplt_error_set(error, FPLT_BAD_VALUE, "more than %d algorithms", MAX_METHODS);
        size_t i = methods->count;
        list = fplt__list_next(list, methods->name[i], sizeof methods->name[i]);
        methods->names[i] = methods->name[i];
        fplt_status status = settings_for(cli, methods->name[i], &methods->settings[i], error);
        methods->count++;
        if (status)
            return status;
    }
    return FPLT_OK;
}

static const char *site_name(const fplt_dataset *dataset, uint32_t site, char *room, size_t size)
{
    const char *name =
        site < fplt_dataset_agents(dataset) ? fplt_dataset_agent_name(dataset, site) : "all";
    snprintf(room, size, "%u", site);
    return name ? name : room;
}

/* One line a method and site that was measured: for files, and for people where there are many sites. */
static fplt_status long_table(const fplt_baseline *made, const fplt_dataset *dataset,
                              fplt_table **out, fplt_error *error)
{
    const char *columns[] = {"method", "site", "rows", made->quality, "low", "high"};
    char room[16];
    fplt_status status = fplt__table_create(columns, 6, out, error);
    for (size_t m = 0; !status && m < made->methods; m++)
        for (uint32_t s = 0; s <= made->sites; s++) {
            const fplt_baseline_cell *cell = &made->cell[m * (made->sites + 1) + s];
            if (!cell->rows)
                continue;
            fplt__table_text(*out, made->name[m]);
            fplt__table_text(*out, site_name(dataset, s, room, sizeof room));
            fplt__table_whole(*out, (long long)cell->rows);
            fplt__table_number(*out, cell->quality, 4);
            fplt__table_number(*out, cell->low, 4);
            fplt__table_number(*out, cell->high, 4);
        }
    return status;
}

static fplt_status print_json(const cli_call *cli, const fplt_baseline *made,
                              const fplt_dataset *dataset, fplt_error *error)
{
    char room[16];
    json_t *results = json_array();
    for (size_t m = 0; m < made->methods; m++)
        for (uint32_t s = 0; s <= made->sites; s++) {
            const fplt_baseline_cell *cell = &made->cell[m * (made->sites + 1) + s];
            if (!cell->rows)
                continue;
            json_array_append_new(
                results,
                json_pack("{s:s, s:s?, s:I, s:o, s:o, s:o}", "method", made->name[m], "site",
                          s < made->sites ? site_name(dataset, s, room, sizeof room) : NULL, "rows",
                          (json_int_t)cell->rows, "value", cli_json_number(cell->quality), "low",
                          cli_json_number(cell->low), "high", cli_json_number(cell->high)));
        }
    return cli_print_json(
        json_pack("{s:s, s:f, s:I, s:f, s:o}", "quality", made->quality, "test_share",
                  fplt_settings_real(cli->settings, "test-share"), "resamples",
                  (json_int_t)fplt_settings_integer(cli->settings, "resamples"), "level",
                  fplt_settings_real(cli->settings, "level"), "results", results),
        error);
}

/* Methods down, sites across: for people. */
static fplt_status print_wide(const fplt_baseline *made, const fplt_dataset *dataset,
                              fplt_error *error)
{
    char(*names)[64] = calloc(made->sites + 2, sizeof *names);
    const char **columns = calloc(made->sites + 2, sizeof *columns);
    fplt_table *out = NULL;
    fplt_status status =
        names && columns ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a table");
    for (uint32_t s = 0; !status && s <= made->sites; s++) {
        char room[16];
        snprintf(names[s + 1], sizeof names[0], "%.40s", site_name(dataset, s, room, sizeof room));
        columns[s + 1] = names[s + 1];
    }
    if (!status) {
        snprintf(names[0], sizeof names[0], "held-out %s", made->quality);
        columns[0] = names[0];
        status = fplt__table_create(columns, made->sites + 2, &out, error);
    }
    for (size_t m = 0; !status && m < made->methods; m++) {
        fplt__table_text(out, made->name[m]);
        for (uint32_t s = 0; s <= made->sites; s++) {
            const fplt_baseline_cell *cell = &made->cell[m * (made->sites + 1) + s];
            char text[64];
            if (isnan(cell->quality))
                snprintf(text, sizeof text, "-");
            else if (isnan(cell->low))
                snprintf(text, sizeof text, "%.3f", cell->quality);
            else
                snprintf(text, sizeof text, "%.3f (%.3f to %.3f)", cell->quality, cell->low,
                         cell->high);
            fplt__table_text(out, text);
        }
    }
    if (!status)
        status = cli_print_table(out, error);
    fplt_table_destroy(out);
    free(names);
    free(columns);
    return status;
}

/* What a picture is drawn of: for each method as many places, values and limits as there are sites and one for all. */
struct picture {
    fplt__series *series;
    double *numbers; /* places, values, low, high of each method */
    char (*name)[64];
    const char **names;
};

static void fill_picture(const fplt_baseline *made, const fplt_dataset *dataset,
                         struct picture *picture)
{
    size_t across = made->sites + 1;
    for (size_t s = 0; s < across; s++) {
        char room[16];
        snprintf(picture->name[s], sizeof picture->name[s], "%.60s",
                 site_name(dataset, (uint32_t)s, room, sizeof room));
        picture->names[s] = picture->name[s];
    }
    for (size_t m = 0; m < made->methods; m++) {
        double *x = picture->numbers + 4 * m * across, *y = x + across, *low = y + across,
               *high = low + across;
        for (size_t s = 0; s < across; s++) { /* methods side by side */
            const fplt_baseline_cell *cell = &made->cell[m * across + s];
            x[s] = (double)s + 1 + 0.6 * (((double)m + 0.5) / (double)made->methods - 0.5);
            y[s] = cell->quality;
            low[s] = cell->low;
            high[s] = cell->high;
        }
        picture->series[m] = (fplt__series){made->name[m], x, y, across, low, high, 0};
    }
}

/* Points and intervals of every method, site by site. A missing renderer is no reason to fail. */
static fplt_status draw(const char *folder, const fplt_baseline *made, const fplt_dataset *dataset,
                        fplt_error *error)
{
    size_t across = made->sites + 1;
    struct picture picture = {calloc(made->methods, sizeof *picture.series),
                              calloc(4 * made->methods * across, sizeof *picture.numbers),
                              calloc(across, sizeof *picture.name),
                              calloc(across, sizeof *picture.names)};
    char path[4096];
    fplt_status status = FPLT_NO_MEMORY;
    if (picture.series && picture.numbers && picture.name && picture.names) {
        fill_picture(made, dataset, &picture);
        snprintf(path, sizeof path, "%s/baseline.svg", folder);
        fplt__plot plot = {.title = "each site alone, pooled, and federated",
                           .x_label = "site",
                           .y_label = made->quality,
                           .series = picture.series,
                           .count = made->methods,
                           .categories = picture.names,
                           .category_count = across};
        status = fplt__plot_write(&plot, path, error);
    } else
        fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a picture");
    free(picture.series);
    free(picture.numbers);
    free(picture.name);
    free(picture.names);
    if (status == FPLT_UNSUPPORTED) {
        cli_warn("%s", error->text);
        return FPLT_OK;
    }
    return status;
}

static fplt_status deliver(cli_call *cli, const fplt_baseline *made, const fplt_dataset *dataset,
                           fplt_error *error)
{
    const char *folder = fplt_settings_text(cli->settings, "out");
    fplt_table *rows;
    fplt_status status = long_table(made, dataset, &rows, error);
    if (status)
        return status;
    status = fplt_settings_switch(cli->settings, "json") ? print_json(cli, made, dataset, error)
             : made->sites > MAX_ACROSS                  ? cli_print_table(rows, error)
                                                         : print_wide(made, dataset, error);
    cli->running = 1;
    if (!status && folder) {
        mkdir(folder, 0777);
        if (!(status = cli_save_table(folder, "baseline.csv", rows, error)))
            status = draw(folder, made, dataset, error);
    }
    fplt_table_destroy(rows);
    return status;
}

static fplt_status compare(cli_call *cli, const struct methods *methods,
                           const fplt_dataset *dataset, fplt_error *error)
{
    cli_progress progress;
    fplt_baseline made;
    fplt_baseline_settings wanted = {
        .methods = methods->settings,
        .names = methods->names,
        .count = methods->count,
        .dataset = dataset,
        .holdout = fplt_settings_real(cli->settings, "test-share"),
        .resamples = (uint32_t)fplt_settings_integer(cli->settings, "resamples"),
        .level = fplt_settings_real(cli->settings, "level"),
        .seed = (uint64_t)fplt_settings_integer(cli->settings, "seed"),
        .watch = cli_progress_watch,
        .context = &progress,
    };
    cli_progress_begin(&progress, fplt_settings_switch(cli->settings, "quiet"));
    fplt_status status = fplt_baseline_run(&wanted, &made, error);
    cli_progress_end(&progress);
    if (!status && made.stopped) {
        cli_warn("interrupted; nothing is kept");
        cli->exit_status = 130;
    } else if (!status) {
        status = deliver(cli, &made, dataset, error);
    }
    if (!status)
        fplt_baseline_clear(&made);
    return status;
}

static fplt_status run_baseline(cli_call *cli, fplt_error *error)
{
    struct methods methods = {.count = 0};
    fplt_dataset *dataset = NULL;
    fplt_status status = choose(cli, &methods, error);
    if (!status && !(status = fplt__job_dataset(cli->settings, 0, NULL, 0, NULL, &dataset, error)))
        status = compare(cli, &methods, dataset, error);
    fplt_dataset_destroy(dataset);
    for (size_t i = 0; methods.own && i < methods.count; i++)
        fplt_settings_destroy(methods.settings[i]);
    return status;
}

const cli_command cli_baseline[] = {
    {.name = "baseline",
     .summary = "the federation beside each site alone and all rows pooled",
     .arguments = "[FILE]",
     .about =
         "Holds out a share of every site's rows, trains each site alone, all rows in one place, "
         "and the federation (by any algorithms), and measures every model on the held-out rows of "
         "every site: AUC with two classes, accuracy with more, RMSE or concordance. Intervals are "
         "percentiles over resamples of the held-out rows, the same for all methods. With more "
         "than 8 "
         "sites the table has one line a method and site; with more than 20 the model of a site "
         "alone is measured at that site, and over all rows without an interval.",
     .examples = "fedplt baseline --data hospitals.csv\n"
                 "fedplt baseline --data hospitals.csv --algorithms fed-plt,fedavg --out baseline",
     .least = 0,
     .most = 1,
     .config = 1,
     .declare = declare,
     .needs = needs,
     .run = run_baseline},
    {.name = NULL},
};
