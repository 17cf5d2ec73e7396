/* The test of proportional hazards over a network: the sums of a site as numbers that can be sent, and the tests of all sites from
 * these numbers. */
#ifndef FPLT_STUDY_HAZARD_WORDS_H
#define FPLT_STUDY_HAZARD_WORDS_H

#include "fedplt/survival.h"
#include "study/document.h"
#include "study/notes.h"

/* Numbers that a site sends of a model with n columns, two words each. */
uint64_t fplt__hazard_sent(size_t n);
/* Those of them that say something about its rows. */
uint64_t fplt__hazard_cost(size_t n);

/* FPLT_UNSUPPORTED, with the reason, for a model without such a test; or of too many columns. */
fplt_status fplt__hazard_test_check(const fplt_model *model, fplt_error *error);

/* What a site lets out. */
typedef struct fplt__hazard_rules {
    size_t minimum;       /* of events, and of rows without one; 0: no rule */
    double per_parameter; /* events for each column, at least; 0: no rule */
    double
        dominant; /* largest share of one event in the norms of g (x - m), and in the traces of g^2 V; 0: no rule */
    /* Sums are told where at most the share `saturated` of the rows has a linear predictor above `steep` in absolute value;
     * 0: no rule. With a steeper model a mean over those at risk is a single row. */
    double steep, saturated;
} fplt__hazard_rules;

/* The sums of the rows of one site. What the rules do not let out stays: of such a site nothing but that is told. Transform: identity
 * or log. FPLT_BAD_DATA: a time is 0 and has no logarithm. */
fplt_status fplt__hazard_export(const fplt_model *model, const fplt_rows *rows,
                                fplt_hazard_transform transform, const fplt__hazard_rules *rules,
                                uint64_t *words, fplt_error *error);

/* The tests of all sites. */
typedef struct fplt__hazard_tests {
    fplt_table *table; /* owned; as fplt_hazard_test() has it */
    fplt__notes notes; /* sites that are left out, and why */
    fplt_hazard_transform transform;
} fplt__hazard_tests;

/**
 * @param names  one a site
 * @param words  one array a site, as fplt__hazard_export() writes it; untrusted
 * @param tests  out: cleared by the caller also after a failure; zeroed before
 * @retval FPLT_BAD_DATA  the numbers of a site cannot be, and the message names it; or all sites keep theirs
 */
fplt_status fplt__hazard_import(const fplt_model *model, fplt_hazard_transform transform,
                                int columns, const char *const *names, const uint64_t *const *words,
                                size_t sites, fplt__hazard_tests *tests, fplt_error *error);
void fplt__hazard_tests_clear(fplt__hazard_tests *tests);

/* The tests with their notes as a document, released with fplt_free. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__hazard_tests_report(const fplt__hazard_tests *tests, fplt__form form, char **text,
                                      fplt_error *error);

#endif
