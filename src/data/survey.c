/* What the columns of CSV files hold, site by site, without refusing anything that is a table. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/sorting.h"
#include "base/text.h"
#include "data/builder.h"
#include "data/summary.h"
#include "fedplt/settings.h"
#include "fedplt/survey.h"

enum { SHOWN_LEVELS = 8 };

/* One column at one site, or at all of them. */
struct cells {
    fplt__summary summary;
    char *levels; /* owned: text of the most frequent words */
};

struct fplt_survey {
    fplt__lookup names, sites; /* sites[0] is all of them together, and has no name */
    struct cells
        *cell; /* owned: names x sites, a column after the other in room for `most` sites */
    size_t most;
    char **problem; /* owned */
    size_t problems, problem_capacity;
    fplt__profile profile;
    /* of the file at hand */
    const fplt_read_settings *settings;
    const fplt__source *source;
    size_t files;
    uint32_t *column; /* owned: number of its name */
    uint32_t columns, site_column, file_site;
};

void fplt_survey_destroy(fplt_survey *survey)
{
    if (!survey)
        return;
    for (size_t i = 0; survey->cell && i < survey->names.count * survey->most; i++) {
        fplt__summary_clear(&survey->cell[i].summary);
        fplt__free(survey->cell[i].levels);
    }
    for (size_t i = 0; i < survey->problems; i++)
        fplt__free(survey->problem[i]);
    fplt__free(survey->problem);
    fplt__free(survey->cell);
    fplt__free(survey->column);
    fplt__lookup_clear(&survey->names);
    fplt__lookup_clear(&survey->sites);
    fplt__profile_clear(&survey->profile);
    fplt__free(survey);
}

/* Room for so many columns and sites; what is there keeps its place. */
static fplt_status make_room(fplt_survey *survey, size_t names, size_t sites, fplt_error *error)
{
    size_t most = survey->most ? survey->most : 4;
    struct cells *made;
    while (most < sites)
        most *= 2;
    if (survey->cell && most == survey->most && names <= survey->names.count)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&made, names * most, sizeof *made, "columns", error);
    if (status)
        return status;
    for (size_t j = 0; survey->cell && j < survey->names.count; j++)
        memcpy(made + j * most, survey->cell + j * survey->most, survey->most * sizeof *made);
    fplt__free(survey->cell);
    survey->cell = made;
    survey->most = most;
    return FPLT_OK;
}

static fplt_status find_site(fplt_survey *survey, fplt__span name, uint32_t *site,
                             fplt_error *error)
{
    fplt_status status = make_room(survey, survey->names.count, survey->sites.count + 1, error);
    return status ? status : fplt__lookup_add(&survey->sites, name, site, error);
}

static fplt_status see_file(void *context, const char *path, const fplt__source *source,
                            fplt_error *error)
{
    fplt_survey *survey = context;
    survey->source = source;
    survey->file_site = 0;
    return survey->files > 1 ? find_site(survey, fplt__span_of(path), &survey->file_site, error)
                             : FPLT_OK;
}

static fplt_status see_columns(void *context, const fplt__lookup *names, size_t line,
                               fplt_error *error)
{
    fplt_survey *survey = context;
    const char *site = survey->settings->site ? survey->settings->site : "site";
    (void)line;
    survey->columns = names->count;
    fplt__free(survey->column);
    fplt_status status =
        fplt__alloc_into(&survey->column, names->count, sizeof *survey->column, "columns", error);
    for (uint32_t i = 0; i < names->count && !status; i++)
        if (!(status = make_room(survey, survey->names.count + 1, survey->sites.count, error)))
            status = fplt__lookup_add(&survey->names, fplt__lookup_word(names, i),
                                      &survey->column[i], error);
    survey->site_column = fplt__lookup_find(names, fplt__span_of(site));
    return status;
}

static fplt_status see_row(void *context, const fplt__field *fields, size_t line, fplt_error *error)
{
    fplt_survey *survey = context;
    uint32_t site = survey->file_site;
    fplt_status status = FPLT_OK;
    if (survey->site_column != FPLT__NOWHERE)
        status = find_site(survey, fields[survey->site_column].span, &site, error);
    for (uint32_t i = 0; i < survey->columns && !status; i++) {
        struct cells *cells = survey->cell + survey->column[i] * survey->most;
        status = fplt__summary_see(&cells[0].summary, &fields[i], error);
        if (!status && site)
            status = fplt__summary_see(&cells[site].summary, &fields[i], error);
        if (!status)
            status =
                fplt__profile_see(&survey->profile,
                                  fplt__lookup_word(&survey->names, survey->column[i]), &fields[i],
                                  (fplt__origin){survey->source->name, line}, error);
    }
    return status;
}

/* ---- what is said of it ---- */

static fplt_status add_problem(fplt_survey *survey, fplt_error *error, const char *format, ...)
    FPLT_PRINTF(3, 4);

static fplt_status add_problem(fplt_survey *survey, fplt_error *error, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fplt_status status = fplt__grow(&survey->problem, &survey->problem_capacity,
                                    survey->problems + 1, sizeof *survey->problem, "text", error);
    if (status || !(survey->problem[survey->problems] = fplt__strdup(text)))
        return status ? status : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a sentence");
    survey->problems++;
    return FPLT_OK;
}

/* Ignored, or named for something else than a feature. */
static int is_aside(const fplt_read_settings *settings, const char *name)
{
    const char *list = settings->ignore;
    char word[300];
    while (list && *list) {
        list = fplt__list_next(list, word, sizeof word);
        if (strcmp(word, name) == 0)
            return 1;
    }
    return settings->id && strcmp(settings->id, name) == 0;
}

static fplt_status find_problems(fplt_survey *survey, uint32_t j, fplt_error *error)
{
    const fplt__summary *all = &survey->cell[j * survey->most].summary;
    fplt__span name = fplt__lookup_word(&survey->names, j);
    fplt__shown shown = fplt__show(name);
    double code;
    size_t count, values = all->rows - all->missing;
    fplt_error said;
    if (is_aside(survey->settings, name.text))
        return FPLT_OK;
    if (fplt__profile_check(&survey->profile, name, survey->settings, &said))
        return add_problem(survey, error, "%s", said.text);
    if (!survey->settings->missing_codes &&
        fplt__find_code(all->number, all->numbers, &code, &count))
        return add_problem(
            survey, error,
            "column '%s': %.10g stands %zu times apart from all other numbers: if it "
            "is a code for missing values, add --missing-codes %.10g",
            shown.text, code, count, code);
    if (!values)
        return add_problem(survey, error,
                           "column '%s' has no value at all: leave it out with --ignore",
                           shown.text);
    if (all->missing * 2 > all->rows)
        return add_problem(
            survey, error,
            "column '%s': %zu of %zu values are missing: leave it out with --ignore, "
            "or fill the gaps with --missing median",
            shown.text, all->missing, all->rows);
    if (values > 1 && ((!all->words.count && all->number[0] == all->number[all->numbers - 1]) ||
                       (!all->numbers && all->words.count == 1)))
        return add_problem(survey, error,
                           "column '%s' has one value only, which explains nothing: leave it out "
                           "with --ignore",
                           shown.text);
    return FPLT_OK;
}

static fplt_status write_levels(const fplt__summary *cells, char **levels, fplt_error *error)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    size_t before = SIZE_MAX, shown = 0;
    while (shown < SHOWN_LEVELS && shown < cells->words.count) { /* by count, then by appearance */
        size_t next = 0;
        for (uint32_t k = 0; k < cells->words.count; k++)
            next = cells->count[k] < before && cells->count[k] > next ? cells->count[k] : next;
        for (uint32_t k = 0; k < cells->words.count && shown < SHOWN_LEVELS; k++) {
            char text[100];
            if (cells->count[k] != next)
                continue;
            snprintf(text, sizeof text, "%s%s %zu", shown++ ? ", " : "",
                     fplt__show(fplt__lookup_word(&cells->words, k)).text, next);
            fplt__buffer_add(&out, text);
        }
        before = next;
    }
    if (shown < cells->words.count)
        fplt__buffer_add(&out, ", ...");
    fplt__buffer_add(&out, "");
    return fplt__buffer_take(&out, levels, error);
}

static fplt_status conclude(fplt_survey *survey, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t j = 0; j < survey->names.count && !status; j++) {
        for (uint32_t i = 0; i < survey->sites.count && !status; i++) {
            struct cells *cells = &survey->cell[j * survey->most + i];
            fplt__summary_sort(&cells->summary);
            status = write_levels(&cells->summary, &cells->levels, error);
        }
        if (!status)
            status = find_problems(survey, j, error);
    }
    return status;
}

fplt_status fplt_survey_create(const char *const *paths, size_t count,
                               const fplt_read_settings *settings, fplt_survey **out,
                               fplt_error *error)
{
    fplt_survey *survey;
    uint32_t all;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&survey, 1, sizeof *survey, "a survey", error);
    if (status)
        return status;
    survey->settings = settings;
    survey->files = count;
    status = fplt__lookup_add(&survey->sites, fplt__span_of(""), &all, error);
    if (!status)
        status = fplt__csv_visit_files(paths, count, settings,
                                       &(fplt__csv_files){see_file, see_columns, see_row, survey},
                                       error);
    if (!status)
        status = conclude(survey, error);
    if (status)
        fplt_survey_destroy(survey);
    else
        *out = survey;
    return status;
}

int fplt_survey_get(const fplt_survey *survey, size_t index, fplt_survey_line *line)
{
    size_t sites = survey->sites.count, j = index / sites, i = index % sites;
    if (j >= survey->names.count)
        return 0;
    const struct cells *cell = &survey->cell[j * survey->most + i];
    const fplt__summary *summary = &cell->summary;
    *line =
        (fplt_survey_line){.column = fplt__lookup_word(&survey->names, (uint32_t)j).text,
                           .site = i ? fplt__lookup_word(&survey->sites, (uint32_t)i).text : NULL,
                           .rows = summary->rows,
                           .missing = summary->missing,
                           .numbers = summary->numbers,
                           .words = summary->rows - summary->missing - summary->numbers,
                           .levels = cell->levels,
                           .mean = fplt__summary_mean(summary),
                           .deviation = fplt__summary_deviation(summary)};
    for (int q = 0; q < 5; q++)
        line->quantile[q] = fplt__quantile(summary->number, summary->numbers, 0.25 * q);
    return 1;
}

const char *fplt_survey_problem(const fplt_survey *survey, size_t index)
{
    return index < survey->problems ? survey->problem[index] : NULL;
}
