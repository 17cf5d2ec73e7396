/* Meta-analysis: estimates of each site alone, combined. */
#ifndef FPLT_STUDY_META_H
#define FPLT_STUDY_META_H

#include "fedplt/model.h"
#include "fedplt/read.h"
#include "fedplt/report.h"
#include "fedplt/study.h"

/* Estimates of several terms at several sites. */
typedef struct fplt__meta fplt__meta;

/* Reads a CSV file with the columns site, term, estimate and std_error. */
fplt_status fplt__meta_read(const char *path, const fplt_read_settings *read, fplt__meta **meta,
                            fplt_error *error);
/* Fits the model's loss without a penalty at every site of the data alone. A site without a fit is named in a note. */
fplt_status fplt__meta_fit(const fplt_model *model, const fplt_dataset *dataset, fplt__meta **meta,
                           fplt_error *error);
/* NULL is legal. */
void fplt__meta_destroy(fplt__meta *meta);

size_t fplt__meta_terms(const fplt__meta *meta);
const char *fplt__meta_term(const fplt__meta *meta, size_t term);
/* Sentences about sites that are left out: number `index`; NULL past the last. */
const char *fplt__meta_note(const fplt__meta *meta, size_t index);

/* term, site, estimate, std_error, low, high: one line for each; intervals are those of the normal distribution. */
fplt_status fplt__meta_sites_table(const fplt__meta *meta, double level, fplt_table **table,
                                   fplt_error *error);
/* Two lines for each term, with fixed effects and with `settings`. */
fplt_status fplt__meta_table(const fplt__meta *meta, const fplt_meta_settings *settings,
                             fplt_table **table, fplt_error *error);

/* A forest plot of one term as SVG, PNG or PDF by the extension: sites with their intervals, and both combined
 * estimates. */
fplt_status fplt__meta_forest(const fplt__meta *meta, size_t term,
                              const fplt_meta_settings *settings, const char *path,
                              fplt_error *error);

#endif
