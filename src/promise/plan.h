/* The inside of a private plan, and the steps that make it: check.c (settings), mechanism.c (noise and claims of an
 * agent), search.c (what is not given), called by promise.c. */
#ifndef FPLT_PROMISE_PLAN_H
#define FPLT_PROMISE_PLAN_H

#include "fedplt/hub_node.h"
#include "fedplt/noise.h"
#include "fedplt/promise.h"

/* What a plan is made from besides the settings: public numbers only, all borrowed. */
struct fplt__promise_problem {
    const fplt_roster *roster;
    size_t dimension;
    fplt_objective_settings cost;
    double radius; /* bound on the norm of a row */
    const fplt_algorithm *algorithm;
    fplt_training training;
    uint64_t rounds;
    const fplt_participation *participation;
    const fplt_prox *prox;
};

/* Invariants: `view` points into what is owned here; `records`, `tau` and `names` have view.agents entries; 0 < `least`
 * <= `mean` <= 1. */
struct fplt_promise {
    fplt_promise_view view;
    uint64_t *records;         /* owned */
    double *tau;               /* owned */
    fplt_training *each;       /* owned; NULL: all agents have the same noise */
    const char **names;        /* owned array of borrowed texts */
    fplt_noise_source *source; /* owned; one a thread */
    unsigned sources;
    double parameter[FPLT_MAX_PARAMETERS];
    /* As the settings have them, NaN and 0 where they are auto: what the job made of auto may come
     * from the data's own curvature. */
    double given[FPLT_MAX_PARAMETERS], given_step;
    fplt_facts facts;
    int rho;            /* index of the parameter, or -1 */
    double least, mean; /* of the noise that each agent's own records ask for, over the worst's */
    fplt_privacy_budget budget;
    double rate; /* of Renyi divergence within the budget */
};

/* Whether the setting is given and not left to the program by the word auto. */
int fplt__promise_is_given(const fplt_settings *settings, const char *name);

/* FPLT_UNSUPPORTED, with the reason: rows with weights of their own. */
fplt_status fplt__promise_refuse_weights(fplt_error *error);

/* Of numbers in memory the caller declares the columns and the task by the array; a bound on them must be given. Refuses
 * survival times, and settings without a bound on the norm of a row. */
fplt_status fplt__promise_check_bound(const fplt_settings *settings, fplt_task task,
                                      fplt_error *error);

/* The mechanism of the view with the records, the sensitivity and, once it is known, the noise of one agent. */
fplt_privacy_mechanism fplt__promise_mechanism_of(const fplt_promise_view *view, uint32_t agent);

/* Of noisy gradient descent with one step a round: fills step and rounds where they are 0. */
void fplt__promise_descend(const fplt_promise *plan, double *step, uint64_t *rounds);

/* Colluders, threshold and largest cohort of a view that divides its noise; `cohort` is the expected one. */
void fplt__promise_read_sums(const fplt_settings *settings, uint32_t cohort,
                             fplt_promise_view *view);

/* The noise that an agent's records ask for over the worst agent's, in (0, 1]: mu_step depends on the ratio of the
 * two alone. Rounded up, so that nobody is promised less. */
double fplt__promise_noise_ratio(const fplt_promise_view *view, uint32_t agent);

/* Facts and mechanism of a plan whose view has its bounds: everything but step, epochs, rounds and noise. Refuses
 * methods that make no claim. */
fplt_status fplt__promise_start_mechanism(fplt_promise *plan, const fplt_settings *settings,
                                          const struct fplt__promise_problem *problem,
                                          fplt_error *error);

/* Chooses rho, step, epochs and rounds where they are not given, finds the noise of every agent within the budget, and
 * settles the claim. Needs fplt__promise_start_mechanism. */
fplt_status fplt__promise_decide(fplt_promise *plan, const fplt_settings *settings,
                                 const struct fplt__promise_problem *problem, fplt_error *error);

#endif
