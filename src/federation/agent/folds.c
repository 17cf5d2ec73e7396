/* Folds of a site's rows: how many of them the disclosure rules can carry. Which rows are in which is nobody else's to know. */
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "federation/agent/local_data.h"
#include "federation/agent/questions.h"
#include "federation/agent/rules.h"
#include "job/job.h"

fplt_status fplt__rows_of_side(const fplt_dataset *rows, const unsigned char *held, int side,
                               fplt_dataset **made, fplt_error *error)
{
    size_t *order, count = 0;
    fplt_status status = fplt__alloc_into(&order, rows->rows, sizeof *order, "rows", error);
    if (status)
        return status;
    for (size_t r = 0; r < rows->rows; r++)
        if (held[r] == side)
            order[count++] = r;
    status = fplt__dataset_select(rows, order, &count, 1, 1, made, error);
    fplt__free(order);
    return status;
}

/* All of one try. */
struct dealing {
    const fplt__folds_of *of;
    fplt__row_set hashes;
    uint32_t *fold;      /* owned: of each row */
    size_t *size;        /* owned: rows of each fold that have an effect */
    unsigned char *held; /* owned */
};

/* Where others see the sums of the site, no class or column may tell a few of the rows from all others. */
static fplt_status judge_sides(const struct dealing *dealing, uint32_t fold, int *is_refused,
                               fplt_error *error)
{
    const fplt__folds_of *of = dealing->of;
    fplt_dataset *side;
    fplt_error reason;
    for (size_t r = 0; r < of->rows->rows; r++)
        dealing->held[r] = dealing->fold[r] == fold;
    for (int which = 0; which < 2 && !*is_refused; which++) {
        fplt_status status = fplt__rows_of_side(of->rows, dealing->held, which, &side, error);
        if (status)
            return status;
        *is_refused = fplt__cells_judge(of->site, side, fplt__job_read(of->reading).cluster,
                                        &reason) == FPLT_FAILED;
        fplt_dataset_destroy(side);
    }
    return FPLT_OK;
}

/* Every fold can be left out by itself: its rows carry a score and what the others carry differs by enough. */
static fplt_status try_folds(struct dealing *dealing, uint32_t folds, int *is_legal,
                             fplt_error *error)
{
    const fplt__folds_of *of = dealing->of;
    double least = fplt__rule_value(of->site, FPLT__RULE_HOLDOUT),
           apart = fplt__rule_value(of->site, FPLT__RULE_DIFFERENCING),
           left = fplt__rule_value(of->site, FPLT__RULE_ROWS);
    size_t all = 0;
    int is_refused = 0;
    fplt_status status =
        fplt__row_set_deal(&dealing->hashes, of->secret, folds, dealing->fold, error);
    if (status)
        return status;
    memset(dealing->size, 0, folds * sizeof *dealing->size);
    for (size_t r = 0; r < of->rows->rows; r++)
        if (fplt__row_has_effect(of->rows, of->schema, r)) {
            dealing->size[dealing->fold[r]]++;
            all++;
        }
    least = apart > least ? apart : least;
    for (uint32_t f = 0; f < folds && !is_refused && !status; f++) {
        is_refused = (double)dealing->size[f] < least || (double)(all - dealing->size[f]) < left;
        if (!is_refused && !of->is_pooled)
            status = judge_sides(dealing, f, &is_refused, error);
    }
    *is_legal = !is_refused && !status;
    return status;
}

fplt_status fplt__folds_count(const fplt__folds_of *of, uint32_t wanted, uint32_t *most,
                              fplt_error *error)
{
    struct dealing dealing = {.of = of};
    int is_legal = 0;
    uint32_t folds = wanted < of->rows->rows ? wanted : (uint32_t)of->rows->rows;
    *most = of->secret ? 0 : folds;
    if (!of->secret)
        return FPLT_OK;
    fplt_status status =
        fplt__row_set_read(of->reading, of->schema, of->rows, of->secret, &dealing.hashes, error);
    if (!status)
        status =
            fplt__alloc_into(&dealing.fold, of->rows->rows, sizeof *dealing.fold, "folds", error);
    if (!status)
        status = fplt__alloc_into(&dealing.size, folds, sizeof *dealing.size, "folds", error);
    if (!status)
        status = fplt__alloc_into(&dealing.held, of->rows->rows, 1, "folds", error);
    while (!status && folds >= 2 && !(status = try_folds(&dealing, folds, &is_legal, error)) &&
           !is_legal)
        folds--;
    if (!status && is_legal)
        *most = folds;
    fplt__row_set_clear(&dealing.hashes);
    fplt__free(dealing.fold);
    fplt__free(dealing.size);
    fplt__free(dealing.held);
    return status;
}
