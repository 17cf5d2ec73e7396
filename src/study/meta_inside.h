/* The inside of a meta-analysis: for the files that read, combine and draw estimates. */
#ifndef FPLT_STUDY_META_INSIDE_H
#define FPLT_STUDY_META_INSIDE_H

#include "data/text.h"
#include "study/meta.h"
#include "study/notes.h"

/* One term at one site; error is above 0. */
typedef struct fplt__meta_line {
    uint32_t site, term;
    double estimate, error;
} fplt__meta_line;

/* Invariant: no two lines have the same site and term. */
struct fplt__meta {
    fplt__lookup sites, terms;
    fplt__meta_line *line; /* owned */
    size_t lines, line_capacity;
    fplt__notes notes;
};

/* Combines the sites of a term. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__meta_of_term(const fplt__meta *meta, size_t term,
                               const fplt_meta_settings *settings, fplt_meta_result *result,
                               fplt_error *error);
/* "fixed", "random (REML)", ... */
const char *fplt__meta_name(const fplt_meta_settings *settings);

#endif
