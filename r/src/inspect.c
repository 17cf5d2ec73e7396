/* What the columns of files hold. */
#include "fedplt/survey.h"
#include "fedplt_r.h"

static void finalize_survey(SEXP pointer)
{
    fplt_survey_destroy(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static const char *problem_of(const void *object, size_t index)
{
    return fplt_survey_problem(object, index);
}

static SEXP lines_of(const fplt_survey *survey)
{
    static const char *const names[] = {"column",  "site",   "levels", "rows", "missing",
                                        "numbers", "words",  "mean",   "sd",   "min",
                                        "q1",      "median", "q3",     "max"};
    fplt_survey_line line;
    R_xlen_t count = 0;
    while (fplt_survey_get(survey, (size_t)count, &line))
        count++;
    SEXP table = PROTECT(fpltr_frame(names, "TTTNNNNNNNNNNN", count));
    for (R_xlen_t i = 0; i < count; i++) {
        fplt_survey_get(survey, (size_t)i, &line);
        fpltr_set_text(table, 0, i, line.column);
        fpltr_set_text(table, 1, i, line.site);
        fpltr_set_text(table, 2, i, line.words ? line.levels : NULL);
        fpltr_set_number(table, 3, i, (double)line.rows);
        fpltr_set_number(table, 4, i, (double)line.missing);
        fpltr_set_number(table, 5, i, (double)line.numbers);
        fpltr_set_number(table, 6, i, (double)line.words);
        fpltr_set_number(table, 7, i, line.mean);
        fpltr_set_number(table, 8, i, line.deviation);
        for (int q = 0; q < 5; q++)
            fpltr_set_number(table, 9 + q, i, line.quantile[q]);
    }
    UNPROTECT(1);
    return table;
}

/* paths: files. texts: list(site, decimal, missing_codes, separator), each a text or NULL. */
SEXP fpltr_inspect(SEXP paths, SEXP texts)
{
    static const char *const names[] = {"columns", "problems"};
    fplt_error error = {.status = FPLT_OK};
    fplt_read_settings read = fplt_read_defaults();
    fplt_survey *survey = NULL;
    SEXP pointer = PROTECT(fpltr_pointer(finalize_survey));
    const char *decimal = fpltr_string(VECTOR_ELT(texts, 1)),
               *separator = fpltr_string(VECTOR_ELT(texts, 3));
    read.site = fpltr_string(VECTOR_ELT(texts, 0));
    if (decimal)
        read.decimal = decimal;
    read.missing_codes = fpltr_string(VECTOR_ELT(texts, 2));
    if (separator)
        read.separator = separator;
    fpltr_check(fplt_survey_create(fpltr_strings(paths), (size_t)XLENGTH(paths), &read, &survey,
                                   &error),
                &error);
    R_SetExternalPtrAddr(pointer, survey);
    SEXP list = PROTECT(fpltr_list(names, 2));
    SET_VECTOR_ELT(list, 0, lines_of(survey));
    SET_VECTOR_ELT(list, 1, fpltr_notes(problem_of, survey));
    finalize_survey(pointer);
    UNPROTECT(2);
    return list;
}
