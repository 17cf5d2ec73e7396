/* Documents of a study: tables under headings and notes, in one of five forms. */
#ifndef FPLT_STUDY_DOCUMENT_H
#define FPLT_STUDY_DOCUMENT_H

#include <jansson.h>

#include "base/buffer.h"
#include "fedplt/report.h"

typedef enum fplt__form {
    FPLT__FORM_TEXT,
    FPLT__FORM_CSV,
    FPLT__FORM_JSON,
    FPLT__FORM_HTML,
    FPLT__FORM_LATEX
} fplt__form;

typedef struct fplt__document {
    fplt__form form;
    fplt__buffer text;
} fplt__document;

/* Begins a page where the form is HTML; nothing elsewhere. */
void fplt__document_begin(fplt__document *to, const char *title);
void fplt__document_heading(fplt__document *to, const char *heading);
/* A table under a heading (NULL: none). JSON has no tables here. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__document_show(fplt__document *to, const fplt_table *table, const char *heading,
                                fplt_error *error);
/* The same of a table that is destroyed. */
fplt_status fplt__document_table(fplt__document *to, fplt_table *table, const char *heading,
                                 fplt_error *error);
/* A sentence without its full stop; `first`: an empty line before it where the form is text. */
void fplt__document_note(fplt__document *to, const char *note, int first);
/* An indented JSON document, whose reference is taken; NULL: there was no memory for it. */
fplt_status fplt__document_json(fplt__document *to, json_t *made, fplt_error *error);
/* The text, released with fplt_free; after a failure `status` it is NULL. Clears the document. */
fplt_status fplt__document_take(fplt__document *from, fplt_status status, char **text,
                                fplt_error *error);

#endif
