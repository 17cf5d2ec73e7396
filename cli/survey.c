/* What the columns of CSV files hold, as tables. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "base/text.h"
#include "fedplt/survey.h"
#include "job/job.h"
#include "report/report.h"

static void add_numbers(fplt_table *table, const fplt_survey_line *line)
{
    fplt__table_text(table, line->column);
    fplt__table_text(table, line->site ? line->site : "all");
    fplt__table_whole(table, (long long)line->rows);
    fplt__table_whole(table, (long long)line->missing);
    fplt__table_number(table, line->mean, 4);
    fplt__table_number(table, line->deviation, 4);
    for (int q = 0; q < 5; q++)
        fplt__table_number(table, line->quantile[q], 4);
}

static void add_words(fplt_table *table, const fplt_survey_line *line)
{
    fplt__table_text(table, line->column);
    fplt__table_text(table, line->site ? line->site : "all");
    fplt__table_whole(table, (long long)line->rows);
    fplt__table_whole(table, (long long)line->missing);
    fplt__table_whole(table, (long long)line->numbers);
    fplt__table_text(table, line->levels);
}

static fplt_status print_lines(const char *title, fplt_table *table, fplt_error *error)
{
    if (!fplt__table_rows(table))
        return FPLT_OK;
    printf("\n%s\n", title);
    return cli_print_table(table, error);
}

static fplt_status print_columns(const fplt_survey *survey, size_t most, fplt_error *error)
{
    static const char *const numbers[] = {"column", "site", "rows",   "missing", "mean", "SD",
                                          "min",    "25 %", "median", "75 %",    "max"};
    static const char *const words[] = {"column", "site", "rows", "missing", "numbers", "words"};
    fplt_table *of_numbers = NULL, *of_words = NULL;
    fplt_survey_line line;
    size_t left = 0;
    fplt_status status = fplt__table_create(numbers, 11, &of_numbers, error);
    if (!status)
        status = fplt__table_create(words, 6, &of_words, error);
    for (size_t i = 0; !status && fplt_survey_get(survey, i, &line); i++) {
        fplt_table *table = line.words ? of_words : of_numbers;
        if (fplt__table_rows(table) >= 10 * most)
            left++;
        else if (line.words)
            add_words(table, &line);
        else
            add_numbers(table, &line);
    }
    if (!status)
        status = print_lines("columns of numbers", of_numbers, error);
    if (!status)
        status = print_lines("columns with words", of_words, error);
    if (left)
        printf("... and %zu more lines (--show)\n", left);
    fplt_table_destroy(of_numbers);
    fplt_table_destroy(of_words);
    return status;
}

static void print_problems(const fplt_survey *survey)
{
    const char *sentence;
    for (size_t i = 0; (sentence = fplt_survey_problem(survey, i)); i++)
        printf("%s  - %s\n", i ? "" : "\nlikely mistakes\n", sentence);
}

fplt_status cli_data_files(const cli_call *cli, char ***items, size_t *count, fplt_error *error)
{
    const char *data = fplt_settings_text(cli->settings, "data");
    size_t room = data ? strlen(data) + 1 : 0;
    *count = 0;
    fplt_status status = cli_alloc(items, room + 1, sizeof **items + room, "files", error);
    if (status)
        return status;
    for (char *at = (char *)(*items + room + 1); data && *data; at += strlen(at) + 1) {
        data = fplt__list_next(data, at, room);
        (*items)[(*count)++] = at;
    }
    return FPLT_OK;
}

fplt_status cli_print_survey(const cli_call *cli, fplt_error *error)
{
    fplt_read_settings read = fplt__job_read(cli->settings);
    size_t most = (size_t)fplt_settings_integer(cli->settings, "show");
    const char *const *paths = cli->arguments;
    size_t count = cli->argument_count;
    char **items = NULL;
    fplt_survey *survey = NULL;
    fplt_status status = FPLT_OK;
    if (fplt_settings_text(cli->settings, "schema") || fplt_settings_text(cli->settings, "bounds"))
        return FPLT_OK;
    if (cli->config && !(status = cli_data_files(cli, &items, &count, error)))
        paths = (const char *const *)items;
    if (!status && count && !(status = fplt_survey_create(paths, count, &read, &survey, error)) &&
        !(status = print_columns(survey, most, error)))
        print_problems(survey);
    fplt_survey_destroy(survey);
    free(items);
    return status;
}
