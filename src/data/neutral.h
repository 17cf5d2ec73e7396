/* With privacy no record of an fplt file is refused for its content. */
#ifndef FPLT_DATA_NEUTRAL_H
#define FPLT_DATA_NEUTRAL_H

#include "data/dataset.h"
#include "data/schema.h"

/* What was changed; said at the site only. */
typedef struct fplt__neutral_counts {
    size_t
        cells;   /* numbers that became the value declared for missing ones, or the nearest bound */
    size_t rows; /* rows that became the neutral row */
} fplt__neutral_counts;

/* Numbers, labels and columns of rows that the schema does not allow, as they would be read from a CSV or LIBSVM file: numbers
 * are clipped to their bounds, missing ones replaced as declared, and other rows become the neutral row (rows of a sparse data
 * set: all entries 0). `write`: changes the data set, whose arrays must then be writable; otherwise counts only. The data set has
 * the features of the schema, and its starts are in order. */
fplt__neutral_counts fplt__neutral_rows(fplt_dataset *dataset, const fplt_schema *schema,
                                        int write);

#endif
