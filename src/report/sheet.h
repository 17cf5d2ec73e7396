/* What the parts of a page share. */
#ifndef FPLT_REPORT_SHEET_H
#define FPLT_REPORT_SHEET_H

#include <jansson.h>

#include "base/buffer.h"
#include "fedplt/page.h"

typedef struct fplt__sheet {
    fplt__buffer *out;
    const fplt_model *model;
    const fplt_page *given;
    const json_t *record;      /* of the training; may lack anything */
    const json_t *certificate; /* NULL: trained without privacy */
    const json_t *evaluation;  /* or NULL */
} fplt__sheet;

/* The member of a member ...; NULL where one is missing. Ends with NULL. */
const json_t *fplt__sheet_find(const json_t *object, ...);
/* A number; NaN where there is none. */
double fplt__sheet_number(const json_t *value);
/* A text; "" where there is none. */
const char *fplt__sheet_text(const json_t *value);

/* Whether the rows of the evaluation are those of the training, or have them among them. */
int fplt__sheet_shows_training_rows(const fplt__sheet *page);

/* Opens a section; `id` is what links lead to. */
void fplt__sheet_section(const fplt__sheet *page, const char *id, const char *title);
/* Takes the table over, also where it is NULL. */
fplt_status fplt__sheet_table(const fplt__sheet *page, fplt_table *table, fplt_error *error);

fplt_status fplt__sheet_quality(const fplt__sheet *page, fplt_error *error);
/* Columns whose sign inside the sites is another one than over all rows. */
fplt_status fplt__sheet_reversals(const fplt__sheet *page, fplt_error *error);
fplt_status fplt__sheet_coefficients(const fplt__sheet *page, fplt_error *error);
fplt_status fplt__sheet_privacy(const fplt__sheet *page, fplt_error *error);

#endif
