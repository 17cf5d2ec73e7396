/* Coarse grid, then pattern search [Hooke and Jeeves 1961]. */
#include "lab/tuning/search.h"

#include <math.h>
#include <string.h>

struct state {
    const fplt__search *search;
    fplt__found *found;
    fplt_error *error;
    fplt_status status;
    double step[FPLT__MAX_AXES];
};

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

static int is_better(const fplt__cost *a, const double *x, const fplt__found *best, unsigned axes)
{
    const fplt__cost *b = &best->cost;
    int order = compare(a->value, b->value);
    order = order ? order : compare(a->second, b->second);
    order = order ? order : compare(a->fine, b->fine);
    for (unsigned i = 0; !order && i < axes; i++)
        order = compare(x[i], best->point[i]);
    return order < 0;
}

/* Whether the point is a new best. Points outside the box and points beyond the budget are none. */
static int try(struct state *state, const double *point)
{
    const fplt__search *search = state->search;
    fplt__found *found = state->found;
    fplt__cost cost = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    if (state->status || found->points >= search->points)
        return 0;
    for (unsigned i = 0; i < search->count; i++)
        if (point[i] < search->axes[i].low || point[i] > search->axes[i].high)
            return 0;
    double limit = found->points ? found->cost.value : HUGE_VAL;
    state->status = search->cost_at(search->context, point, limit, &cost, state->error);
    if (state->status)
        return 0;
    if (found->points++ && !is_better(&cost, point, found, search->count))
        return 0;
    found->number = found->points - 1;
    memcpy(found->point, point, search->count * sizeof *point);
    found->cost = cost;
    return 1;
}

/* Points an axis: as many as leave about half of the budget. */
static unsigned grid_size(const fplt__search *search)
{
    unsigned size = 1;
    while (pow(size + 1, search->count) <= 0.45 * search->points)
        size++;
    return size;
}

static void coarse(struct state *state)
{
    const fplt__search *search = state->search;
    unsigned size = grid_size(search), total = 1;
    for (unsigned i = 0; i < search->count; i++) {
        total *= size;
        state->step[i] = (search->axes[i].high - search->axes[i].low) / (2 * size);
    }
    for (unsigned number = 0; size > 1 && number < total; number++) {
        double point[FPLT__MAX_AXES];
        for (unsigned i = 0, left = number; i < search->count; i++, left /= size)
            point[i] = search->axes[i].low + (2 * (left % size) + 1) * state->step[i];
        try(state, point);
    }
}

/* One step along each axis that helps, first in the direction that helped last. */
static int explore(struct state *state)
{
    int moved = 0;
    for (unsigned i = 0; i < state->search->count; i++)
        for (int turn = 0; turn < 2; turn++) {
            double point[FPLT__MAX_AXES];
            memcpy(point, state->found->point, sizeof point);
            point[i] += state->step[i];
            if (try(state, point)) {
                moved = 1;
                break;
            }
            state->step[i] = -state->step[i];
        }
    return moved;
}

/* One step up along all axes at once: a longer local step and a stronger correction often help only
 * together. */
static int leap(struct state *state)
{
    double point[FPLT__MAX_AXES];
    for (unsigned i = 0; i < state->search->count; i++)
        point[i] = state->found->point[i] + fabs(state->step[i]);
    return state->search->count > 1 && try(state, point);
}

/* On in the direction from `before` to the best point, twice as far each time, while it helps. */
static void stride(struct state *state, const double *before)
{
    double way[FPLT__MAX_AXES], point[FPLT__MAX_AXES];
    unsigned axes = state->search->count;
    for (unsigned i = 0; i < axes; i++)
        way[i] = state->found->point[i] - before[i];
    do {
        for (unsigned i = 0; i < axes; i++) {
            const fplt__axis *axis = &state->search->axes[i];
            point[i] = fmin(fmax(state->found->point[i] + way[i], axis->low), axis->high);
            way[i] *= 2;
        }
    } while (memcmp(point, state->found->point, axes * sizeof *point) != 0 && try(state, point));
}

static void refine(struct state *state)
{
    enum { HALVINGS = 8 };
    double before[FPLT__MAX_AXES];
    for (int halving = 0; halving < HALVINGS && state->found->points < state->search->points;) {
        memcpy(before, state->found->point, sizeof before);
        if (explore(state) || leap(state)) {
            stride(state, before);
            continue;
        }
        for (unsigned i = 0; i < state->search->count; i++)
            state->step[i] /= 2;
        halving++;
    }
}

fplt_status fplt__search_run(const fplt__search *search, fplt__found *found, fplt_error *error)
{
    struct state state = {.search = search, .found = found, .error = error};
    double start[FPLT__MAX_AXES] = {0};
    memset(found, 0, sizeof *found);
    for (unsigned i = 0; i < search->count; i++)
        start[i] = fmin(fmax(search->axes[i].start, search->axes[i].low), search->axes[i].high);
    try(&state, start);
    if (!search->count)
        return state.status;
    coarse(&state);
    refine(&state);
    return state.status;
}
