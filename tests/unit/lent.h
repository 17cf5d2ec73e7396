/* Three threads that lend a hand (base/hands.h), for what may be shared. */
#ifndef FPLT_TESTS_LENT_H
#define FPLT_TESTS_LENT_H

#include "base/parallel.h"
#include "engine/pool.h"
#include "testing.h"

struct lent {
    fplt__parallel hands; /* first */
    fplt__pool *pool;
};

struct lent_part {
    fplt__part part;
    void *context;
};

static void lent_do(void *context, size_t index, unsigned who)
{
    const struct lent_part *part = context;
    (void)who;
    part->part(part->context, index, NULL);
}

static void lent_spread(fplt__parallel *hands, size_t count, fplt__part part, void *context,
                        double *scratch)
{
    struct lent_part shared = {part, context};
    (void)scratch;
    fplt__pool_share(((struct lent *)(void *)hands)->pool, 0, count, lent_do, &shared);
}

static void lent_begin(struct lent *lent)
{
    fplt_error error;
    lent->hands.spread = lent_spread;
    assert_ok(fplt__pool_create(3, &lent->pool, &error), error);
    fplt__parallel_set(&lent->hands);
}

static void lent_end(struct lent *lent)
{
    fplt__parallel_set(NULL);
    fplt__pool_destroy(lent->pool);
}

#endif
