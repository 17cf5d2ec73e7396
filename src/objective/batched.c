/* Agents with few and short records beside each other (linalg/batched.h): of the logistic cost with a ridge or
 * none, in panels, that is plain. The numbers are those of one agent after the other, bit for bit. */
#include "objective/objective.h"

#include <math.h>

/* Numbers of an agent's records at most: four agents' then stay in the first-level cache. */
enum { NUMBERS = 512 };

static int fits(const fplt_objective *o, size_t rows)
{
    return rows && rows * (o->columns + 1) <= NUMBERS && o->like.layout == FPLT_PANELS &&
           !o->narrow;
}

void fplt__objective_pair_up(fplt_objective *o)
{
    size_t rows = 0;
    o->batched = 0;
    if (!o->plain || !o->kernel->batched || !o->loss->sigmoid ||
        o->penalty.kind->least != o->penalty.kind->most || o->penalty.units)
        return;
    for (uint32_t i = 0; i < o->agents; i++)
        if (fits(o, fplt__rows_of(o, i)) && fplt__rows_of(o, i) > rows)
            rows = fplt__rows_of(o, i);
    if (!rows)
        return;
    o->batched = 1;
    size_t room = FPLT_BATCHED * (fplt__padded(rows) * o->columns + rows + 3 * o->columns);
    o->scratch = o->scratch < room ? room : o->scratch;
}

size_t fplt__objective_batched(const fplt_objective *o)
{
    return o->batched ? FPLT_BATCHED : 1;
}

/* The records of some agents interleaved; how many rows the longest has, zero where one does not fit. */
static size_t gather(const fplt_objective *o, const uint32_t *agent, double *to)
{
    fplt__matrix matrix[FPLT_BATCHED];
    const fplt__matrix *a[FPLT_BATCHED];
    size_t rows = 0;
    for (size_t i = 0; i < FPLT_BATCHED; i++) {
        if (!fits(o, fplt__rows_of(o, agent[i])))
            return 0;
        matrix[i] = fplt__matrix_of(o, agent[i]);
        a[i] = &matrix[i];
        rows = a[i]->rows > rows ? a[i]->rows : rows;
    }
    o->kernel->batched->interleave(a, rows, to);
    return rows;
}

/* Vectors of several, lane by lane; NULL where they have none. */
static const double *side_by_side(const double *const *from, size_t count, double *to)
{
    if (!from[0])
        return NULL;
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < FPLT_BATCHED; i++)
            to[j * FPLT_BATCHED + i] = from[i][j];
    return to;
}

int fplt__objective_descend(const fplt_objective *o, const fplt__course *course, uint32_t epochs,
                            double *scratch)
{
    uint32_t agent[FPLT_BATCHED];
    const double *start[FPLT_BATCHED], *linear[FPLT_BATCHED], *centre[FPLT_BATCHED];
    double factor[FPLT_BATCHED], ridge[FPLT_BATCHED], step[FPLT_BATCHED], pull[FPLT_BATCHED];
    size_t n = o->dimension, vector = n * FPLT_BATCHED;
    if (!o->batched)
        return 0;
    for (size_t i = 0; i < FPLT_BATCHED; i++) {
        const fplt__place *place = &o->place[course[i].agent];
        if (!course[i].linear != !course->linear || !course[i].centre != !course->centre)
            return 0;
        agent[i] = course[i].agent;
        start[i] = course[i].w;
        linear[i] = course[i].linear;
        centre[i] = course[i].centre;
        factor[i] = place->scale / (double)fplt__rows_of(o, agent[i]);
        ridge[i] = place->scale * o->penalty.weight;
        step[i] = course[i].step;
        pull[i] = course[i].inverse_rho;
    }
    double *w = scratch, *rows = scratch + 3 * vector;
    size_t count = gather(o, agent, rows);
    if (!count)
        return 0;
    side_by_side(start, n, w);
    fplt__descent descent = {
        .rows = rows,
        .count = count,
        .columns = o->columns,
        .regularised = fplt__objective_regularised(o),
        .factor = factor,
        .step = step,
        .pull = pull,
        .ridge = o->penalty.kind->most > 0 ? ridge : NULL,
        .linear = side_by_side(linear, n, w + vector),
        .centre = side_by_side(centre, n, w + 2 * vector),
        .epochs = epochs,
        .slopes = rows + fplt__padded(count) * vector,
        .w = w,
    };
    o->kernel->batched->descend(&descent);
    for (size_t i = 0; i < FPLT_BATCHED; i++)
        for (size_t j = 0; j < n; j++)
            course[i].w[j] = w[j * FPLT_BATCHED + i];
    return 1;
}

int fplt__objective_measures(const fplt_objective *o, uint32_t first, const double *x, double *out,
                             size_t stride, double *scratch)
{
    uint32_t agent[FPLT_BATCHED];
    double q[FPLT_BATCHED];
    size_t n = o->dimension, vector = n * FPLT_BATCHED;
    if (!o->batched)
        return 0;
    for (size_t j = 0; j < n; j++)
        if (!isfinite(x[j]))
            return 0;
    for (uint32_t i = 0; i < FPLT_BATCHED; i++) {
        agent[i] = first + i;
        q[i] = (double)fplt__rows_of(o, agent[i]);
        fplt__objective_approach(o, agent[i] + 2 * FPLT_BATCHED, 0);
        fplt__objective_approach(o, agent[i] + FPLT_BATCHED, 1);
    }
    double *sums = scratch, *rows = scratch + 3 * vector;
    size_t count = gather(o, agent, rows);
    fplt__inspection inspection = {.rows = rows,
                                   .count = count,
                                   .columns = o->columns,
                                   .q = q,
                                   .x = x,
                                   .slopes = rows + fplt__padded(count) * vector,
                                   .sums = sums};
    if (!count || !o->kernel->batched->inspect(&inspection))
        return 0;
    double r = fplt__penalty_value(&o->penalty, x);
    for (size_t i = 0; i < FPLT_BATCHED; i++, out += stride) {
        double scale = o->place[agent[i]].scale;
        for (size_t j = 0; j < n; j++)
            out[j] = sums[j * FPLT_BATCHED + i];
        fplt__records_finish(o, scale, fplt__rows_of(o, agent[i]), x, out, out);
        out[n] = scale * (inspection.losses[i] / q[i] + r);
        out[n + 1] = inspection.below[i];
    }
    return 1;
}

int fplt__objective_largest(const fplt_objective *o, uint32_t first, double *largest)
{
    double rows[FPLT_BATCHED * 2 * NUMBERS], q[FPLT_BATCHED];
    uint32_t agent[FPLT_BATCHED];
    if (!o->batched || o->columns < 2 || o->columns > FPLT_BATCHED_ORDER)
        return 0;
    for (uint32_t i = 0; i < FPLT_BATCHED; i++) {
        agent[i] = first + i;
        fplt__objective_approach(o, agent[i] + 2 * FPLT_BATCHED, 0);
        fplt__objective_approach(o, agent[i] + FPLT_BATCHED, 1);
        q[i] = (double)fplt__rows_of(o, agent[i]);
    }
    size_t count = gather(o, agent, rows);
    return count && o->kernel->batched->largest(rows, count, o->columns, q, largest);
}
