/* Privacy accounting for one record of one agent under noisy local training: from
 * the parameters of a run to a claim, from a claim to (epsilon, delta), and back from (epsilon,
 * delta) to the noise.
 *
 *     fplt_privacy_mechanism mechanism = fplt_privacy_defaults();
 *     mechanism.sensitivity = 2; mechanism.records = 250; ...
 *     fplt_privacy_budget budget = {.epsilon = 3, .delta = 1e-5};
 *     fplt_privacy_calibrate_noise(&mechanism, "transcript", &budget, &mechanism.noise_tau,
 *                                  &error);
 *     fplt_privacy_claim_make(&mechanism, "transcript", &claim, &error);
 *     fplt_privacy_epsilon(&claim, FPLT_CONVERT_BEST, 1e-5, &epsilon, &error);
 *
 * Neighbours are data sets that differ in one record of one agent, replaced by another; how many
 * records an agent has is public. Every argument that is not finite or out of range is refused.
 *
 * Threads and blocking: functions of numbers only. Thread-safe; nothing blocks, allocates or keeps its arguments. */
#ifndef FEDPLT_PRIVACY_H
#define FEDPLT_PRIVACY_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the mechanism and the claim ---- */

/* `epochs` where their number is drawn anew in each round and has no bound. */
#define FPLT_EPOCHS_UNBOUNDED UINT64_MAX

/* Noisy local training as its claim sees it. In each round an agent makes `epochs` steps
 * w <- w - step (gradient of f_i(w) + (w - v) inverse_rho) + noise and sends a function of the last
 * w; the noise has standard deviation sqrt(2 step) noise_tau in each coordinate. */
typedef struct fplt_privacy_mechanism {
    double sensitivity; /* the gradient of f_i changes by at most sensitivity / records when one
                           record is replaced by another */
    uint64_t records;
    double step, noise_tau;
    uint64_t epochs;
    uint64_t rounds; /* charged: those in which the agent sent an update, late and refused ones
                        included; where the coordinator chooses the participants, the cap fixed in
                        advance */
    double strong_convexity, smoothness; /* of every f_i; read with `contraction` and by `paper` */
    double inverse_rho;                  /* 0 where the algorithm has no proximal term */
    int contraction; /* plain noisy gradient steps on f_i with that curvature: a round costs less
                        than the sum of its steps. 0: charge step by step */
    int full_participation; /* every agent in every round, with the same step and epochs */
    int lattice;      /* exact discrete Gaussian noise (noise.h) instead of a continuous one */
    size_t dimension; /* coordinates of the model; read with `lattice` */
    uint32_t agents;  /* read with `lattice` by final-x */
    uint64_t group;   /* records that are replaced at once; 0 is 1 */
    /* The least noise of any agent, and the root of the mean of all squares, over noise_tau; 0 is 1: all
     * alike. Read by final-x and final-y, where the noise of all hides the records of one. */
    double least_noise, mean_noise;
    /* Members of every sum whose noise the adversary of secagg-sum does not know, this agent included; 0 is 1: its own
     * noise alone. Read by secagg-sum, whose claim above 1 needs one epoch and the same noise of all. */
    uint64_t honest;
} fplt_privacy_mechanism;

/* Contraction, full participation, continuous noise, no proximal term; one agent, one coordinate,
 * one epoch, one round. The rest is not set and must be. */
FPLT_API fplt_privacy_mechanism fplt_privacy_defaults(void);

/* Threat model: an adversary and what it observes. */
typedef struct fplt_threat {
    const char *name; /* transcript, broadcast, secagg, final-y, final-x, secagg-sum, paper */
    const char *sees; /* what the adversary sees */
    const char *help; /* one line: what the claim rests on */
    int is_guarantee; /* 0: a published figure, reproduced, that does not hold */
} fplt_threat;

/* Number `index`, or NULL past the last; the first is the default. The first FPLT_ADVERSARIES are
 * guarantees. */
FPLT_API const fplt_threat *fplt_privacy_threat(size_t index);

enum { FPLT_ADVERSARIES = 6 };

/* Rates of Renyi divergence of one record against each adversary, by the index of
 * fplt_privacy_threat(). +infinity: nothing is proved against that adversary. A rate against an
 * adversary who sees more also holds against one who sees less, never the other way round. */
typedef struct fplt_rates {
    double against[FPLT_ADVERSARIES];
} fplt_rates;

/* A bound on the Renyi divergence between neighbours, renyi_rate times the order; where it comes
 * from a Gaussian trade-off (gdp_mu-GDP), sharper conversions are legal. Numbers that a claim does
 * not use are NaN, bounds that do not exist +infinity. */
typedef struct fplt_privacy_claim {
    const fplt_threat *threat;
    const char *method;  /* which bound it is, in words */
    int is_gaussian;     /* the claim is gdp_mu-GDP; 0: a bound on the Renyi divergence only */
    double gdp_mu;       /* sqrt(2 renyi_rate) */
    double renyi_rate;   /* divergence of order a <= a renyi_rate, for every a > 1 */
    double contraction;  /* of one local step */
    double round_factor; /* a round costs that many steps: `epochs` without contraction */
    double mu_step, mu_round;
    double mu_transcript; /* all messages: sqrt(rounds) mu_round */
    double mu_final;      /* one final release */
} fplt_privacy_claim;

/* What the mechanism may claim against an adversary, by the threat's name. The mechanism is
 * borrowed for the call; the claim holds no memory. FPLT_BAD_VALUE for an unknown name or a number
 * out of range, FPLT_UNSUPPORTED, with the reason, where nothing can be claimed (such as unbounded
 * epochs without contraction). A function of its arguments only; thread-safe. */
FPLT_API fplt_status fplt_privacy_claim_make(const fplt_privacy_mechanism *mechanism,
                                             const char *threat, fplt_privacy_claim *claim,
                                             fplt_error *error);

/* ---- (epsilon, delta) ---- */

typedef enum fplt_conversion {
    FPLT_CONVERT_BEST,    /* exact where it is legal, tight elsewhere */
    FPLT_CONVERT_CLASSIC, /* from the Renyi divergence, as the paper does */
    FPLT_CONVERT_TIGHT,   /* from the Renyi divergence, as accounting libraries do */
    FPLT_CONVERT_EXACT    /* the Gaussian's own curve; refused for a claim that is not Gaussian */
} fplt_conversion;

/* 0 < delta < 1. */
FPLT_API fplt_status fplt_privacy_epsilon(const fplt_privacy_claim *claim,
                                          fplt_conversion conversion, double delta, double *epsilon,
                                          fplt_error *error);

/* ---- chance that protects ---- */

/* Rounds in which the agent takes part with a known probability, independently of the data and not
 * at the adversary's choice. */
typedef struct fplt_privacy_lottery {
    double mu_round;    /* of a claim */
    double probability; /* of taking part */
    uint64_t rounds;    /* held, taken part in or not */
} fplt_privacy_lottery;

/* The best over whole orders; `order` may be NULL. */
FPLT_API fplt_status fplt_privacy_lottery_epsilon(const fplt_privacy_lottery *lottery, double delta,
                                                  double *epsilon, uint32_t *order,
                                                  fplt_error *error);

/* Steps on minibatches that take each record with probability `rate`, independently (Poisson
 * sampling; shuffled epochs are not). Record gradients are clipped to norm `clip` and their sum is
 * divided by rate * records. Neighbours here differ by one record added or removed; continuous
 * noise; no contraction. */
typedef struct fplt_privacy_minibatch {
    double rate, clip;
    uint64_t records;
    double step, noise_tau;
    uint64_t steps;
} fplt_privacy_minibatch;

/* Epsilon at 0 < delta < 1 by the tight conversion, the best over whole orders; `order` receives
 * that order and may be NULL. FPLT_BAD_VALUE for a number out of range. Thread-safe. */
FPLT_API fplt_status fplt_privacy_minibatch_epsilon(const fplt_privacy_minibatch *minibatch,
                                                    double delta, double *epsilon, uint32_t *order,
                                                    fplt_error *error);

/* ---- calibration: results err on the private side ---- */

typedef struct fplt_privacy_budget {
    double epsilon, delta;
    fplt_conversion conversion;
} fplt_privacy_budget;

/* The least noise_tau within the budget; that of the mechanism is not read. FPLT_UNREACHABLE when
 * no noise is enough: on the lattice a step never costs less than 3 sqrt(dimension) / 2^20. */
FPLT_API fplt_status fplt_privacy_calibrate_noise(const fplt_privacy_mechanism *mechanism,
                                                  const char *threat,
                                                  const fplt_privacy_budget *budget,
                                                  double *noise_tau, fplt_error *error);
/* The most rounds within the budget, at most `limit`; those of the mechanism are not read.
 * FPLT_UNREACHABLE when one round is too much. */
FPLT_API fplt_status fplt_privacy_calibrate_rounds(const fplt_privacy_mechanism *mechanism,
                                                   const char *threat,
                                                   const fplt_privacy_budget *budget,
                                                   uint64_t limit, uint64_t *rounds,
                                                   fplt_error *error);
/* As fplt_privacy_calibrate_noise, for minibatches; the conversion is tight or classic. */
FPLT_API fplt_status fplt_privacy_calibrate_minibatch(const fplt_privacy_minibatch *minibatch,
                                                      const fplt_privacy_budget *budget,
                                                      double *noise_tau, fplt_error *error);

/* ---- what must hold, or the promise is empty ---- */

/* Facts of a run that exclude a claim; all zero when there are none. */
typedef struct fplt_privacy_facts {
    const char *algorithm;     /* for the sentence; may be NULL */
    int sends_bare_gradient;   /* something sent is not a function of the noisy iterates */
    int uses_second_order;     /* the local solver is L-BFGS or Newton */
    int accelerated;           /* accelerated steps: charged step by step */
    int skips_rounds;          /* the state may go on without being sent: step by step */
    int shuffled_batches;      /* minibatches that are not Poisson samples */
    int unbounded_sensitivity; /* unbounded gradient of the loss, or rows; no clipping */
    int clipping_bends;        /* clipping that is not the gradient of a convex function */
    int parameters_from_data;  /* step, rho, epochs, rounds or start computed from the records */
    int scaling_from_data;     /* columns standardised by their own statistics */
    int stops_on_data;         /* stopping, or anything sent, decided by a loss without noise */
    int seeded_noise;          /* noise that a seed reproduces */
} fplt_privacy_facts;

/* FPLT_OK when the mechanism may be claimed; otherwise the sentence says what stands against it and
 * what would be legal. */
FPLT_API fplt_status fplt_privacy_check(const fplt_privacy_mechanism *mechanism,
                                        const fplt_privacy_facts *facts, fplt_error *error);

/* ---- constants of a loss, from bounds that are not computed from the data ---- */

typedef struct fplt_privacy_loss {
    const char *name;       /* logistic, softmax, huber, least-squares (r^2/2), squared-hinge
                           (max(0, 1 - margin)^2/2), poisson (e^margin - y margin), custom
                           (a caller's own, of which nothing is known) */
    double row_norm;        /* every row is scaled to at most this */
    int intercept;          /* the model sees one more coordinate, 1 */
    double huber_delta;     /* read by huber */
    double clip;            /* 0, or the largest norm of a record's loss gradient */
    double predictor_bound; /* read by poisson: above it the exponential goes on as a parabola */
} fplt_privacy_loss;

typedef struct fplt_privacy_constants {
    double gradient;    /* norm of a record's gradient at most */
    double sensitivity; /* twice that */
    double curvature;   /* of the loss at most; add the regulariser's to it */
    int contraction;    /* the gradient in use is that of a convex function */
    int curves; /* `curvature` is a bound; 0: nothing is known, and 1 stands in its place, by which no claim goes */
} fplt_privacy_constants;

/* ---- audit ---- */

/* How often a test between the two data sets was wrong. */
typedef struct fplt_privacy_trials {
    uint64_t negatives, false_positives; /* runs without the record, and those taken for with */
    uint64_t positives, false_negatives; /* runs with the record, and those taken for without */
} fplt_privacy_trials;

#ifdef __cplusplus
}
#endif
#endif
