/* Inverse probability weights from a propensity model of two classes: its second class is the treatment. */
#ifndef FPLT_STUDY_WEIGHTING_H
#define FPLT_STUDY_WEIGHTING_H

#include "fedplt/model.h"
#include "fedplt/read.h"
#include "fedplt/report.h"

typedef struct fplt__weighting_settings {
    int treated; /* the effect in the treated: they weigh 1, the others p/(1 - p); 0: 1/p and 1/(1 - p) */
    int stabilised; /* times the share of the row's group among all rows that the model was trained on */
    double
        truncate; /* weights beyond this quantile and its mirror become these; from 0, none, to below 1/2 */
    double low,
        high; /* instead bounds that are stated, so that every site has the same; 0 and INFINITY: none */
} fplt__weighting_settings;

/* Weights of the rows of some files, with what they do to the balance of the groups. */
typedef struct fplt__weighting fplt__weighting;

/* Reads the files as the model's own data were read, with their labels. FPLT_BAD_VALUE for a model that has no probabilities of
 * two classes; FPLT_BAD_DATA where a group has no rows or a weight is not finite. */
fplt_status fplt__weighting_make(const fplt_model *model, const char *const *paths, size_t count,
                                 const fplt_read_settings *read,
                                 const fplt__weighting_settings *settings,
                                 fplt__weighting **weighting, fplt_error *error);
/* NULL is legal. */
void fplt__weighting_destroy(fplt__weighting *weighting);

/* The bounds that weights were truncated to, and the share of treated rows that stabilised them. */
void fplt__weighting_bounds(const fplt__weighting *weighting, double *low, double *high,
                            double *share);
/* A line a group: rows, least, mean and largest weight, how many were truncated, and the effective sample size
 * (sum w)^2/sum w^2. */
fplt_status fplt__weighting_groups(const fplt__weighting *weighting, fplt_table **table,
                                   fplt_error *error);
/* A line a column of the model: standardised mean difference before and after weighting, both by the standard deviations before
 * it. */
fplt_status fplt__weighting_balance(const fplt__weighting *weighting, fplt_table **table,
                                    fplt_error *error);
/* File number `index` with one more column, `name`; rows that were left out are not in it. FPLT_UNSUPPORTED for files that
 * are no CSV text. Released with fplt_free. */
fplt_status fplt__weighting_text(const fplt__weighting *weighting, size_t index, const char *name,
                                 char **text, fplt_error *error);

#endif
