/* Rows of a site by hashes under its secret: whether two runs are about the same rows, whatever columns they take. A row
 * of a CSV file is known by the text of all its fields, so neither the columns, the label nor the scale of a proposal
 * change it; a row of another format by its numbers. */
#ifndef FPLT_FEDERATION_ROW_SETS_H
#define FPLT_FEDERATION_ROW_SETS_H

#include "data/dataset.h"
#include "fedplt/schema.h"
#include "fedplt/settings.h"

typedef struct fplt__row_hash {
    uint8_t byte[16];
} fplt__row_hash;

/* A multiset. Sets that are compared are sorted. */
typedef struct fplt__row_set {
    fplt__row_hash *row; /* owned */
    size_t count, capacity;
} fplt__row_set;

void fplt__row_set_clear(fplt__row_set *set);
void fplt__row_set_sort(fplt__row_set *set);
/* Rows that are in one of two sorted sets and not in the other. */
size_t fplt__row_set_difference(const fplt__row_set *a, const fplt__row_set *b);

/* The rows of all data files, in their order, one for each row of `rows` as it was read (single agent, nothing held out);
 * unsorted. `reading`: the settings that the rows were read with; `schema`: of the proposal, or NULL. */
fplt_status fplt__row_set_read(const fplt_settings *reading, const fplt_schema *schema,
                               const fplt_dataset *rows, const uint8_t key[32], fplt__row_set *set,
                               fplt_error *error);
/* Which of `count` rows are held out: the share of them whose hashes under the key come first. held[r] is 1 or 0. Rows that
 * are added later change little, and a smaller share is part of a larger one. */
fplt_status fplt__row_set_hold_out(const fplt__row_set *set, const uint8_t key[32], double share,
                                   unsigned char *held, fplt_error *error);
/* Which fold each row is in, 0 to folds - 1: as many parts as even as they go of the rows in the order of their hashes
 * under the key. */
fplt_status fplt__row_set_deal(const fplt__row_set *set, const uint8_t key[32], uint32_t folds,
                               uint32_t *fold, fplt_error *error);
/* Whether the row has a weight above 0 and is not the neutral row of a schema (or NULL). */
int fplt__row_has_effect(const fplt_dataset *rows, const fplt_schema *schema, size_t r);
/* The rows with held[r] == side that have an effect: not those of weight 0, nor the neutral rows of a schema (or NULL).
 * Sorted. `held` NULL: all rows. */
fplt_status fplt__row_set_used(const fplt__row_set *set, const fplt_dataset *rows,
                               const fplt_schema *schema, const unsigned char *held, int side,
                               fplt__row_set *used, fplt_error *error);

#endif
