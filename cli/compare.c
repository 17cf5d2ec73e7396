/* fedplt compare: algorithms side by side on one problem. */
#include "fedplt/compare.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"
#include "base/text.h"
#include "report/report.h"

enum { MAX_ALGORITHMS = 32 };

static const fplt_setting algorithms_table[] = {
    {"algorithms", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "which to compare, separated by commas; by default all there are", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting compare_table[] = {
    {"runs", FPLT_INTEGER, 0, "20", 1, 1000000, NULL,
     "Monte Carlo runs: generated data are drawn anew for each, files stay and keys change", 0, 0},
    {"tune", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "first search each method's parameters and gamma, on other keys than it is judged by", 0, 0},
    {"points", FPLT_INTEGER, 0, "25", 1, 100000, NULL,
     "points of a search, the same for every method", 0, 0, .needs = "tune=yes"},
    FPLT_SETTINGS_END,
};

static const fplt_setting output_table[] = {
    {"out", FPLT_TEXT, 0, "fedplt-compare", 0, 0, NULL, "folder for the files", 0, 0},
    {"pictures", FPLT_SWITCH, 0, "yes", 0, 0, NULL,
     "draw the median curves over rounds, gradients, vectors and time (SVG and PNG)", 0, 0},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document instead of the table", 0, 0,
     .needs = "quiet=no"},
    {"quiet", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print nothing", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    fplt_status status;
    if ((status = fplt_settings_add(settings, "algorithms", algorithms_table, error)) ||
        (status = fplt_compare_declare(settings, error)) ||
        (status = cli_prefer(cli, settings, error)) ||
        (status = fplt_settings_add(settings, "comparison", compare_table, error)))
        return status;
    return fplt_settings_add(settings, "output", output_table, error);
}

/* What to compare */

static const char *algorithm_name(size_t index, const char **help)
{
    const fplt_algorithm *algorithm = fplt_algorithm_list(index);
    if (algorithm && help)
        *help = algorithm->title;
    return algorithm ? algorithm->name : NULL;
}

static fplt_status read_algorithms(const char *list, const fplt_algorithm **algorithms,
                                   size_t *count, fplt_error *error)
{
    char name[64];
    *count = 0;
    while (*list) {
        list = fplt__list_next(list, name, sizeof name);
        const fplt_algorithm *algorithm = fplt_algorithm_find(name);
        if (!algorithm)
            return fplt__unknown_name("algorithm", name, algorithm_name, error);
        for (size_t i = 0; i < *count; i++)
            if (algorithms[i] == algorithm)
                return fplt_error_set(error, FPLT_BAD_VALUE,
                                      "--algorithms names %s twice; leave one out", name);
        if (*count == MAX_ALGORITHMS)
            return fplt_error_set(error, FPLT_BAD_VALUE, "--algorithms has more than %d names",
                                  MAX_ALGORITHMS);
        algorithms[(*count)++] = algorithm;
    }
    return FPLT_OK;
}

/* Remembers whether it is new, so that a failure leaves nothing behind. */
static fplt_status make_folder(const char *path, int *is_new, fplt_error *error)
{
    struct stat found;
    *is_new = mkdir(path, 0777) == 0;
    if (*is_new || (stat(path, &found) == 0 && S_ISDIR(found.st_mode)))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_IO, "%s: cannot make this folder: %s", path,
                          strerror(errno == EEXIST ? ENOTDIR : errno));
}

/* Tables */

static void add_spread(fplt_table *table, const fplt_spread *spread)
{
    char low[32], median[32], high[32], text[128];
    cli_brief(spread->median, median, sizeof median);
    cli_brief(spread->low, low, sizeof low);
    cli_brief(spread->high, high, sizeof high);
    if (strcmp(low, median) == 0 && strcmp(high, median) == 0)
        snprintf(text, sizeof text, "%s", median);
    else
        snprintf(text, sizeof text, "%s (%s, %s)", median, low, isinf(spread->high) ? "-" : high);
    fplt__table_text(table, text);
}

/* How many runs did not arrive, and how they ended. */
static void say_failed(const fplt_compared *method, char *text, size_t room)
{
    size_t used = 0;
    if (method->failures)
        used = (size_t)snprintf(text, room, "%u of %u", method->failures, method->runs);
    if (method->diverged)
        used += (size_t)snprintf(text + used, room - used, ", %u diverged", method->diverged);
    if (method->stalled)
        snprintf(text + used, room - used, ", %u stalled", method->stalled);
}

static fplt_status make_summary(const fplt_comparison *comparison, fplt_table **table,
                                fplt_error *error)
{
    static const char *const columns[] = {"algorithm", "rounds",       "gradients",
                                          "vectors",   "paper's time", "failed"};
    fplt_status status = fplt__table_create(columns, 6, table, error);
    for (size_t i = 0; !status && i < fplt_comparison_count(comparison); i++) {
        const fplt_compared *method = fplt_comparison_get(comparison, i);
        char failed[96] = "";
        if (method->refusal)
            continue;
        say_failed(method, failed, sizeof failed);
        fplt__table_text(*table, method->algorithm->title);
        add_spread(*table, &method->rounds);
        add_spread(*table, &method->gradients);
        add_spread(*table, &method->vectors);
        add_spread(*table, &method->paper_time);
        fplt__table_text(*table, failed);
    }
    return status;
}

static void add_numbers(fplt_table *table, const fplt_spread *spread)
{
    const double numbers[] = {spread->low, spread->median, spread->high};
    for (size_t i = 0; i < 3; i++)
        fplt__table_number(table, isinf(numbers[i]) ? NAN : numbers[i], 17);
}

static fplt_status make_results(const fplt_comparison *comparison, fplt_table **table,
                                fplt_error *error)
{
    static const char *const columns[] = {"algorithm",       "runs",           "failures",
                                          "diverged",        "rounds_low",     "rounds_median",
                                          "rounds_high",     "gradients_low",  "gradients_median",
                                          "gradients_high",  "vectors_low",    "vectors_median",
                                          "vectors_high",    "time_low",       "time_median",
                                          "time_high",       "paper_time_low", "paper_time_median",
                                          "paper_time_high", "refusal"};
    fplt_status status =
        fplt__table_create(columns, sizeof columns / sizeof *columns, table, error);
    for (size_t i = 0; !status && i < fplt_comparison_count(comparison); i++) {
        const fplt_compared *method = fplt_comparison_get(comparison, i);
        const fplt_spread none = {NAN, NAN, NAN};
        fplt__table_text(*table, method->algorithm->name);
        fplt__table_whole(*table, method->refusal ? 0 : method->runs);
        fplt__table_whole(*table, method->failures);
        fplt__table_whole(*table, method->diverged);
        const fplt_spread *spreads[] = {&method->rounds, &method->gradients, &method->vectors,
                                        &method->time, &method->paper_time};
        for (size_t s = 0; s < 5; s++)
            add_numbers(*table, method->refusal ? &none : spreads[s]);
        fplt__table_text(*table, method->refusal);
    }
    return status;
}

static fplt_status make_curves(const fplt_comparison *comparison, fplt_table **table,
                               fplt_error *error)
{
    static const char *const columns[] = {"algorithm", "round",      "gradients",
                                          "vectors",   "paper_time", "criterion"};
    fplt_status status = fplt__table_create(columns, 6, table, error);
    for (size_t i = 0; !status && i < fplt_comparison_count(comparison); i++) {
        const fplt_compared *method = fplt_comparison_get(comparison, i);
        const fplt_curve *curve = &method->curve;
        for (size_t k = 0; k < curve->count; k++) {
            fplt__table_text(*table, method->algorithm->name);
            fplt__table_number(*table, curve->round[k], 17);
            fplt__table_number(*table, curve->gradients[k], 17);
            fplt__table_number(*table, curve->vectors[k], 17);
            fplt__table_number(*table, curve->paper_time[k], 17);
            fplt__table_number(*table, curve->criterion[k], 17);
        }
    }
    return status;
}

/* Files */

/* A logarithmic axis where one method needs many times as much as another. */
static int spans_decades(const fplt__series *series, size_t count)
{
    double least = HUGE_VAL, most = 0;
    for (size_t i = 0; i < count; i++) {
        double last = series[i].x[series[i].count - 1];
        least = fmin(least, last);
        most = fmax(most, last);
    }
    return most > 20 * least;
}

static fplt_status draw(const fplt_comparison *comparison, const char *folder, size_t axis,
                        const char *kind, fplt_error *error)
{
    static const struct {
        const char *file, *label;
    } axes[] = {{"rounds", "rounds"},
                {"gradients", "gradient evaluations of all agents"},
                {"vectors", "vectors sent, both ways"},
                {"time", "the paper's time: t_G a gradient, t_C a round trip"}};
    fplt__series series[MAX_ALGORITHMS];
    char path[4096];
    size_t count = 0;
    for (size_t i = 0; i < fplt_comparison_count(comparison) && count < MAX_ALGORITHMS; i++) {
        const fplt_compared *method = fplt_comparison_get(comparison, i);
        const fplt_curve *curve = &method->curve;
        const double *x[] = {curve->round, curve->gradients, curve->vectors, curve->paper_time};
        if (curve->count)
            series[count++] =
                (fplt__series){method->algorithm->title, x[axis], curve->criterion, curve->count};
    }
    fplt__plot plot = {.title = "Median criterion over the runs",
                       .x_label = axes[axis].label,
                       .y_label = "criterion",
                       .log_x = spans_decades(series, count),
                       .log_y = 1,
                       .target = fplt_comparison_target(comparison),
                       .target_label = "tolerance",
                       .series = series,
                       .count = count};
    snprintf(path, sizeof path, "%s/%s.%s", folder, axes[axis].file, kind);
    return fplt__plot_write(&plot, path, error);
}

/* A picture that cannot be drawn is no reason to lose the rest; a full disc is. */
static fplt_status draw_all(const fplt_comparison *comparison, const char *folder, int *drawn,
                            fplt_error *error)
{
    static const char *const kinds[] = {"svg", "png"};
    for (size_t axis = 0; axis < 4; axis++)
        for (size_t k = 0; k < 2; k++) {
            fplt_status status = draw(comparison, folder, axis, kinds[k], error);
            if (status == FPLT_IO || status == FPLT_NO_MEMORY)
                return status;
            if (status) {
                cli_warn("%s", error->text);
                return FPLT_OK;
            }
        }
    *drawn = 1;
    return FPLT_OK;
}

static fplt_status write_files(cli_call *cli, const fplt_comparison *comparison, int *drawn,
                               fplt_error *error)
{
    const char *folder = fplt_settings_text(cli->settings, "out");
    fplt_table *results = NULL, *curves = NULL;
    fplt_status status;
    if (!(status = make_results(comparison, &results, error)) &&
        !(status = cli_save_table(folder, "results.csv", results, error)) &&
        !(status = make_curves(comparison, &curves, error)))
        status = cli_save_table(folder, "curves.csv", curves, error);
    fplt_table_destroy(results);
    fplt_table_destroy(curves);
    if (status || !fplt_settings_switch(cli->settings, "pictures"))
        return status;
    return draw_all(comparison, folder, drawn, error);
}

/* Printing */

static void write_parameters(const fplt_compared *method, cli_text *out)
{
    const fplt_setting *rows = method->algorithm->settings;
    cli_text_format(out, "  %-18s", method->algorithm->title);
    for (size_t i = 0; rows[i].name; i++)
        if (rows[i].search_high > 0)
            cli_text_format(out, "%s %.4g, ", rows[i].name, method->parameter[i]);
    if (method->step > 0)
        cli_text_format(out, "gamma %.4g", method->step);
    else
        cli_text_add(out, "gamma auto");
    cli_text_format(out, "  (%u points, %u run%s each)\n", method->points, method->tuning_runs,
                    method->tuning_runs == 1 ? "" : "s");
}

static void write_rest(cli_call *cli, const fplt_comparison *comparison, int drawn, double seconds,
                       cli_text *out)
{
    size_t refused = 0, tuned = 0, stalled = 0;
    for (size_t i = 0; i < fplt_comparison_count(comparison); i++) {
        const fplt_compared *method = fplt_comparison_get(comparison, i);
        stalled += method->stalled;
        if (!method->points)
            continue;
        if (!tuned++)
            cli_text_add(out, "\ntuned parameters, on the data of the first run\n");
        write_parameters(method, out);
    }
    if (stalled)
        cli_text_add(out,
                     "\nstalled: given up, because twice its pace would not bring the run to the "
                     "criterion in its rounds\n");
    for (size_t i = 0; i < fplt_comparison_count(comparison); i++) {
        const fplt_compared *method = fplt_comparison_get(comparison, i);
        if (!method->refusal)
            continue;
        if (!refused++)
            cli_text_add(out, "\nnot compared\n");
        cli_text_add(out, "  ");
        cli_wrap(out, method->refusal, 2, 4, 100);
        cli_text_add(out, "\n");
    }
    cli_write_defaults(cli->settings, out);
    cli_text_format(out, "\nfiles in %s (%.1f s)\n  results.csv, curves.csv%s\n",
                    fplt_settings_text(cli->settings, "out"), seconds,
                    drawn ? ", rounds, gradients, vectors, time (.svg, .png)" : "");
}

static fplt_status print(cli_call *cli, const fplt_comparison *comparison, int drawn,
                         double seconds, fplt_error *error)
{
    cli_text out = {NULL, 0, NULL};
    fplt_table *table = NULL;
    long long runs = fplt_settings_integer(cli->settings, "runs");
    fplt_status status = make_summary(comparison, &table, error);
    if (!status) {
        printf("To criterion %.3g, %lld run%s%s\n\n", fplt_comparison_target(comparison), runs,
               runs == 1 ? "" : "s", runs == 1 ? "" : ": median (quartiles)");
        status = cli_print_table(table, error);
    }
    fplt_table_destroy(table);
    if (status)
        return status;
    write_rest(cli, comparison, drawn, seconds, &out);
    cli_print_text(&out);
    return FPLT_OK;
}

static json_t *spread_json(const fplt_spread *spread)
{
    return json_pack("[o, o, o]", cli_json_number(spread->low), cli_json_number(spread->median),
                     cli_json_number(spread->high));
}

static json_t *method_json(const fplt_compared *method)
{
    const fplt_setting *rows = method->algorithm->settings;
    if (method->refusal)
        return json_pack("{s:s, s:s}", "algorithm", method->algorithm->name, "refusal",
                         method->refusal);
    json_t *parameters = json_object();
    for (size_t i = 0; rows[i].name; i++)
        json_object_set_new(parameters, rows[i].name, cli_json_number(method->parameter[i]));
    json_object_set_new(parameters, "gamma",
                        method->step > 0 ? json_real(method->step) : json_string("auto"));
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i}",
                     "algorithm", method->algorithm->name, "runs", (int)method->runs, "failures",
                     (int)method->failures, "diverged", (int)method->diverged, "stalled",
                     (int)method->stalled, "rounds", spread_json(&method->rounds), "gradients",
                     spread_json(&method->gradients), "vectors", spread_json(&method->vectors),
                     "time", spread_json(&method->time), "paper_time",
                     spread_json(&method->paper_time), "parameters", parameters, "search_points",
                     (int)method->points, "tuning_runs", (int)method->tuning_runs);
}

static json_t *files_json(const char *folder, int drawn)
{
    json_t *files = json_array();
    static const char *const names[] = {"results.csv", "curves.csv",    "rounds.svg",
                                        "rounds.png",  "gradients.svg", "gradients.png",
                                        "vectors.svg", "vectors.png",   "time.svg",
                                        "time.png"};
    for (size_t i = 0; i < (drawn ? sizeof names / sizeof *names : 2); i++)
        json_array_append_new(files, json_sprintf("%s/%s", folder, names[i]));
    return files;
}

static fplt_status print_json(const char *folder, int drawn, const fplt_comparison *comparison,
                              double seconds, fplt_error *error)
{
    json_t *methods = json_array();
    for (size_t i = 0; i < fplt_comparison_count(comparison); i++)
        json_array_append_new(methods, method_json(fplt_comparison_get(comparison, i)));
    return cli_print_json(json_pack("{s:o, s:[s,s,s], s:f, s:o, s:o}", "criterion",
                                    cli_json_number(fplt_comparison_target(comparison)), "spread",
                                    "low quartile", "median", "high quartile", "wall_seconds",
                                    seconds, "files", files_json(folder, drawn), "methods",
                                    methods),
                          error);
}

static fplt_status conclude(cli_call *cli, const fplt_comparison *comparison, double seconds,
                            fplt_error *error)
{
    int drawn = 0;
    fplt_status status = write_files(cli, comparison, &drawn, error);
    if (status || fplt_settings_switch(cli->settings, "quiet"))
        return status;
    if (fplt_settings_switch(cli->settings, "json"))
        return print_json(fplt_settings_text(cli->settings, "out"), drawn, comparison, seconds,
                          error);
    return print(cli, comparison, drawn, seconds, error);
}

static fplt_status run_compare(cli_call *cli, fplt_error *error)
{
    const fplt_settings *settings = cli->settings;
    const fplt_algorithm *algorithms[MAX_ALGORITHMS];
    const char *list = fplt_settings_text(settings, "algorithms");
    const char *folder = fplt_settings_text(settings, "out");
    int is_new = 0;
    fplt_compare_settings wanted = fplt_compare_defaults(settings);
    fplt_comparison *comparison;
    cli_progress progress;
    fplt_status status;
    if (list && (status = read_algorithms(list, algorithms, &wanted.count, error)))
        return status;
    if (list)
        wanted.algorithms = algorithms;
    wanted.runs = (uint32_t)fplt_settings_integer(settings, "runs");
    wanted.tune = fplt_settings_switch(settings, "tune");
    wanted.points = (unsigned)fplt_settings_integer(settings, "points");
    wanted.threads = (unsigned)fplt_settings_integer(settings, "threads");
    wanted.watch = cli_progress_watch;
    wanted.context = &progress;
    wanted.ranks = cli->ranks;
    status = cli_leads(cli) ? make_folder(folder, &is_new, error) : FPLT_OK;
    if ((status = fplt_ranks_agree(cli->ranks, status, error)))
        return status;
    cli_end_on_signals(is_new ? folder : NULL);
    cli_progress_begin(&progress, fplt_settings_switch(settings, "quiet"));
    status =
        fplt_ranks_agree(cli->ranks, fplt_comparison_create(&wanted, &comparison, error), error);
    double seconds = cli_progress_end(&progress);
    if (status) {
        if (is_new)
            rmdir(folder);
        return cli_interrupted_status(cli, status);
    }
    cli->running = 1;
    status = cli_leads(cli) ? conclude(cli, comparison, seconds, error) : FPLT_OK;
    fplt_comparison_destroy(comparison);
    return status;
}

const cli_command cli_compare[] = {
    {.name = "compare",
     .summary = "compare algorithms on the same problem",
     .arguments = "[config.yaml]",
     .about =
         "Runs several algorithms to a common criterion and prints, over all Monte Carlo runs, the "
         "median and quartiles of the rounds, the gradient evaluations, the vectors sent and the "
         "paper's time (t_G a local gradient, t_C a round trip, added up over all agents), and how "
         "many runs did not get there. Writes results.csv, curves.csv and pictures of the median "
         "curves.\n\nGenerated data are drawn anew for each run; data from files stay the same, "
         "and "
         "only what is random in the method, its solver and the participation changes. A method "
         "that does not allow the solver, the participation or the common cost that is asked for "
         "is "
         "listed with the reason.\n\nData of your own have the defaults that train has for them, "
         "for "
         "every method alike, and what is auto is chosen for each method as train chooses it; "
         "--paper takes the paper's.\n\nWith --tune, each method's own "
         "parameters and gamma are first "
         "searched around their automatic values, with the same number of points for every method "
         "and on other keys than the method is judged by.",
     .examples = "fedplt compare --runs 20\n"
                 "fedplt compare --algorithms fed-plt,fedlin,led --tune --t-communication 100\n"
                 "fedplt compare --data hospitals.csv --participation fixed --active 2 --runs 50\n"
                 "fedplt compare --algorithms fed-plt,5gcs --parameters fed-plt.rho=1",
     .least = 0,
     .most = 1,
     .config = 1,
     .spreads = 1,
     .declare = declare,
     .run = run_compare},
    {.name = NULL},
};
