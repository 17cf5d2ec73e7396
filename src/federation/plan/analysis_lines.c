/* The lines of a site's file as rows, for analyses that count by a schema. */
#include <string.h>

#include "data/schema.h"
#include "data/schema_access.h"
#include "federation/plan/analysis.h"

fplt_status fplt__analysis_read_lines(const fplt__analysis *analysis,
                                      const fplt__analysis_site *site, fplt_dataset **rows,
                                      fplt_error *error)
{
    fplt_read_settings read = site->read;
    fplt_schema *lenient;
    fplt_status status = fplt__schema_parse(fplt__schema_text(analysis->schema),
                                            strlen(fplt__schema_text(analysis->schema)),
                                            "the proposal's schema", &lenient, error);
    if (status)
        return status;
    fplt__schema_be_lenient(lenient);
    for (size_t j = 0; j < lenient->columns; j++)
        lenient->column[j].missing = lenient->column[j].other = FPLT__NEUTRAL_ROW;
    read.schema = lenient;
    read.leave_out = 1;
    read.site = "none";
    read.label = NULL;
    read.labels = NULL;
    read.silent = 1; /* nothing is replaced in what is counted */
    status = fplt_dataset_read(&site->path, 1, &read, rows, error);
    fplt_schema_destroy(lenient);
    return status;
}
