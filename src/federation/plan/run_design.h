/* The columns that a proposal's formula makes of the columns of a run: the same at the coordinator, which knows their
 * names, and at every site, which has their rows. */
#ifndef FPLT_FEDERATION_RUN_DESIGN_H
#define FPLT_FEDERATION_RUN_DESIGN_H

#include "data/formula.h"
#include "fedplt/settings.h"

/* Polynomials of a federation are of at most this degree: every phase (data/poly.h) is a step of the facts. */
enum { FPLT__RUN_MAX_DEGREE = 15, FPLT__RUN_POLY_PHASES = 3 + FPLT__RUN_MAX_DEGREE };

/* The formula of a proposal's settings; NULL: none. */
const char *fplt__run_formula(const fplt_settings *settings);
/* Whether it has a poly() that is orthogonal over the rows of all sites, which takes steps of facts. */
int fplt__run_needs_polys(const fplt_settings *settings);

/* The columns of these, in the order of their numbers. */
typedef struct fplt__run_polys {
    fplt__poly_column column[FPLT__VARIABLES_MAX];
    size_t count;
} fplt__run_polys;

/* None where there is no formula. */
fplt_status fplt__run_polys_find(const fplt_settings *settings, const fplt__names *inputs,
                                 fplt__run_polys *polys, fplt_error *error);
unsigned
fplt__run_polys_phases(const fplt__run_polys *polys); /* of all together; 0: there are none */
size_t fplt__run_polys_numbers(const fplt__run_polys *polys); /* that a design needs of them */

/* Numbers of a design as a plan states them, separated by blanks; to be released with fplt__free. */
fplt_status fplt__run_numbers_text(const double *numbers, size_t count, char **text,
                                   fplt_error *error);

/* Compiles the formula over the columns of the run; *design is NULL where there is none. `schema` is
 * that of the run, or NULL; `label` is the column of the labels
 * (NULL: not known), which must be the response; `numbers` those of poly() (NULL: not known yet, so that the design has
 * its columns but no values). FPLT_BAD_VALUE for a column that the run does not have, FPLT_UNSUPPORTED for levels that
 * depend on the rows, FPLT_BAD_DATA for numbers that do not fit. Errors name only what the proposal
 * states, no rows. */
fplt_status fplt__run_design_make(const fplt_settings *settings, const fplt_schema *schema,
                                  const fplt__names *inputs, const char *label, const char *numbers,
                                  fplt_design **design, fplt_error *error);

#endif
