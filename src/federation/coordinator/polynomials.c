/* Orthogonal polynomials of a formula over the rows of all sites: one step of facts for each phase of data/poly.h, and one that
 * tells the sites the numbers. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sum.h"
#include "data/poly.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/naming.h"
#include "federation/plan/run_design.h"

struct fplt__coordinator_polys {
    fplt__run_polys polys;
    double *state;   /* owned: FPLT__POLY_STATE numbers a column */
    double *numbers; /* owned: of the design */
    double *reach;   /* owned: one a column */
    fplt__sum *sum;  /* two a column */
};

void fplt__coordinator_forget_polys(fplt__coordinator *c)
{
    struct fplt__coordinator_polys *own = c->facts.polys;
    if (own) {
        fplt__free(own->state);
        fplt__free(own->numbers);
        fplt__free(own->reach);
        fplt__sum_destroy(own->sum);
    }
    fplt__free(own);
    fplt__free(c->facts.formula_numbers);
    c->facts.polys = NULL;
    c->facts.formula_numbers = NULL;
}

static fplt_status find_polys(fplt__coordinator *c, fplt__run_polys *polys, fplt_error *error)
{
    fplt_settings *settings;
    fplt_schema *schema = NULL;
    fplt__names columns = {0, NULL};
    fplt_status status = fplt__plan_resolution_settings(&c->proposal, 0, &settings, error);
    if (status)
        return status;
    if (fplt__run_needs_polys(settings) &&
        !(status = fplt__proposal_schema(&c->proposal, &schema, error)) &&
        !(status = fplt__naming_columns(schema, c->facts.dictionary, &columns, error)))
        status = fplt__run_polys_find(settings, &columns, polys, error);
    fplt__names_clear(&columns);
    fplt_schema_destroy(schema);
    fplt_settings_destroy(settings);
    return status;
}

static fplt_status make_polys(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_polys *own;
    fplt__coordinator_forget_polys(c);
    fplt_status status = fplt__alloc_into(&own, 1, sizeof *own, "facts", error);
    if (status)
        return status;
    c->facts.polys = own;
    if ((status = find_polys(c, &own->polys, error)) || !own->polys.count)
        return status;
    size_t count = own->polys.count;
    if ((status = fplt__alloc_into(&own->state, count * FPLT__POLY_STATE, sizeof(double), "facts",
                                   error)) ||
        (status = fplt__alloc_into(&own->numbers, fplt__run_polys_numbers(&own->polys),
                                   sizeof(double), "facts", error)) ||
        (status = fplt__alloc_into(&own->reach, count, sizeof(double), "facts", error)))
        return status;
    return fplt__sum_create(2 * count, FPLT_SUM_EXPONENT, &own->sum, error);
}

static void ask_phase(fplt__coordinator *c, unsigned phase)
{
    struct fplt__coordinator_polys *own = c->facts.polys;
    size_t count = own->polys.count;
    memset(c->facts.counted, 0, c->members);
    fplt__sum_clear(own->sum);
    fplt__coordinator_ask(c, FPLT__FACTS_POLYS + phase, own->state, count * FPLT__POLY_STATE,
                          phase ? 0 : (uint32_t)count, phase ? 2 * count : 0);
}

fplt_status fplt__coordinator_ask_polys(fplt__coordinator *c, int *asked, fplt_error *error)
{
    fplt_status status = make_polys(c, error);
    *asked = !status && c->facts.polys->polys.count > 0;
    if (*asked)
        ask_phase(c, 0);
    return status;
}

void fplt__coordinator_remember_polys(fplt__coordinator *c, const fplt__leader_action *action)
{
    struct fplt__coordinator_polys *own = c->facts.polys;
    uint32_t i = action->member_index;
    FPLT__ASSERT(own && own->polys.count);
    if (action->step == FPLT__FACTS_POLYS_KNOWN)
        return;
    if (action->step == FPLT__FACTS_POLYS)
        for (size_t v = 0; v < own->polys.count; v++)
            own->reach[v] = fmax(own->reach[v], action->scalars[v]);
    else if (!c->facts.counted[i] &&
             !fplt__sum_add_words(own->sum, 0, action->words, 2 * own->polys.count))
        c->facts.counted[i] = 1;
}

/* The state of every column whose degree has this phase. */
static fplt_status take_phase(fplt__coordinator *c, unsigned phase, fplt_error *error)
{
    struct fplt__coordinator_polys *own = c->facts.polys;
    double rows = 0;
    for (uint32_t i = 0; i < c->members; i++) {
        rows += (double)c->facts.records[i];
        if (phase && !c->facts.counted[i])
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "formula: the sums of %s for poly() are out of range; choose a "
                                  "smaller degree",
                                  c->roster[i]);
    }
    for (size_t v = 0; v < own->polys.count; v++) {
        double sums[2] = {own->reach[v], 0};
        if (phase >= fplt__poly_phases(own->polys.column[v].degree))
            continue;
        if (phase)
            fplt__sum_read(own->sum, 2 * v, sums, 2);
        if (!fplt__poly_take(own->state + v * FPLT__POLY_STATE, phase, sums, rows))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "formula: poly() number %zu needs more than %u distinct values",
                                  v + 1, own->polys.column[v].degree);
    }
    return FPLT_OK;
}

static fplt_status tell_numbers(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_polys *own = c->facts.polys;
    size_t at = 0, count = fplt__run_polys_numbers(&own->polys);
    for (size_t v = 0; v < own->polys.count; v++) {
        unsigned degree = own->polys.column[v].degree;
        fplt__poly_numbers(own->state + v * FPLT__POLY_STATE, degree, own->numbers + at);
        at += 2 * (size_t)degree + 1;
    }
    FPLT__ASSERT(at == count);
    fplt_status status =
        fplt__run_numbers_text(own->numbers, count, &c->facts.formula_numbers, error);
    if (!status)
        fplt__coordinator_ask(c, FPLT__FACTS_POLYS_KNOWN, own->numbers, count, 1, 0);
    return status;
}

fplt_status fplt__coordinator_take_polys(fplt__coordinator *c, unsigned step, fplt_error *error)
{
    unsigned phase = step - FPLT__FACTS_POLYS;
    FPLT__ASSERT(c->facts.polys && step >= FPLT__FACTS_POLYS && step < FPLT__FACTS_POLYS_KNOWN);
    fplt_status status = take_phase(c, phase, error);
    if (status)
        return status;
    if (phase + 1 == fplt__run_polys_phases(&c->facts.polys->polys))
        return tell_numbers(c, error);
    ask_phase(c, phase + 1);
    return FPLT_OK;
}
