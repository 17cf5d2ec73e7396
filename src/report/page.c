/* A page about a model: head, what was trained, convergence, parameters. */
#include "objective/objective_access.h"
#include "report/model_access.h"
#include "report/report.h"
#include "report/sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fedplt/algorithm.h"
#include "report/html.h"
#include "report/model.h"

/* Light and dark by what the reader's system wants, paper always light; on a phone wide tables scroll
 * by themselves. */
static const char style[] =
    ":root{color-scheme:light dark;--text:#1c2430;--soft:#5c6675;--line:#d8dde4;--paper:#fff;"
    "--card:#f6f8fa;--c0:#1f6fb4;--c1:#c8553d;--c2:#2a8a5f;--c3:#8a5fb0;--bad:#b3261e}\n"
    "@media (prefers-color-scheme:dark){:root{--text:#e3e8ef;--soft:#9aa6b5;--line:#3a4452;"
    "--paper:#141a22;--card:#1c242f;--c0:#6fb1ec;--c1:#f0937f;--c2:#6fcf9f;--c3:#c3a1e6;"
    "--bad:#ff8a80}}\n"
    "body{font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",sans-serif;color:var(--text);"
    "background:var(--paper);margin:0 auto;max-width:60rem;padding:1.2rem}\n"
    "h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0}h2{font-size:1.2rem;margin:2rem 0 .6rem;"
    "border-bottom:1px solid var(--line);padding-bottom:.25rem}h3{font-size:1rem;margin:1.2rem 0 "
    ".4rem}\n"
    "h1,td,dd{overflow-wrap:anywhere}td:first-child,td:nth-child(2){overflow-wrap:break-word;max-"
    "width:24ch}\n"
    ".lead,.note,figcaption,footer{color:var(--soft)}"
    ".note,figcaption,footer{font-size:.88rem}.bad{color:var(--bad);font-weight:600}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:.6rem;"
    "margin:1rem 0}.figures div{background:var(--card);border:1px solid var(--line);"
    "border-radius:.5rem;padding:.5rem .7rem}.figures b{display:block;font-size:1.25rem;"
    "font-variant-numeric:tabular-nums}.figures span{color:var(--soft);font-size:.8rem}\n"
    "dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.3rem 1rem;margin:0}"
    "dt{color:var(--soft)}dd{margin:0}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
    "font-size:.92rem}th,td{padding:.3rem .7rem .3rem 0;border-bottom:1px solid var(--line);"
    "text-align:left;vertical-align:top}th{color:var(--soft);font-weight:600;white-space:nowrap}"
    ".n{text-align:right}td.n{white-space:nowrap}\n"
    "figure{margin:.8rem 0}.pair{display:grid;grid-template-columns:repeat(auto-fit,"
    "minmax(16rem,1fr));gap:1rem}.chart{display:block;width:100%;max-width:40rem;height:auto}\n"
    ".chart text{fill:var(--soft);font-size:12px}.chart .label{fill:var(--text);font-size:13px}"
    ".chart .grid{stroke:var(--line)}.chart .target{stroke:var(--soft);stroke-dasharray:5 4}"
    ".chart .curve{fill:none;stroke-width:2.2;stroke-linejoin:round}\n"
    ".curve.curve0{stroke:var(--c0)}.curve.curve1{stroke:var(--c1)}.curve.curve2{stroke:var(--c2)}"
    ".curve.curve3{stroke:var(--c3)}.dot.curve0{fill:var(--c0)}.dot.curve1{fill:var(--c1)}"
    ".dot.curve2{fill:var(--c2)}.dot.curve3{fill:var(--c3)}\n"
    "@media (max-width:34rem){body{padding:.8rem}dl{grid-template-columns:1fr;gap:0}"
    "dd{margin-bottom:.5rem}}\n"
    "@media print{:root{--text:#000;--soft:#444;--line:#bbb;--paper:#fff;--card:#fff;--c0:#1f6fb4;"
    "--c1:#c8553d;--c2:#2a8a5f;--c3:#8a5fb0;--bad:#b3261e}body{max-width:none;padding:0;"
    "font-size:11pt}figure,tr,.figures{break-inside:avoid}h2,h3{break-after:avoid}"
    ".wide{overflow:visible}}\n";

/* The record */

const json_t *fplt__sheet_find(const json_t *object, ...)
{
    va_list names;
    const char *name;
    va_start(names, object);
    while ((name = va_arg(names, const char *)))
        object = json_object_get(object, name);
    va_end(names);
    return object;
}

double fplt__sheet_number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *fplt__sheet_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text ? text : "";
}

void fplt__sheet_section(const fplt__sheet *page, const char *id, const char *title)
{
    fplt__buffer_format(page->out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
}

fplt_status fplt__sheet_table(const fplt__sheet *page, fplt_table *table, fplt_error *error)
{
    char *text;
    fplt_status status = fplt_table_render(table, FPLT_TABLE_HTML, &text, error);
    if (!status)
        fplt__buffer_add(page->out, text);
    fplt_free(text);
    fplt_table_destroy(table);
    return status;
}

/* One line of a list of facts; nothing where the text is empty. */
static void fact(const fplt__sheet *page, const char *name, const char *format, ...)
    FPLT_PRINTF(3, 4);

static void fact(const fplt__sheet *page, const char *name, const char *format, ...)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    va_list arguments;
    va_start(arguments, format);
    fplt__buffer_format_list(&text, format, arguments);
    va_end(arguments);
    if (text.status)
        page->out->status = text.status;
    if (text.text && *text.text) {
        fplt__buffer_format(page->out, "<dt>%s</dt><dd>", name);
        fplt__html_text(page->out, text.text);
        fplt__buffer_add(page->out, "</dd>\n");
    }
    fplt__buffer_clear(&text);
}

/* The head */

static void card(const fplt__sheet *page, const char *name, const char *format, double value)
{
    if (isnan(value))
        return;
    fplt__buffer_format(page->out, "<div><span>%s</span><b>", name);
    fplt__buffer_format(page->out, format, value);
    fplt__buffer_add(page->out, "</b></div>\n");
}

/* Whether a list "... of NAME, NAME" has a name. */
static int lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++)
        if (at > list && at[-1] == ' ' && (!at[length] || at[length] == ','))
            return 1;
    return 0;
}

int fplt__sheet_shows_training_rows(const fplt__sheet *page)
{
    const char *data = fplt__sheet_text(fplt__sheet_find(page->record, "problem", "data", NULL));
    char name[4096];
    while (*data && page->given->evaluated_on) {
        data = fplt__list_next(data, name, sizeof name);
        if (lists(page->given->evaluated_on, name))
            return 1;
    }
    return 0;
}

/* The validated measure `key`, or NaN. */
static double validated_measure(const fplt__sheet *page, const char *key)
{
    const json_t *validated = json_object_get(page->record, "validated");
    int is_it = strcmp(fplt__sheet_text(json_object_get(validated, "measure")), key) == 0;
    return is_it ? fplt__sheet_number(json_object_get(validated, "quality")) : NAN;
}

/* A measure of held-out rows where there are any, or of cross-validation; of training rows it is said so. */
static void measure_card(const fplt__sheet *page, const char *name, const char *key)
{
    double held_out = fplt__sheet_number(fplt__sheet_find(page->record, "held_out", key, NULL));
    double given = fplt__sheet_number(fplt__sheet_find(page->evaluation, "all", key, NULL));
    double validated = validated_measure(page, key);
    char title[64];
    snprintf(title, sizeof title, "%s%s", name,
             !isnan(held_out)                        ? ", held out"
             : !isnan(validated)                     ? ", cross-validated"
             : fplt__sheet_shows_training_rows(page) ? ", training rows"
                                                     : "");
    card(page, title, "%.3f", !isnan(held_out) ? held_out : !isnan(validated) ? validated : given);
}

static void add_cards(const fplt__sheet *page)
{
    const json_t *record = page->record;
    const json_t *rounds = fplt__sheet_find(record, "counters", "rounds", NULL);
    fplt__buffer_add(page->out, "<div class=\"figures\">\n");
    card(page, "sites", "%.0f",
         fplt__sheet_number(fplt__sheet_find(record, "problem", "agents", NULL)));
    card(page, "rows", "%.0f",
         fplt__sheet_number(fplt__sheet_find(record, "problem", "rows", NULL)));
    card(page, "features", "%.0f", (double)fplt_model_get_view(page->model)->features);
    card(page, "rounds", "%.0f",
         fplt__sheet_number(rounds ? rounds : json_object_get(record, "rounds")));
    measure_card(page, "accuracy", "accuracy");
    measure_card(page, "AUC", "auc");
    measure_card(page, "R²", "r2");
    if (!isnan(validated_measure(page, "rmse")))
        measure_card(page, "RMSE", "rmse");
    measure_card(page, "concordance", "concordance");
    card(page, "epsilon", "%.4g",
         fplt__sheet_number(fplt__sheet_find(page->certificate, "promise", "epsilon", NULL)));
    fplt__buffer_add(page->out, "</div>\n");
}

static const char *algorithm_title(const fplt__sheet *page)
{
    const char *name = fplt__sheet_text(json_object_get(page->record, "algorithm"));
    const fplt_algorithm *algorithm = fplt_algorithm_find(name);
    return algorithm ? algorithm->title : name;
}

static void add_head(const fplt__sheet *page)
{
    const fplt_model_info *info = fplt_model_get_view(page->model);
    const char *sentence = fplt__sheet_text(json_object_get(page->record, "sentence"));
    fplt__buffer title = {NULL, 0, 0, FPLT_OK};
    if (page->given->title)
        fplt__html_text(&title, page->given->title);
    else if (info->label)
        fplt__html_format(&title, "A model of %s", info->label);
    else
        fplt__html_format(&title, "A model with the loss %s", info->loss);
    fplt__buffer_add(page->out,
                     "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>");
    fplt__buffer_add(page->out, title.text ? title.text : "");
    fplt__buffer_add(page->out, "</title>\n<style>\n");
    fplt__buffer_add(page->out, style);
    fplt__buffer_add(page->out, "</style>\n</head>\n<body>\n<h1>");
    fplt__buffer_add(page->out, title.text ? title.text : "");
    fplt__buffer_add(page->out, "</h1>\n<p class=\"lead\">");
    fplt__html_format(page->out, "%s%s%s", algorithm_title(page), *sentence ? ": " : "", sentence);
    fplt__buffer_add(page->out, "</p>\n");
    if (title.status)
        page->out->status = title.status;
    fplt__buffer_clear(&title);
    add_cards(page);
}

/* What was trained */

static const char *help_of_loss(const char *loss)
{
    const char *name, *help;
    for (size_t i = 0; (name = fplt__loss_name(i, &help)); i++)
        if (strcmp(name, loss) == 0)
            return help;
    return "";
}

static void add_columns(const fplt__sheet *page)
{
    const fplt_transform *transform = fplt_model_get_view(page->model)->transform;
    char shortened[80] = "";
    if (transform->radius > 0)
        snprintf(shortened, sizeof shortened, ", rows shortened to the norm %.6g",
                 transform->radius);
    fact(page, "columns", "%zu, %s%s%s", fplt_model_get_view(page->model)->features,
         transform->fill ? "missing values filled, " : "",
         transform->mean    ? "centred and scaled"
         : transform->scale ? "scaled"
                            : "as the file has them",
         shortened);
}

static void add_problem(const fplt__sheet *page)
{
    const json_t *problem = json_object_get(page->record, "problem");
    const json_t *h_weight = json_object_get(problem, "h_weight");
    const char *regulariser = fplt__sheet_text(json_object_get(problem, "regulariser"));
    double eps = fplt__sheet_number(json_object_get(problem, "eps"));
    fact(page, "data", "%s", fplt__sheet_text(json_object_get(problem, "data")));
    if (json_is_integer(json_object_get(problem, "held_out_rows")))
        fact(page, "rows", "%.0f at %.0f sites to train on, %.0f held out",
             fplt__sheet_number(json_object_get(problem, "rows")),
             fplt__sheet_number(json_object_get(problem, "agents")),
             fplt__sheet_number(json_object_get(problem, "held_out_rows")));
    if (*regulariser && eps > 0)
        fact(page, "penalty", "%s, eps %.6g", regulariser, eps);
    else if (*regulariser)
        fact(page, "penalty", "none");
    if (json_is_number(h_weight))
        fact(page, "h", "%s, weight %.6g", fplt__sheet_text(json_object_get(problem, "h")),
             fplt__sheet_number(h_weight));
    if (*fplt__sheet_text(json_object_get(problem, "weights")))
        fact(page, "equal weight for", "%s",
             strcmp(fplt__sheet_text(json_object_get(problem, "weights")), "rows") == 0
                 ? "every row"
                 : "every site");
}

static void add_method(const fplt__sheet *page)
{
    const json_t *record = page->record;
    const char *name = fplt__sheet_text(json_object_get(record, "algorithm"));
    const char *kernel = fplt__sheet_text(json_object_get(record, "kernel"));
    const char *precision = fplt__sheet_text(json_object_get(record, "precision"));
    int narrow = strcmp(precision, "float32") == 0;
    const fplt_algorithm *algorithm = fplt_algorithm_find(name);
    double up = fplt__sheet_number(fplt__sheet_find(record, "counters", "bytes_up", NULL));
    if (algorithm)
        fact(page, "algorithm", "%s (%s)", algorithm->title, algorithm->reference);
    fact(page, "participation", "%s", fplt__sheet_text(json_object_get(record, "participation")));
    if (!isnan(up))
        fact(page, "sent by the sites", "%.0f vectors, %.4g kB",
             fplt__sheet_number(fplt__sheet_find(record, "counters", "vectors_up", NULL)),
             up / 1000);
    if (json_is_integer(json_object_get(record, "seed")))
        fact(page, *kernel ? "seed, kernel" : "seed", "%.0f%s%s%s%s",
             fplt__sheet_number(json_object_get(record, "seed")), *kernel ? ", " : "", kernel,
             narrow ? ", rows kept as " : "", narrow ? precision : "");
}

static void add_trained(const fplt__sheet *page)
{
    const fplt_model_info *info = fplt_model_get_view(page->model);
    fplt__sheet_section(page, "trained", "What was trained");
    fplt__buffer_add(page->out, "<dl>\n");
    fact(page, "task", "%s", fplt_task_name(info->task));
    fact(page, "label", "%s", info->label ? info->label : "");
    if (info->classes == 2)
        fact(page, "classes", "%s, and %s, whose probability is modelled", info->class_names[0],
             info->class_names[1]);
    else if (info->classes)
        fact(page, "classes", "%u", info->classes);
    fact(page, "loss", "%s: %s", info->loss, help_of_loss(info->loss));
    add_columns(page);
    add_problem(page);
    add_method(page);
    fplt__buffer_add(page->out, "</dl>\n</section>\n");
}

/* Values that were filled in, of the record's table. */
static fplt_status add_filled(const fplt__sheet *page, fplt_error *error)
{
    static const char *const columns[] = {"column", "site", "filled", "rows", "share"};
    const json_t *filled = json_object_get(page->record, "filled");
    fplt_table *table;
    if (!json_array_size(filled))
        return FPLT_OK;
    fplt_status status = fplt__table_create(columns, 5, &table, error);
    if (status)
        return status;
    for (size_t i = 0; i < json_array_size(filled); i++) {
        const json_t *line = json_array_get(filled, i);
        for (size_t k = 0; k < 2; k++)
            fplt__table_text(table, fplt__sheet_text(json_object_get(line, columns[k])));
        for (size_t k = 2; k < 5; k++)
            fplt__table_number(table, fplt__sheet_number(json_object_get(line, columns[k])), 3);
    }
    fplt__sheet_section(page, "filled", "Missing values that were filled in");
    if (!(status = fplt__sheet_table(page, table, error)))
        fplt__buffer_add(page->out, "</section>\n");
    return status;
}

/* Convergence */

static fplt_status draw_history(const fplt__sheet *page, fplt_error *error)
{
    const fplt_history *history = page->given->history;
    size_t count = fplt_history_count(history);
    int plain =
        strcmp(fplt__sheet_text(fplt__sheet_find(page->record, "problem", "h", NULL)), "zero") == 0;
    double *x;
    fplt_status status = fplt__alloc_into(&x, 2 * count, sizeof *x, "a curve", error);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)fplt_history_get(history, i)->round;
        x[count + i] = fplt_history_get(history, i)->measure.criterion;
    }
    double target = fplt__sheet_number(json_object_get(page->record, "target"));
    fplt__series curve = {"criterion", x, x + count, count};
    fplt__plot plot = {.title = "Convergence",
                       .x_label = "communication round",
                       .y_label = plain ? "‖Σ ∇fᵢ‖²" : "squared proximal gradient",
                       .log_y = 1,
                       .target = target > 0 ? target : 0,
                       .target_label = "tolerance",
                       .series = &curve,
                       .count = 1};
    fplt__buffer_add(page->out, "<figure id=\"curve\">\n");
    fplt__chart_curves(page->out, &plot, &(fplt__chart_frame){.dots = count <= 60});
    fplt__buffer_add(page->out, "</figure>\n");
    fplt__free(x);
    return FPLT_OK;
}

static void state(const fplt__sheet *page, const char *name, const char *member)
{
    double first = fplt__sheet_number(fplt__sheet_find(page->record, "start", member, NULL));
    double last = fplt__sheet_number(fplt__sheet_find(page->record, "end", member, NULL));
    if (!isnan(first) && !isnan(last))
        fact(page, name, "%.6g at the start, %.6g at the end", first, last);
}

static fplt_status add_convergence(const fplt__sheet *page, fplt_error *error)
{
    const char *sentence = fplt__sheet_text(json_object_get(page->record, "sentence"));
    fplt_status status = FPLT_OK;
    if (!*sentence)
        return FPLT_OK;
    fplt__sheet_section(page, "convergence", "Convergence");
    fplt__buffer_add(page->out, "<p>");
    fplt__html_text(page->out, sentence);
    fplt__buffer_add(page->out, page->certificate
                                    ? ". Nothing was measured on the way: a measurement without "
                                      "noise would reveal something about the records.</p>\n"
                                    : ".</p>\n");
    if (page->given->history && fplt_history_count(page->given->history))
        status = draw_history(page, error);
    fplt__buffer_add(page->out, "<dl>\n");
    state(page, "criterion", "criterion");
    state(page, "objective", "objective");
    state(page, "training accuracy", "accuracy");
    fplt__buffer_add(page->out, "</dl>\n</section>\n");
    return status;
}

/* Parameters */

static void add_choice(fplt_table *table, const char *name, const json_t *value, const char *why)
{
    fplt__table_text(table, name);
    if (json_is_number(value))
        fplt__table_number(table, json_number_value(value), 6);
    else
        fplt__table_text(table, json_string_value(value));
    fplt__table_text(table, fplt__choice_because(why));
}

/* All members but one. */
static void add_members(fplt_table *table, const json_t *object, const char *but)
{
    const char *name;
    json_t *choice;
    json_object_foreach((json_t *)(uintptr_t)object, name, choice)
    {
        if (strcmp(name, but) != 0)
            add_choice(table, name, json_object_get(choice, "value"),
                       fplt__sheet_text(json_object_get(choice, "why")));
    }
}

static void add_local(const fplt__sheet *page, fplt_table *table)
{
    const json_t *local = json_object_get(page->record, "local");
    const fplt_algorithm *algorithm =
        fplt_algorithm_find(fplt__sheet_text(json_object_get(page->record, "algorithm")));
    if (!local || (algorithm && algorithm->allows & FPLT_TRAINS_NOTHING))
        return;
    add_choice(table, "solver", json_object_get(local, "solver"), "");
    add_choice(table, "epochs", json_object_get(local, "epochs"),
               fplt__sheet_text(json_object_get(local, "epochs_why")));
    add_choice(table, "gamma", fplt__sheet_find(local, "gamma", "least", NULL),
               fplt__sheet_text(fplt__sheet_find(local, "gamma", "why", NULL)));
}

static fplt_status add_parameters(const fplt__sheet *page, fplt_error *error)
{
    static const char *const columns[] = {"parameter", "value", "why"};
    fplt_table *table;
    fplt_status status = fplt__table_create(columns, 3, &table, error);
    if (status)
        return status;
    const json_t *why = json_object_get(page->record, "algorithm_why");
    if (why)
        add_choice(table, "algorithm", json_object_get(page->record, "algorithm"),
                   fplt__sheet_text(why));
    add_members(table, json_object_get(page->record, "parameters"), "");
    add_local(page, table);
    add_members(table, json_object_get(page->record, "defaults"), why ? "algorithm" : "");
    if (!fplt__table_rows(table)) {
        fplt_table_destroy(table);
        return FPLT_OK;
    }
    fplt__sheet_section(page, "parameters", "Parameters, and why");
    status = fplt__sheet_table(page, table, error);
    fplt__buffer_add(page->out, "</section>\n");
    return status;
}

/* The whole */

/* Results of analyses over the network, as their commands print them. */
static void add_analyses(const fplt__sheet *page)
{
    const fplt_page *given = page->given;
    if (!given->analyses)
        return;
    fplt__sheet_section(page, "analyses", "Analyses over the network");
    for (size_t i = 0; i < given->analyses; i++) {
        fplt__buffer_add(page->out, "<h3>");
        fplt__html_text(page->out, given->analysis[i].kind);
        fplt__buffer_add(page->out, "</h3>\n<div class=\"wide\"><pre>");
        fplt__html_text(page->out, given->analysis[i].text);
        fplt__buffer_add(page->out, "</pre></div>\n");
    }
    fplt__buffer_add(page->out, "</section>\n");
}

fplt_page fplt_page_defaults(void)
{
    return (fplt_page){.level = 0.95};
}

static fplt_status check_page(const fplt_model *model, const fplt_page *page, fplt_error *error)
{
    if (!(page->level > 0 && page->level < 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the level of intervals is %g, but it must be above 0 and below 1",
                              page->level);
    if ((page->history || page->evaluation || page->analyses) && fplt__model_is_private(model))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the model was trained with privacy, and %s would reveal something about records "
            "without noise: the page is made without",
            page->history      ? "its convergence"
            : page->evaluation ? "measures of its quality"
                               : "analyses");
    return FPLT_OK;
}

static fplt_status assemble(const fplt__sheet *page, fplt_error *error)
{
    fplt_status status;
    add_head(page);
    add_trained(page);
    if ((status = add_filled(page, error)))
        return status;
    if ((status = fplt__sheet_quality(page, error)) ||
        (status = fplt__sheet_reversals(page, error)) ||
        (status = fplt__sheet_coefficients(page, error)))
        return status;
    add_analyses(page);
    if ((status = add_convergence(page, error)) || (status = fplt__sheet_privacy(page, error)) ||
        (status = add_parameters(page, error)))
        return status;
    const char *program = fplt_model_get_view(page->model)->program;
    fplt__buffer_add(page->out, "<footer><p>Trained by ");
    fplt__html_text(page->out, program ? program : "an unknown program");
    fplt__buffer_add(page->out,
                     "; page by fedplt " FPLT_VERSION ".</p></footer>\n</body>\n</html>\n");
    return FPLT_OK;
}

fplt_status fplt_model_page(const fplt_model *model, const fplt_page *given, char **html,
                            fplt_error *error)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    *html = NULL;
    fplt_status status = check_page(model, given, error);
    if (status)
        return status;
    json_t *document = fplt__model_json(model), *evaluation = NULL;
    const json_t *record = json_object_get(document, "training");
    if (!document)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a page");
    if (given->evaluation) {
        evaluation = json_loads(given->evaluation, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(json_object_get(evaluation, "all")))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "the evaluation is no document of `fedplt evaluate --json`");
    }
    fplt__sheet page = {&out, model, given, record, json_object_get(record, "privacy"), evaluation};
    if (!status)
        status = assemble(&page, error);
    json_decref(evaluation);
    json_decref(document);
    if (!status)
        return fplt__buffer_take(&out, html, error);
    fplt__buffer_clear(&out);
    return status;
}
