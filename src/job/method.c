/* Which method: the one rule for the user's own data. It counts gradients and messages from public sizes alone, never seconds,
 * so that it is the same in one process and over a network. bench/acceleration measures it. */
#include <math.h>
#include <stdio.h>

#include "fedplt/algorithm.h"

#include "job/auto.h"

/* Numbers in rows from which a pass over them takes much longer than an exchange within a process. */
static const double many_numbers = 1 << 24;
/* Numbers that travel at the price of one message; longer messages cost in proportion. */
static const double message_numbers = 1 << 16;
static int is_work(const fplt__occasion *occasion)
{
    return occasion->numbers >= many_numbers;
}

static double triangle_of(const fplt__occasion *occasion)
{
    double n = (double)occasion->dimension;
    return n * (n + 1) / 2;
}

/* One round: `gradients` of them and a message of so many numbers. */
static double round_cost(const fplt__occasion *occasion, double gradients, double numbers)
{
    double talk = is_work(occasion) ? 0 : occasion->communication_time;
    return occasion->gradient_time * gradients + talk * fmax(1, numbers / message_numbers);
}

/* The form of a method for this occasion. */
static const fplt_algorithm *form_of(const fplt__occasion *occasion, const char *name)
{
    const fplt_algorithm *algorithm = fplt_algorithm_find(name);
    return occasion->partial && algorithm->partial_form ? algorithm->partial_form : algorithm;
}

/* Whether Newton's method takes a model and a roster of this size. */
static int newton_fits(const fplt__occasion *occasion)
{
    static const double parameter[FPLT_MAX_PARAMETERS];
    fplt_facts facts = {
        .agents = occasion->agents, .cohort = occasion->cohort, .dimension = occasion->dimension};
    return !form_of(occasion, "fed-newton")->check(&facts, parameter, NULL);
}

/* Expected rounds until every agent was active once: the collector's problem with cohorts. */
static double turn_of(const fplt__occasion *occasion)
{
    double agents = occasion->agents, share = occasion->cohort / agents;
    if (!occasion->partial || !(agents > 1) || !(share < 1))
        return 1;
    return 0.5 + (log(agents) + 0.58) / -log1p(-share);
}

/* Rounds to a tight tolerance as docs/acceleration.md measures them: Newton 2 where the costs are quadratic, about 12 where
 * second derivatives jump and otherwise about 7, and five turns more where agents take turns. */
static double newton_rounds(const fplt__occasion *occasion)
{
    double turn = turn_of(occasion);
    if (occasion->bending == FPLT__BENDS_EQUALLY)
        return 2 * turn;
    return (occasion->bending == FPLT__BENDS_IN_JUMPS ? 12 : 7) + 5 * (turn - 1);
}

/* More with every coordinate, each a whole turn; fewer where the costs are quadratic. */
static double lbfgs_rounds(const fplt__occasion *occasion)
{
    double n = (double)occasion->dimension;
    double slope = occasion->bending == FPLT__BENDS_EQUALLY ? 0.07 : 0.2;
    return fmin(20 + slope * n, 60) * turn_of(occasion);
}

static double newton_cost(const fplt__occasion *occasion)
{
    double n = (double)occasion->dimension;
    if (!occasion->hessians || !newton_fits(occasion))
        return HUGE_VAL;
    double share = occasion->partial ? occasion->cohort / (double)occasion->agents : 1;
    return newton_rounds(occasion) *
           round_cost(occasion, share * (1 + (n + 1) / 4), n + triangle_of(occasion));
}

static double lbfgs_cost(const fplt__occasion *occasion)
{
    double share = occasion->partial ? occasion->cohort / (double)occasion->agents : 1;
    return lbfgs_rounds(occasion) * round_cost(occasion, share, (double)occasion->dimension);
}

static const char *newton_reason(const fplt__occasion *occasion)
{
    if (occasion->partial)
        return "an absent agent counts by its last quadratic model, and for a model this small "
               "Hessians cost less than the rounds they save";
    return occasion->composite
               ? "every agent is active, the coordinator has the prox of h, and for a model this "
                 "small Hessians cost less than the rounds they save"
               : "every agent is active, and for a model this small Hessians cost less than the "
                 "rounds they save";
}

static const char *lbfgs_reason(const fplt__occasion *occasion)
{
    if (is_work(occasion) && occasion->hessians && !occasion->partial)
        return "every agent is active; with so many rows in one process work counts, not rounds, "
               "and "
               "a gradient a round is the least";
    return occasion->partial
               ? "each point is held until every agent has answered, and a gradient each is enough"
               : "every agent is active, so that a gradient a round is enough";
}

/* Turns that fed-lbfgs-partial may take: with more, Fed-PLT makes more of each agent's visit. */
static const double max_turn = 12;

const fplt_algorithm *fplt__method_choose(const fplt__occasion *occasion, char *reason, size_t size)
{
    const char *name, *why;
    double newton = newton_cost(occasion), lbfgs = lbfgs_cost(occasion);
    if (occasion->random || (occasion->partial && occasion->trains) ||
        (occasion->partial && isinf(newton) && turn_of(occasion) > max_turn)) {
        name = "fed-plt";
        why = occasion->random ? "it bears randomness in local training"
                               : "it does not need every agent in every round";
    } else if (occasion->trains) {
        name = "fed-plt-anderson";
        why = "the fewest rounds with local training and every agent active";
    } else if (newton < lbfgs) {
        name = form_of(occasion, "fed-newton")->name;
        why = newton_reason(occasion);
    } else {
        name = form_of(occasion, "fed-lbfgs")->name;
        why = lbfgs_reason(occasion);
    }
    snprintf(reason, size, "%s: %s.", name, why);
    return fplt_algorithm_find(name);
}
