/* Which method: the one rule for data of one's own. */
#include <stdio.h>

#include "fedplt/auto.h"

enum { MAX_SQUARE = 400 };

/* Numbers in rows from which a pass over them takes much longer than an exchange within a process. */
static const double many_numbers = 1 << 24;

static int is_work(const fplt_occasion *occasion)
{
    return occasion->numbers >= many_numbers;
}

/* Rounds to a tight tolerance: Newton about 7 whatever the problem, L-BFGS about 25. A round is a gradient
 * and an exchange, with Newton a Hessian of (n + 1)/4 gradients too. */
static int newton_is_cheaper(const fplt_occasion *occasion)
{
    double gradient = occasion->gradient_time;
    double talk = is_work(occasion) ? 0 : occasion->communication_time;
    double hessian = ((double)occasion->dimension + 1) / 4 * gradient;
    return occasion->dimension <= MAX_SQUARE &&
           7 * (gradient + hessian + talk) < 25 * (gradient + talk);
}

const fplt_algorithm *fplt_method_choose(const fplt_occasion *occasion, char *reason, size_t size)
{
    const char *name, *why;
    if (occasion->partial || occasion->random) {
        name = "fed-plt";
        why = occasion->partial ? "it does not need every agent in every round"
                                : "it bears randomness in local training";
    } else if (occasion->composite || occasion->trains) {
        name = "fed-plt-anderson";
        why = occasion->composite
                  ? "the fewest rounds where h is not zero and every agent is active"
                  : "the fewest rounds with local training and every agent active";
    } else if (occasion->hessians && newton_is_cheaper(occasion)) {
        name = "fed-newton";
        why = "the costs are smooth and convex, every agent is active, and for a model this small "
              "Hessians cost less than the rounds they save";
    } else {
        name = "fed-lbfgs";
        why = is_work(occasion) && occasion->hessians
                  ? "the costs are smooth and every agent is active; with so many rows in one "
                    "process work counts, not rounds, and a gradient a round is the least"
                  : "the costs are smooth and every agent is active, so that a gradient a round is "
                    "enough";
    }
    snprintf(reason, size, "%s: %s.", name, why);
    return fplt_algorithm_find(name);
}
