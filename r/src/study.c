/* Table 1 and meta-analysis. */
#include "fedplt/study.h"

#include <stdlib.h>

#include "fedplt/schema.h"
#include "fedplt_r.h"

/* What describing holds until the answer is in R. */
typedef struct fpltr_describing {
    fplt_description *made;
    fplt_schema *schema;
    fplt_table *table;
} fpltr_describing;

static void finalize_describing(SEXP pointer)
{
    fpltr_describing *own = R_ExternalPtrAddr(pointer);
    if (!own)
        return;
    fplt_description_destroy(own->made);
    fplt_schema_destroy(own->schema);
    fplt_table_destroy(own->table);
    free(own);
    R_ClearExternalPtr(pointer);
}

static SEXP paper_tables(fpltr_describing *own)
{
    fplt_error error = {.status = FPLT_OK};
    size_t sites = fplt_description_sites(own->made);
    SEXP tables = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)sites));
    for (size_t s = 0; s < sites; s++) {
        fpltr_check(fplt_description_paper(own->made, s, &own->table, &error), &error);
        SET_STRING_ELT(tables, (R_xlen_t)s, STRING_ELT(fpltr_take_table(&own->table), 0));
    }
    UNPROTECT(1);
    return tables;
}

static const char *note_of_description(const void *object, size_t index)
{
    return fplt_description_note(object, index);
}

static SEXP description_list(fpltr_describing *own)
{
    static const char *const names[] = {"paper", "sites", "columns", "cross", "notes"};
    fplt_error error = {.status = FPLT_OK};
    SEXP list = PROTECT(fpltr_list(names, 5));
    SET_VECTOR_ELT(list, 0, paper_tables(own));
    R_xlen_t sites = XLENGTH(VECTOR_ELT(list, 0)) - 1;
    SET_VECTOR_ELT(list, 1, Rf_allocVector(STRSXP, sites));
    for (R_xlen_t s = 0; s < sites; s++)
        SET_STRING_ELT(VECTOR_ELT(list, 1), s,
                       Rf_mkCharCE(fplt_description_site(own->made, (size_t)s + 1), CE_UTF8));
    fpltr_check(fplt_description_list(own->made, &own->table, &error), &error);
    SET_VECTOR_ELT(list, 2, fpltr_take_table(&own->table));
    fpltr_check(fplt_description_crosses(own->made, &own->table, &error), &error);
    SET_VECTOR_ELT(list, 3, fpltr_take_table(&own->table));
    SET_VECTOR_ELT(list, 4, fpltr_notes(note_of_description, own->made));
    UNPROTECT(1);
    return list;
}

/* input: paths of CSV files, or the lines of one CSV text (is_text). texts: list(by, cross, bounds, site, categories,
 * columns, ignore, missing_codes, schema), each a text or NULL. numbers: cells, minimum. Answers list(paper, sites, columns, cross,
 * notes): tables as CSV, of paper one for all sites and one for each. */
SEXP fpltr_describe(SEXP input, SEXP is_text, SEXP texts, SEXP numbers)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_read_settings read = fplt_read_defaults();
    SEXP pointer = PROTECT(fpltr_pointer(finalize_describing));
    fpltr_describing *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    fplt_describe_settings wanted = {.read = &read,
                                     .by = fpltr_string(VECTOR_ELT(texts, 0)),
                                     .cross = fpltr_string(VECTOR_ELT(texts, 1)),
                                     .bounds = fpltr_string(VECTOR_ELT(texts, 2)),
                                     .cells = (uint32_t)REAL(numbers)[0],
                                     .minimum = (size_t)REAL(numbers)[1]};
    const char *schema = fpltr_string(VECTOR_ELT(texts, 8));
    read.site = fpltr_string(VECTOR_ELT(texts, 3));
    read.categories = fpltr_string(VECTOR_ELT(texts, 4));
    read.columns = fpltr_string(VECTOR_ELT(texts, 5));
    read.ignore = fpltr_string(VECTOR_ELT(texts, 6));
    read.missing_codes = fpltr_string(VECTOR_ELT(texts, 7));
    if (schema)
        fpltr_check(fplt_schema_read(schema, &own->schema, &error), &error);
    read.schema = own->schema;
    if (Rf_asLogical(is_text)) {
        size_t size;
        char *text = fpltr_join_lines(input, &size);
        read.separator = "comma";
        fpltr_check(fplt_describe_text("data", text, size, &wanted, &own->made, &error), &error);
    } else {
        fpltr_check(fplt_describe(fpltr_strings(input), (size_t)XLENGTH(input), &wanted, &own->made,
                                  &error),
                    &error);
    }
    SEXP list = PROTECT(description_list(own));
    finalize_describing(pointer);
    UNPROTECT(2);
    return list;
}

/* estimate, error: one number a site; numbers: method (0 fixed, 1 DL, 2 REML), Hartung-Knapp, level. Answers the numbers of
 * fplt_meta_result in its order. */
SEXP fpltr_meta(SEXP estimate, SEXP error, SEXP numbers)
{
    const double *n = REAL(numbers);
    fplt_meta_settings wanted = {(fplt_meta_method)(int)n[0], n[1] != 0, n[2]};
    fplt_meta_result made =
        fplt_meta_combine(REAL(estimate), REAL(error), (size_t)XLENGTH(estimate), &wanted);
    const double row[] = {(double)made.sites, made.estimate, made.error, made.statistic, made.p,
                          made.low,           made.high,     made.tau2,  made.q,         made.q_p,
                          made.i_squared};
    return fpltr_numbers(row, sizeof row / sizeof *row);
}
