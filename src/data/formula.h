/* Formulas in the manner of R: from "disease ~ age * sex + poly(chol, 2) + C(cp)" to terms over the columns, and from these
 * to the columns of a design. Terms are sets of variables; a variable is a column and what is made of it. */
#ifndef FPLT_DATA_FORMULA_H
#define FPLT_DATA_FORMULA_H

#include <stdint.h>

#include "data/dataset.h"
#include "fedplt/schema.h"

enum { FPLT__VARIABLES_MAX = 64, FPLT__TERMS_MAX = 512, FPLT__VARIABLE_TEXT = 160 };

typedef enum fplt__variable_kind {
    FPLT__PLAIN_COLUMN, /* age: a number, or the levels of a category */
    FPLT__LEVELS_OF,    /* C(cp): the values of a number are levels */
    FPLT__POWER,        /* I(age^2) */
    FPLT__POLY,         /* poly(chol, 2): orthogonal over the training rows */
    FPLT__RAW_POLY,     /* poly(chol, 2, raw = TRUE) */
    FPLT__LOG,
    FPLT__SQRT
} fplt__variable_kind;

typedef struct fplt__variable {
    char column[FPLT__VARIABLE_TEXT], text[2 * FPLT__VARIABLE_TEXT];
    fplt__variable_kind kind;
    unsigned degree; /* of power and poly, from 1 to 20; otherwise 1 */
} fplt__variable;

typedef struct fplt__formula {
    char response[FPLT__VARIABLE_TEXT]; /* empty: none is given */
    int intercept, everything;          /* everything: it has a dot, for all columns */
    fplt__variable variable[FPLT__VARIABLES_MAX];
    size_t variables;
    uint64_t
        term[FPLT__TERMS_MAX]; /* bit v: has variable v; fewer variables first, as R orders them */
    size_t terms;
} fplt__formula;

/* Reads a formula. A dot stands for the `count` columns but the response; with columns NULL it only sets
 * `everything`. FPLT_BAD_VALUE with the place of what cannot be read. */
fplt_status fplt__formula_parse(const char *text, const char *const *columns, size_t count,
                                fplt__formula *formula, fplt_error *error);

/* A poly() that is orthogonal: its column among the inputs. */
typedef struct fplt__poly_column {
    size_t input;
    unsigned degree;
} fplt__poly_column;

/* Those of a formula over the inputs, in the order in which a design has their numbers (data/poly.h). */
fplt_status fplt__formula_polys(const char *text, const fplt__names *inputs,
                                fplt__poly_column polys[FPLT__VARIABLES_MAX], size_t *count,
                                fplt_error *error);

/* Compiles a formula for a data set whose numbers are dense, and finds what depends on its rows: the levels of C(), and
 * the moments of poly(). With `sites` a column for each site but the first follows, 1 in its rows. text NULL: the columns
 * as they are. `fill` replaces missing values; NULL: there are none. The caller destroys the design. */
fplt_status fplt__design_fit(const char *text, int sites, const fplt_dataset *dataset,
                             const double *fill, fplt_design **design, fplt_error *error);
/* The same from what a model keeps of it: formula, names of the columns that it is made of, numbers, and the names of
 * the sites that have effects (none: count 0). */
fplt_status fplt__design_restore(const char *text, const fplt__names *inputs, const double *numbers,
                                 size_t count, const fplt__names *sites, fplt_design **design,
                                 fplt_error *error);
fplt_status fplt__design_copy(const fplt_design *design, fplt_design **copy, fplt_error *error);
void fplt__design_destroy(fplt_design *design);

/* The same over the columns of a schema, before any row is read: a public function of a row, which no value within the declared
 * bounds makes fail. FPLT_UNSUPPORTED: poly() and C() of a number, which need rows, or a category with a base;
 * FPLT_BAD_VALUE: log() or sqrt() of a column whose bounds do not allow it, or bounds that are no finite numbers. */
fplt_status fplt__design_declare(const char *text, const fplt_schema *schema, fplt_design **design,
                                 fplt_error *error);
/* Refuses a formula about another column than the schema's label, and a schema that leaves out a level itself; schema NULL is
 * legal. */
fplt_status fplt__formula_check_schema(const char *text, const fplt_schema *schema,
                                       fplt_error *error);
/* Centre and scale of every column of such a design: those of the schema (fplt__schema_scaling) where a column is one of
 * its features; 0 and 1 where it is a product of levels; otherwise the middle and half the width of its bounds, by interval
 * arithmetic, divided by `stretch` (0 is 1). */
fplt_status fplt__design_scales(const fplt_design *design, const fplt_schema *schema,
                                double stretch, double *centre, double *scale, fplt_error *error);
/* Whether the formula leaves the intercept in. */
int fplt__design_intercept(const fplt_design *design);
/* How many columns are not 0 in one row at most, before they are centred. */
size_t fplt__design_at_once(const fplt_design *design);
/* How many of those are levels or products of levels alone. */
size_t fplt__design_categories(const fplt_design *design);

const char *fplt__design_text(const fplt_design *design); /* NULL: no formula */
const fplt__names *fplt__design_sites(const fplt_design *design);
const fplt__names *fplt__design_inputs(const fplt_design *design);
const fplt__names *fplt__design_names(const fplt_design *design); /* of its columns */
const double *fplt__design_numbers(const fplt_design *design, size_t *count);
size_t fplt__design_room(const fplt_design *design); /* doubles that `expand` needs */

/* One row: `in` has the inputs, `out` gets the columns. FPLT_BAD_DATA for a value that was no level, or that has no
 * logarithm or root; the sentence has no row. */
fplt_status fplt__design_expand(const fplt_design *design, const double *in, double *room,
                                double *out, fplt_error *error);
/* Replaces the columns of a data set by those of the design. */
fplt_status fplt__design_apply(const fplt_design *design, const double *fill, fplt_dataset *dataset,
                               fplt_error *error);

#endif
