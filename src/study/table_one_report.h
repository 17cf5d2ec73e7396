/* Table 1 as a document: for the command line, and as the result of an analysis over the network. */
#ifndef FPLT_STUDY_TABLE_ONE_REPORT_H
#define FPLT_STUDY_TABLE_ONE_REPORT_H

#include "fedplt/study.h"
#include "study/document.h"

/* Cells of the grid over a network, unless another number is given; the limits of that number. */
#define FPLT__TABLE_ONE_GRID "20"
enum { FPLT__TABLE_ONE_GRID_MIN = 2, FPLT__TABLE_ONE_GRID_MAX = 1000 };

/* The whole table with its notes; the text is released with fplt_free. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__table_one_report(const fplt_description *description, fplt__form form,
                                   char **text, fplt_error *error);
/* The document of FPLT__FORM_JSON: a new reference; NULL: there is no memory. */
json_t *fplt__table_one_json(const fplt_description *description);

#endif
