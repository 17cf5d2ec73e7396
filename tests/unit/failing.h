/* An allocator that fails once, at a chosen allocation, and counts what is alive. */
#ifndef FPLT_TESTS_FAILING_H
#define FPLT_TESTS_FAILING_H

#include <limits.h>
#include <stdlib.h>

#include "fedplt/memory.h"

typedef struct failing {
    long allocations, alive, fail_at; /* the allocation number fail_at, from 0, gives NULL */
} failing;

static void *failing_allocate(size_t bytes, void *context)
{
    failing *self = context;
    if (self->allocations++ == self->fail_at)
        return NULL;
    void *memory = malloc(bytes);
    self->alive += memory != NULL;
    return memory;
}

static void failing_release(void *memory, void *context)
{
    failing *self = context;
    self->alive -= memory != NULL;
    free(memory);
}

/* Takes over; LONG_MAX never fails. */
static inline void failing_install(failing *self, long fail_at)
{
    *self = (failing){0, 0, fail_at};
    fplt_allocator allocator = {failing_allocate, failing_release, self};
    fplt_allocator_set(&allocator);
}

/* Runs `create` (a statement that sets `status` and, on success, destroys what it made) with the
 * first, second, ... allocation failing, until none fails; every block must have been released. */
#define survives_failing_allocations(create, least)                     \
    do {                                                                \
        failing failing_;                                               \
        fplt_status status = FPLT_NO_MEMORY;                            \
        long tries_ = 0;                                                \
        for (; status; tries_++) {                                      \
            failing_install(&failing_, tries_);                         \
            create;                                                     \
            fplt_allocator_set(NULL);                                   \
            assert_int_equal(failing_.alive, 0);                        \
            assert_true(status == FPLT_OK || status == FPLT_NO_MEMORY); \
        }                                                               \
        assert_true(tries_ > (least));                                  \
    } while (0)

#endif
