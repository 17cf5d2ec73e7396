/* A data set from matrices of R. R's matrices are column-major and its sparse ones CSC; the library's rows are
 * row-major or CSR. The one copy that this costs also brings the rows of a site together. */
#include "fedplt_r.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fedplt/columns.h"

/* Sparse rows in the layout of the library, lent to a data set until that is destroyed. */
typedef struct fpltr_block {
    double *value, *label, *weight, *offset;
    size_t *start;
    uint32_t *column;
} fpltr_block;

static void release_block(void *context)
{
    fpltr_block *block = context;
    if (!block)
        return;
    free(block->value);
    free(block->label);
    free(block->weight);
    free(block->offset);
    free(block->start);
    free(block->column);
    free(block);
}

static void finalize_block(SEXP pointer)
{
    release_block(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

void fpltr_finalize_dataset(SEXP pointer)
{
    fplt_dataset_destroy(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

fplt_dataset *fpltr_dataset_of(SEXP pointer)
{
    return R_ExternalPtrAddr(pointer);
}

fplt_dataset *fpltr_dataset_take(SEXP pointer)
{
    fplt_dataset *dataset = R_ExternalPtrAddr(pointer);
    if (!dataset)
        Rf_error("this data set was used already");
    R_ClearExternalPtr(pointer);
    return dataset;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = count && size > SIZE_MAX / count ? NULL : malloc(count ? count * size : 1);
    fplt_error error = {.status = FPLT_NO_MEMORY};
    if (!memory) {
        snprintf(error.text, sizeof error.text, "no memory for %.0f bytes of rows",
                 (double)count * (double)size);
        fpltr_fail(&error);
    }
    return memory;
}

static double *keep_numbers(const double *numbers, size_t count)
{
    if (!numbers)
        return NULL;
    double *to = allocate(count, sizeof *to);
    memcpy(to, numbers, count * sizeof *to);
    return to;
}

static const double *numbers_of(SEXP numbers)
{
    return Rf_isNull(numbers) ? NULL : REAL(numbers);
}

/* Columns `kept` (from 1) of a CSC matrix as rows: x is list(i, p, x, nrow). */
static void compress(SEXP x, const int *kept, size_t features, const int *order, size_t count,
                     fpltr_block *block)
{
    const int *row = INTEGER(VECTOR_ELT(x, 0)), *first = INTEGER(VECTOR_ELT(x, 1));
    const double *value = REAL(VECTOR_ELT(x, 2));
    size_t height = (size_t)Rf_asReal(VECTOR_ELT(x, 3)), entries = 0;
    int *place = (int *)R_alloc(height ? height : 1, sizeof *place); /* -1: row is left out */
    for (size_t r = 0; r < height; r++)
        place[r] = order ? -1 : (int)r;
    for (size_t r = 0; order && r < count; r++)
        place[order[r] - 1] = (int)r;
    block->start = allocate(count + 1, sizeof *block->start);
    memset(block->start, 0, (count + 1) * sizeof *block->start);
    for (size_t j = 0; j < features; j++)
        for (int e = first[kept[j] - 1]; e < first[kept[j]]; e++)
            if (place[row[e]] >= 0)
                block->start[place[row[e]] + 1]++;
    for (size_t r = 0; r < count; r++)
        block->start[r + 1] += block->start[r];
    entries = block->start[count];
    block->column = allocate(entries, sizeof *block->column);
    block->value = allocate(entries, sizeof *block->value);
    for (size_t j = 0; j < features; j++)
        for (int e = first[kept[j] - 1]; e < first[kept[j]]; e++)
            if (place[row[e]] >= 0) {
                size_t at = block->start[place[row[e]]]++;
                block->column[at] = (uint32_t)j;
                block->value[at] = value[e];
            }
    memmove(block->start + 1, block->start, count * sizeof *block->start);
    block->start[0] = 0;
}

/* Asked by the library while it copies. */
static int look_for_interrupt(void *context, size_t done, size_t total)
{
    int *interrupted = context;
    (void)done;
    (void)total;
    *interrupted = fpltr_is_interrupted();
    return *interrupted;
}

/* A matrix of doubles: the library makes its rows of the columns, which is the only copy. */
static fplt_status take_dense(SEXP x, SEXP kept, const int *order, const fplt_rows *beside,
                              fplt_task task, const size_t *agent_rows, uint32_t agents,
                              fplt_dataset **dataset, fplt_error *error)
{
    size_t features = (size_t)XLENGTH(kept), height = (size_t)Rf_nrows(x), *from = NULL;
    int interrupted = 0;
    const double **column = (const double **)R_alloc(features + 1, sizeof *column);
    for (size_t j = 0; j < features; j++)
        column[j] = REAL(x) + ((size_t)INTEGER(kept)[j] - 1) * height;
    if (order)
        from = (size_t *)R_alloc(beside->count + 1, sizeof *from);
    for (size_t r = 0; order && r < beside->count; r++)
        from[r] = (size_t)order[r] - 1;
    fplt_columns columns = {.count = beside->count,
                            .features = features,
                            .column = column,
                            .order = from,
                            .label = beside->label,
                            .weight = beside->weight,
                            .offset = beside->offset,
                            .watch = look_for_interrupt,
                            .context = &interrupted};
    fplt_status status =
        fplt_dataset_from_columns(&columns, task, agent_rows, agents, dataset, error);
    if (interrupted) {
        fplt_dataset_destroy(*dataset);
        fpltr_interrupt();
    }
    return status;
}

/* A sparse matrix: rows in memory of the glue, lent to the data set until that is destroyed. */
static fplt_status take_sparse(SEXP x, SEXP kept, const int *order, fplt_rows *rows, fplt_task task,
                               const size_t *agent_rows, uint32_t agents, SEXP holder,
                               fplt_dataset **dataset, fplt_error *error)
{
    fpltr_block *block = R_ExternalPtrAddr(holder);
    rows->features = (size_t)XLENGTH(kept);
    compress(x, INTEGER(kept), rows->features, order, rows->count, block);
    rows->start = block->start;
    rows->column = block->column;
    rows->value = block->value;
    rows->label = block->label = keep_numbers(rows->label, rows->count);
    rows->weight = block->weight = keep_numbers(rows->weight, rows->count);
    rows->offset = block->offset = keep_numbers(rows->offset, rows->count);
    fplt_status status =
        fplt_dataset_borrow(rows, task, agent_rows, agents, release_block, block, dataset, error);
    if (!status)
        R_ClearExternalPtr(holder); /* the data set's from now on */
    return status;
}

/* x: matrix of doubles, or list(i, p, x, nrow) of a dgCMatrix. kept: columns, from 1. order: rows of x site after site,
 * from 1, or NULL: as they are; a row may occur twice, unless x is sparse. label, weight, offset: in that order. sizes: rows of each site. names: list(features, sites, classes). */
SEXP fpltr_dataset(SEXP x, SEXP kept, SEXP order, SEXP label, SEXP weight, SEXP offset, SEXP sizes,
                   SEXP task, SEXP names)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_rows rows = {.count = 0};
    fplt_dataset *dataset = NULL;
    SEXP holder = PROTECT(fpltr_pointer(finalize_block));
    SEXP pointer = PROTECT(fpltr_pointer(fpltr_finalize_dataset));
    uint32_t agents = (uint32_t)XLENGTH(sizes);
    size_t *agent_rows = (size_t *)R_alloc(agents ? agents : 1, sizeof *agent_rows);
    for (uint32_t i = 0; i < agents; i++)
        rows.count += agent_rows[i] = (size_t)REAL(sizes)[i];
    const int *by = Rf_isNull(order) ? NULL : INTEGER(order);
    fpltr_block *block = calloc(1, sizeof *block);
    if (!block)
        Rf_error("no memory");
    R_SetExternalPtrAddr(holder, block);
    rows.label = numbers_of(label);
    rows.weight = numbers_of(weight);
    rows.offset = numbers_of(offset);
    fplt_task kind = (fplt_task)Rf_asInteger(task);
    fpltr_check(TYPEOF(x) == VECSXP
                    ? take_sparse(x, kept, by, &rows, kind, agent_rows, agents, holder, &dataset,
                                  &error)
                    : take_dense(x, kept, by, &rows, kind, agent_rows, agents, &dataset, &error),
                &error);
    R_SetExternalPtrAddr(pointer, dataset);
    fpltr_check(fplt_dataset_name(dataset, fpltr_strings(VECTOR_ELT(names, 0)),
                                  fpltr_strings(VECTOR_ELT(names, 1)),
                                  fpltr_strings(VECTOR_ELT(names, 2)), &error),
                &error);
    UNPROTECT(2);
    return pointer;
}
