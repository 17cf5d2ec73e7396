/* The formula of a proposal over the rows of a site: its columns replace those of the run, at once or, where it has
 * polynomials, when their numbers are known over all sites. */
#ifndef FPLT_FEDERATION_LOCAL_FORMULA_H
#define FPLT_FEDERATION_LOCAL_FORMULA_H

#include "federation/plan/run_design.h"
#include "wire/document.h"

typedef struct fplt__local_formula {
    fplt__run_polys polys; /* over the columns of the run, once these are settled */
    char *numbers;         /* owned: of these; NULL: not known, or there are none */
    size_t columns;        /* that the formula makes, before the rows have them; else 0 */
} fplt__local_formula;

/* Borrowed for a call. */
typedef struct fplt__formula_rows {
    const fplt_settings *settings;
    const fplt_schema *schema; /* of the run, or NULL */
    const char *label;         /* of the rows; NULL: a schema says it */
    fplt_dataset *training, *held_out;
    char *abroad; /* FPLT__SENTENCE characters: what the coordinator may hear of a failure */
} fplt__formula_rows;

/* Before the rows are read without a schema: columns of C() are categories, whose levels the site tells as those of words. */
fplt_status fplt__local_formula_reading(fplt_settings *settings, fplt_error *error);
/* Before columns are settled: how many there will be, as far as this site knows. */
fplt_status fplt__local_formula_count(fplt__local_formula *formula, const fplt__formula_rows *rows,
                                      fplt_error *error);
/* Once the columns are those of the run; polynomials wait for their numbers. */
fplt_status fplt__local_formula_begin(fplt__local_formula *formula, const fplt__formula_rows *rows,
                                      fplt_error *error);
/* With the numbers of polynomials. Done once: the same text again changes nothing, another is refused. */
fplt_status fplt__local_formula_expand(fplt__local_formula *formula, const fplt__formula_rows *rows,
                                       const char *numbers, fplt_error *error);
/* Whether no polynomials are waited for. */
int fplt__local_formula_is_expanded(const fplt__local_formula *formula);
void fplt__local_formula_clear(fplt__local_formula *formula);

#endif
