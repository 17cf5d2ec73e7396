/* Columns of the files of a study: the site of a row, its words, and the order in which words are shown. */
#ifndef FPLT_STUDY_COLUMNS_H
#define FPLT_STUDY_COLUMNS_H

#include "data/builder.h"
#include "data/schema.h"
#include "fedplt/read.h"

/* A word that stands for a missing value. */
#define FPLT__ONE_NONE "\x1e"

/* What a schema says of a column; NULL: nothing, or there is no schema. */
const fplt__declared *fplt__study_declared(const fplt_schema *schema, const char *name);

/* The column that is the site: named by the settings, of that type in the schema, or called `site`; FPLT__NOWHERE: none. */
uint32_t fplt__study_site_column(const fplt_read_settings *read, const fplt__lookup *names);

/* The text of a value as a level: as the schema calls it (`declared` may be NULL), or the shortest text of a number, written to
 * `room`. Returns NULL for a missing value. */
const char *fplt__study_word(const fplt__declared *declared, const fplt__field *field,
                             char room[32], fplt__span *word);

/* The words from number `first` on in the order in which they are shown: as declared, otherwise sorted; a missing value last.
 * The new array is released with fplt__free. */
fplt_status fplt__study_order(const fplt__lookup *words, uint32_t first,
                              const fplt__declared *declared, uint32_t **order, fplt_error *error);

#endif
