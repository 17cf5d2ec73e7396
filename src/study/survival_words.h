/* Survival curves over a network: the life tables that a site releases as numbers that can be sent, and the curves of all sites
 * from these numbers. Grid and strata are those of a schema, so that every site sends the same numbers in the same order. */
#ifndef FPLT_STUDY_SURVIVAL_WORDS_H
#define FPLT_STUDY_SURVIVAL_WORDS_H

#include "study/survival.h"

/* Refuses settings that do not fix the numbers: no schema with a time and an event, no grid of a width, or strata that are not
 * declared levels. */
fplt_status fplt__survival_check(const fplt_survival_settings *settings, fplt_error *error);

/* The width of the cells where none is given: 20 to 50 of them up to the bound of the time. Of a schema that has one. */
double fplt__survival_width(const fplt_schema *schema);

/* Numbers that a site sends, two words each; of settings that fplt__survival_check() accepts, as below. */
uint64_t fplt__survival_sent(const fplt_survival_settings *settings);
/* Numbers of them that say something about `rows` rows, at most: no count from 1 to minimum - 1 is sent. */
uint64_t fplt__survival_cost(const fplt_survival_settings *settings, uint64_t rows, size_t minimum);

/* What the one site of the curves releases, as cells of the grid. */
void fplt__survival_export(const fplt_survival *survival, uint64_t *words);
/* Which rows of the file, as they stand there, are in no curve: aside[r] is 1; newly allocated (fplt__free). */
fplt_status fplt__survival_aside(const fplt_survival *survival, unsigned char **aside, size_t *rows,
                                 fplt_error *error);

/**
 * The curves of all sites.
 *
 * @param settings  as at the sites but for the minimum, which each site sends; borrowed for the life of the curves
 * @param names     one a site
 * @param words     one array a site, as fplt__survival_export() writes it; untrusted
 * @retval FPLT_BAD_DATA  the numbers of a site cannot be, and the message names it; or no site has a row
 */
fplt_status fplt__survival_import(const fplt_survival_settings *settings, const char *const *names,
                                  const uint64_t *const *words, size_t sites,
                                  fplt_survival **survival, fplt_error *error);

#endif
