/* A report about a model to read, print and share: one HTML file that loads nothing from a network
 * and runs no script.
 *
 * Threads and blocking: thread-safe, as everything is only read; nothing blocks. */
#ifndef FEDPLT_PAGE_H
#define FEDPLT_PAGE_H

#include "fedplt/assessment.h"
#include "fedplt/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of an analysis over the network: its kind, and its table as text. Borrowed. */
typedef struct fplt_page_analysis {
    const char *kind, *text;
} fplt_page_analysis;

/* Contents of the report besides the model; everything borrowed. May grow at its end. */
typedef struct fplt_page {
    const char *title;           /* NULL: from the loss and the label */
    const fplt_history *history; /* of its training, or NULL */
    const char *evaluation;      /* as fplt_assessment_text writes it, or NULL */
    const char *evaluated_on;    /* which rows those were, or NULL */
    double level;                /* of intervals */
    const fplt_model *refitted; /* the same model without its penalty (fplt_model_infer), or NULL */
    const fplt_page_analysis *analysis; /* `analyses` of them; NULL: none */
    size_t analyses;
} fplt_page;

/* Nothing but the model, level 0.95. */
FPLT_API fplt_page fplt_page_defaults(void);

/* Writes the report: the training and its data, convergence, coefficients with their errors where the model has the
 * sums for them, quality per site with ROC and calibration, the certificate of a private run in plain
 * words, and every parameter with its reason. Each text is escaped. The page is released with
 * fplt_free. FPLT_UNSUPPORTED for a history, an evaluation or an analysis beside a model that was
 * trained with privacy: they would reveal records without noise. */
FPLT_API fplt_status fplt_model_page(const fplt_model *model, const fplt_page *page, char **html,
                                     fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
