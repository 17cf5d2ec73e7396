#include "lab/audit/observer.h"

#include <string.h>

#include "base/memory.h"

static void divide(struct fplt__observer *observer)
{
    size_t n = observer->dimension, epochs = observer->epochs;
    double *room = observer->room;
    for (size_t i = 0; i < observer->agents; i++) {
        struct fplt__training_seen *seen = &observer->seen[i];
        seen->centre = room;
        seen->start = seen->centre + n;
        seen->mean = seen->start + n;
        seen->out = seen->mean + epochs * n;
        seen->step = seen->out + epochs * n;
        seen->tau = seen->step + epochs;
        room = seen->tau + epochs;
    }
}

fplt_status fplt__observer_create(const fplt_noise_source *inner, size_t agents, size_t epochs,
                                  size_t dimension, struct fplt__observer **out, fplt_error *error)
{
    static const char what[] = "the audit";
    size_t numbers = 2 * dimension + 2 * epochs * dimension + 2 * epochs;
    fplt_status status = fplt__alloc_into(out, 1, sizeof **out, what, error);
    if (status)
        return status;
    struct fplt__observer *observer = *out;
    observer->inner = *inner;
    observer->agents = agents;
    observer->epochs = epochs;
    observer->dimension = dimension;
    if ((status = fplt__alloc_into(&observer->seen, agents, sizeof *observer->seen, what, error)) ||
        (status = fplt__alloc_into(&observer->room, agents * numbers, sizeof *observer->room, what,
                                   error))) {
        fplt__observer_destroy(observer);
        *out = NULL;
        return status;
    }
    divide(observer);
    return FPLT_OK;
}

void fplt__observer_destroy(struct fplt__observer *observer)
{
    if (!observer)
        return;
    fplt__free(observer->seen);
    fplt__free(observer->room);
    fplt__free(observer);
}

void fplt__observer_begin(struct fplt__observer *observer)
{
    observer->count = 0;
    observer->admitting = 0;
}

/* The training at hand; NULL where there are more than agents. */
static struct fplt__training_seen *current(struct fplt__observer *observer)
{
    return observer->count && observer->count <= observer->agents
               ? &observer->seen[observer->count - 1]
               : NULL;
}

static void begin_training(struct fplt__observer *observer)
{
    observer->count++;
    struct fplt__training_seen *seen = current(observer);
    if (seen)
        seen->calls = 0;
}

/* A training begins by showing its centre first and its start last. */
static fplt_status admit(void *context, double step, double tau, const char *what,
                         const double *vector, size_t count, fplt_error *error)
{
    struct fplt__observer *observer = context;
    const fplt_noise_source *inner = &observer->inner;
    int first = !observer->admitting;
    if (first)
        begin_training(observer);
    observer->admitting = 1;
    struct fplt__training_seen *seen = current(observer);
    if (seen)
        memcpy(first ? seen->centre : seen->start, vector, count * sizeof *vector);
    return inner->admit ? inner->admit(inner->context, step, tau, what, vector, count, error)
                        : FPLT_OK;
}

static fplt_status add(void *context, double step, double tau, const double *mean, double *out,
                       size_t count)
{
    struct fplt__observer *observer = context;
    if (observer->count == 0)
        begin_training(observer);
    observer->admitting = 0;
    struct fplt__training_seen *seen = current(observer);
    size_t call = seen ? seen->calls++ : observer->epochs;
    int kept = call < observer->epochs;
    if (kept) { /* before it draws: `out` may be `mean` */
        memcpy(seen->mean + call * count, mean, count * sizeof *mean);
        seen->step[call] = step;
        seen->tau[call] = tau;
    }
    fplt_status status = observer->inner.add(observer->inner.context, step, tau, mean, out, count);
    if (kept)
        memcpy(seen->out + call * count, out, count * sizeof *out);
    return status;
}

fplt_noise_source fplt__observer_source(struct fplt__observer *observer)
{
    return (fplt_noise_source){
        .size = sizeof(fplt_noise_source), .add = add, .context = observer, .admit = admit};
}
