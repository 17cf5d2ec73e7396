/* Survival curves of a study as the program and the files that tabulate and draw them use them, beside fedplt/survival.h. */
#ifndef FPLT_STUDY_SURVIVAL_H
#define FPLT_STUDY_SURVIVAL_H

#include "fedplt/survival.h"
#include "study/document.h"
#include "study/life_table.h"

/* Site 0 is all of them, stratum 0 all rows; names belong to the curves, that of number 0 is NULL. */
size_t fplt__survival_sites(const fplt_survival *survival);
size_t fplt__survival_strata(const fplt_survival *survival);
const char *fplt__survival_site(const fplt_survival *survival, size_t site);
const char *fplt__survival_stratum(const fplt_survival *survival, size_t stratum);
/* Settled; belongs to the curves. */
const fplt__life_table *fplt__survival_table(const fplt_survival *survival, size_t site,
                                             size_t stratum);

/* Curves with confidence bands above a table of the numbers at risk, as .svg, .png or .pdf: the strata over all sites, or
 * without strata the sites. FPLT_BAD_VALUE where no curve has a step. */
fplt_status fplt__survival_picture(const fplt_survival *survival, const char *path,
                                   fplt_error *error);
/* The same picture as SVG in memory, and its size. `name` begins the message of FPLT_BAD_VALUE. */
fplt_status fplt__survival_draw(const fplt_survival *survival, const char *name, fplt__buffer *svg,
                                int *width, int *height, fplt_error *error);

/* All tables and notes as a document; HTML has the picture too. The text is released with fplt_free. FPLT_NO_MEMORY is the only
 * failure. */
fplt_status fplt__survival_report(const fplt_survival *survival, fplt__form form, char **text,
                                  fplt_error *error);

#endif
