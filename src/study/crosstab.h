/* Tables of counts with totals, and which of their cells must not be shown. */
#ifndef FPLT_STUDY_CROSSTAB_H
#define FPLT_STUDY_CROSSTAB_H

#include <stddef.h>

#include "fedplt/status.h"

/* The interval that is published for a count. Equal ends: the count itself. */
typedef struct fplt__count {
    size_t low, high;
} fplt__count;

/* `rows` x `columns` counts with a further row and column of totals. Invariant after fplt__crosstab_total(): the totals are
 * those of the counts. After fplt__crosstab_protect() `hidden` marks the cells that are not shown, and low and high of
 * `shown` are the least and largest count that the cells that are shown, the totals among them, leave possible. */
typedef struct fplt__crosstab {
    size_t rows, columns;
    int columns_stay;      /* totals of columns are shown elsewhere, and are never hidden */
    size_t *count;         /* (rows + 1) (columns + 1), row after row */
    fplt__count *shown;    /* as many */
    unsigned char *hidden; /* as many */
} fplt__crosstab;

/* All counts 0 and shown. Released with fplt__crosstab_destroy. FPLT_NO_MEMORY is the only failure. */
fplt_status fplt__crosstab_create(size_t rows, size_t columns, fplt__crosstab **table,
                                  fplt_error *error);
/* NULL is legal. */
void fplt__crosstab_destroy(fplt__crosstab *table);

/* The place of a cell; row `rows` and column `columns` are the totals. */
static inline size_t fplt__crosstab_at(const fplt__crosstab *table, size_t row, size_t column)
{
    return row * (table->columns + 1) + column;
}

/* Fills the totals, and shows every cell. */
void fplt__crosstab_total(fplt__crosstab *table);

/**
 * Hides counts from 1 to minimum - 1 (primary suppression), and as many others as are needed so that totals and cells that
 * are shown leave at least `minimum` values possible for each of them (secondary suppression).
 *
 * The grand total stays, and where the table says so the totals of columns: they are shown elsewhere. A table is a network of flows in which every row and
 * column is a node and every cell an arc; the values that are possible for a hidden cell follow from largest flows, and
 * the cells to hide beside it are those of the cheapest path, by their counts. If no path helps, all but these totals are
 * hidden.
 *
 * @param minimum  0 or 1: nothing is hidden
 * @retval FPLT_NO_MEMORY  the only failure
 */
fplt_status fplt__crosstab_protect(fplt__crosstab *table, size_t minimum, fplt_error *error);

#endif
