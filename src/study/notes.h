/* Sentences for the reader of a table: what was left out or withheld, and why. */
#ifndef FPLT_STUDY_NOTES_H
#define FPLT_STUDY_NOTES_H

#include <stddef.h>

#include "fedplt/status.h"

/* Zeroed: none. */
typedef struct fplt__notes {
    char **text; /* owned, as every sentence */
    size_t count, capacity;
} fplt__notes;

/* Adds a sentence, cut to 1600 bytes. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__notes_add(fplt__notes *notes, fplt_error *error, const char *format, ...)
    FPLT_PRINTF(3, 4);
/* Number `index`; NULL past the last. */
const char *fplt__notes_get(const fplt__notes *notes, size_t index);
void fplt__notes_clear(fplt__notes *notes);

#endif
