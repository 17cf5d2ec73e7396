/* The inside of a Table 1 with privacy: for the files that estimate and write it. */
#ifndef FPLT_STUDY_PRIVATE_TABLE_INSIDE_H
#define FPLT_STUDY_PRIVATE_TABLE_INSIDE_H

#include "study/private_table.h"

/* Columns of a table that is read side by side, at most. */
enum { FPLT__PRIVATE_SIDES = 52 };

struct fplt__private_table {
    const fplt_describe_settings *settings; /* borrowed */
    fplt__private_scale scale;
    size_t sites, each; /* numbers of a site */
    char **names;       /* owned, as every name */
    uint64_t *rows;     /* owned: of each site */
    int64_t *numbers;   /* owned: sites x each */
};

/* Lines of counts of a column: levels or cells, then the rows without a value. */
size_t fplt__private_count_lines(const fplt_describe_settings *settings,
                                 const fplt__declared *column);
/* The column whose levels are the strata; NULL: none. */
const fplt__declared *fplt__private_by(const fplt__private_table *table);

#endif
