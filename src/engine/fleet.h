/* The agents as a whole, wherever they live. The round loop uses a fleet only through these functions:
 * sum over a set, evaluate a point over all, and the agents' state in pieces. threads.c is a fleet of the
 * agents of this process; ranked.c one over several processes.
 *
 * How several processes train (ranked.c). Each has a contiguous block of the agents and their rows, and a
 * fleet on threads over them; number 0 leads and has the coordinator, alone. In the set-up all do the same
 * (ranks.h): facts about all agents are exchanged.
 *
 *     columns, labels, levels     declared by a schema: a process keeps its own rows while it reads, and
 *                                 opens its own files alone. Without one every process reads all rows and
 *                                 then keeps its own (src/job/job.c). Generated rows: drawn by their owner
 *     moments                     folded over the rows by one process after the other, in order
 *     fill values, held-out rows, every process reads all rows, and then keeps its own
 *     new divisions, balance
 *     rows and weight of agents   known of all agents (the data set's census)
 *     kernel                      the fastest that all have
 *     curvatures                  computed by the process that has the agent, then shared (agents_map.h)
 *     automatic values            the same function of the same numbers in each
 *     active agents               the same function of the seed in each
 *
 * Then the leader gives orders, and the others answer (serve). An order is one broadcast: what is to be
 * done, the round, and what the coordinator sends. The answer is one reduction of 128-bit integers: the
 * sums, how many gradients there were, and how many processes failed. So the sums have the same bits for
 * any number of processes, and a failure is never waited for: where one failed the leader asks who, and
 * takes the sentence of the first, which has the first agent. No process ever waits for a message that
 * another may have decided not to send. */
#ifndef FPLT_ENGINE_FLEET_H
#define FPLT_ENGINE_FLEET_H

#include <stdio.h>

#include "fedplt/engine.h"
#include "fedplt/hub_node.h"
#include "base/sum.h"
#include "objective/objective.h"

typedef struct fplt__fleet fplt__fleet;

/* A piece of the agents' state: the kept vectors of `agents` agents from number `first` on. */
typedef fplt_status (*fplt__fleet_piece)(void *context, uint32_t first, uint32_t agents,
                                         double *numbers);

/* Of the agents' state: out of the fleet, to be read; or into it, to be filled. */
typedef enum fplt__direction { FPLT__OUT, FPLT__IN } fplt__direction;

struct fplt__fleet_verbs {
    /* Initial vectors; adds the mirrored ones to `totals`. */
    fplt_status (*begin)(fplt__fleet *fleet, fplt__sum *totals, fplt_error *error);
    /* One exchange with the active agents: adds what they send to `sum`, and the gradients they
     * evaluated to `gradients`. In an agent's last step its staged state takes effect. */
    fplt_status (*train)(fplt__fleet *fleet, const fplt_round *round, unsigned exchange,
                         const uint32_t *active, const double *down, fplt__sum *sum,
                         double *gradients, fplt_error *error);
    fplt_status (*finish)(fplt__fleet *fleet, const fplt_round *round, const uint32_t *active,
                          const double *down, fplt_error *error);
    /* Over all agents at x: dimension gradient sums, then value, hits, records, and how many agents
     * count hits. */
    fplt_status (*evaluate)(fplt__fleet *fleet, const double *x, fplt__sum *sum, fplt_error *error);
    /* Sum of the first `count` kept vectors beginning with number `vector`. */
    fplt_status (*total)(fplt__fleet *fleet, unsigned vector, unsigned count, fplt__sum *sum,
                         fplt_error *error);
    /* The agents' state in pieces, in the order of the agents. */
    fplt_status (*carry)(fplt__fleet *fleet, fplt__direction direction, fplt__fleet_piece piece,
                         void *context, fplt_error *error);
    /* Adds the agents' part of the information, one after the other. */
    fplt_status (*inform)(fplt__fleet *fleet, const double *x, const fplt__information *sums,
                          fplt_error *error);
    /* An agent's vectors; NULL where they are in another process. */
    const double *(*kept)(const fplt__fleet *fleet, uint32_t agent);
    /* Optional: answers another process until it says that there is no more. */
    void (*serve)(fplt__fleet *fleet);
    void (*destroy)(fplt__fleet *fleet);
};

struct fplt__fleet {
    const struct fplt__fleet_verbs *verbs;
};

/* What a fleet is made from; all borrowed for the call, arrays copied. */
struct fplt__fleet_plan {
    const fplt_plan *plan;
    const fplt_objective *objective; /* borrowed for the fleet's life */
    const fplt_run_settings *settings;
    const fplt_curvature *curvatures; /* one an agent; borrowed for the fleet's life */
    uint32_t cohort;
    const fplt_participation *participation; /* borrowed for the fleet's life */
};

/* Of the agents of this process: with settings->ranks its block, otherwise all. */
fplt_status fplt__threads_create(const struct fplt__fleet_plan *plan, fplt__fleet **fleet,
                                 fplt_error *error);
/* Over the processes of settings->ranks, which all call it. */
fplt_status fplt__ranked_create(const struct fplt__fleet_plan *plan, fplt__fleet **fleet,
                                fplt_error *error);

/* Longest sum that any verb asks for: an exchange, an evaluation, all mirrored vectors, or two vectors. */
size_t fplt__fleet_longest(const fplt_plan *plan);

#endif
