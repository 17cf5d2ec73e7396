/* Preparation over the network: from sums and counts of the members to what fills missing values and balances classes. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"

void fplt__coordinator_ask(fplt__coordinator *c, unsigned step, const double *down, uint64_t count,
                           uint32_t scalars, uint64_t numbers)
{
    FPLT__ASSERT(step < FPLT__FACTS_STEPS);
    FPLT__ASSERT(down || !count);
    fplt__leader_event event = {.kind = FPLT__LEADER_ASK,
                                .ask = {step, down, count, scalars, numbers}};
    fplt__coordinator_handle(c, &event);
}

void fplt__coordinator_forget_preparation(fplt__coordinator *c)
{
    struct fplt__coordinator_preparing *p = &c->facts.preparing;
    double **const reals[] = {&p->largest, &p->unit, &p->counted, &p->spread, &p->fill};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        fplt__free(*reals[i]);
        *reals[i] = NULL;
    }
    fplt__free(p->class_rows);
    fplt__sum_destroy(p->sum);
    fplt__preparation_clear(&p->wanted);
    fplt_settings_destroy(p->settings);
    memset(p, 0, sizeof *p);
}

void fplt__coordinator_remember_preparation(fplt__coordinator *c, const fplt__leader_action *action)
{
    struct fplt__coordinator_preparing *p = &c->facts.preparing;
    if (action->step == FPLT__FACTS_SPANS)
        for (size_t j = 0; j < p->wanted.fills; j++)
            p->largest[j] = fmax(p->largest[j], fmax(fabs(action->scalars[2 * j]),
                                                     fabs(action->scalars[2 * j + 1])));
    else if (action->step != FPLT__FACTS_PREPARED && !c->facts.counted[action->member_index] &&
             !fplt__sum_add_words(p->sum, 0, action->words, action->numbers))
        c->facts.counted[action->member_index] = 1;
}

static fplt_status make_room(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_preparing *p = &c->facts.preparing;
    size_t features = p->wanted.fills, numbers = (size_t)fplt__preparation_numbers(&p->wanted);
    fplt_status status;
    if ((status = fplt__alloc_into(&p->largest, features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&p->unit, features, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&p->counted, numbers, sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&p->spread, p->wanted.cells, sizeof(double), "facts", error)) ||
        (status =
             fplt__alloc_into(&p->class_rows, p->wanted.classes, sizeof(uint64_t), "facts", error)))
        return status;
    return fplt__alloc_into(&p->fill, features, sizeof(double), "facts", error);
}

/* An empty sum of as many numbers. */
static fplt_status begin_sum(fplt__coordinator *c, size_t numbers, int exponent, fplt_error *error)
{
    memset(c->facts.counted, 0, c->members);
    fplt__sum_destroy(c->facts.preparing.sum);
    c->facts.preparing.sum = NULL;
    return fplt__sum_create(numbers, exponent, &c->facts.preparing.sum, error);
}

static fplt_status end_sum(const fplt__coordinator *c, double *numbers, size_t count,
                           fplt_error *error)
{
    for (uint32_t i = 0; i < c->members; i++)
        if (!c->facts.counted[i])
            return fplt_error_set(error, FPLT_BAD_DATA, "the counts of %s are out of range",
                                  c->roster[i]);
    fplt__sum_read(c->facts.preparing.sum, 0, numbers, count);
    return FPLT_OK;
}

static fplt_status ask_counts(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_preparing *p = &c->facts.preparing;
    size_t features = p->wanted.counts ? p->wanted.fills : 0,
           numbers = (size_t)fplt__preparation_numbers(&p->wanted);
    fplt_status status = begin_sum(c, numbers, FPLT__FILL_EXPONENT, error);
    if (status)
        return status;
    for (size_t j = 0; j < features; j++)
        p->unit[j] = fplt__preparation_unit(&p->wanted, j, p->largest[j]);
    fplt__coordinator_ask(c, FPLT__FACTS_COUNTS, p->unit, features, 0, numbers);
    return FPLT_OK;
}

static fplt_status ask_cells(fplt__coordinator *c, fplt_error *error)
{
    size_t cells = c->facts.preparing.wanted.cells;
    fplt_status status = begin_sum(c, cells, FPLT_SUM_EXPONENT, error);
    if (!status)
        fplt__coordinator_ask(c, FPLT__FACTS_CELLS, NULL, 0, 0, cells);
    return status;
}

/* Tells what was found: the number of columns and what fills each, the number of classes and the rows of each. */
static fplt_status tell_prepared(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_preparing *p = &c->facts.preparing;
    size_t fills = p->wanted.fills, classes = p->wanted.classes;
    double *down;
    fplt_status status =
        fplt__preparation_settle(&p->wanted, p->counted, p->unit, p->spread, p->fill, error);
    if (!status)
        status = fplt__alloc_into(&down, fills + classes + 2, sizeof *down, "facts", error);
    if (status)
        return status;
    down[0] = (double)fills;
    if (fills)
        memcpy(down + 1, p->fill, fills * sizeof *down);
    down[fills + 1] = (double)classes;
    for (size_t k = 0; k < classes; k++)
        down[fills + 2 + k] = (double)p->class_rows[k];
    fplt__coordinator_ask(c, FPLT__FACTS_PREPARED, down, fills + classes + 2, FPLT__COLUMNS_SCALARS,
                          0);
    fplt__free(down);
    return FPLT_OK;
}

static fplt_status take_counts(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_preparing *p = &c->facts.preparing;
    size_t numbers = (size_t)fplt__preparation_numbers(&p->wanted);
    fplt_status status = end_sum(c, p->counted, numbers, error);
    for (uint32_t k = 0; k < p->wanted.classes && !status; k++) {
        double rows = p->counted[numbers - p->wanted.classes + k];
        if (fplt__is_whole(rows, 0, 9007199254740992.0))
            p->class_rows[k] = (uint64_t)rows;
        else
            status = fplt_error_set(error, FPLT_BAD_DATA, "class %u has %g rows, which cannot be",
                                    k + 1, rows);
    }
    if (status)
        return status;
    return p->wanted.cells ? ask_cells(c, error) : tell_prepared(c, error);
}

fplt_status fplt__coordinator_begin_preparing(fplt__coordinator *c, int *wanted, fplt_error *error)
{
    struct fplt__coordinator_preparing *p = &c->facts.preparing;
    fplt__coordinator_forget_preparation(c);
    fplt_status status = fplt__plan_resolution_settings(&c->proposal, 0, &p->settings, error);
    *wanted = 0;
    if (status)
        return status;
    unsigned steps = fplt__preparation_steps(p->settings);
    *wanted = steps != 0;
    if (!steps)
        return FPLT_OK;
    if ((status = fplt__preparation_make(p->settings, c->facts.dictionary, &c->facts.form,
                                         &p->wanted, error)) ||
        (status = make_room(c, error)))
        return status;
    if (steps >> FPLT__FACTS_SPANS & 1) {
        fplt__coordinator_ask(c, FPLT__FACTS_SPANS, NULL, 0, (uint32_t)(2 * p->wanted.fills), 0);
        return FPLT_OK;
    }
    return steps >> FPLT__FACTS_COUNTS & 1 ? ask_counts(c, error) : tell_prepared(c, error);
}

fplt_status fplt__coordinator_go_on_preparing(fplt__coordinator *c, int step, fplt_error *error)
{
    struct fplt__coordinator_preparing *p = &c->facts.preparing;
    if (step == FPLT__FACTS_SPANS)
        return ask_counts(c, error);
    if (step == FPLT__FACTS_COUNTS)
        return take_counts(c, error);
    fplt_status status = end_sum(c, p->spread, p->wanted.cells, error);
    return status ? status : tell_prepared(c, error);
}
