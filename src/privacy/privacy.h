/* The accountant as the modules above and the program use it, beside fedplt/privacy.h. */
#ifndef FPLT_PRIVACY_PRIVACY_H
#define FPLT_PRIVACY_PRIVACY_H

#include "fedplt/privacy.h"

/* By name; an unknown one is answered with the names there are. */
fplt_status fplt__privacy_threat_find(const char *name, const fplt_threat **threat,
                                      fplt_error *error);

/* Adds what a second run on the same records costs, chosen in the light of the first: rounds of
 * different lengths, say. Only claims that cover every message add up. */
fplt_status fplt__privacy_claim_add(fplt_privacy_claim *total, const fplt_privacy_claim *more,
                                    fplt_error *error);

/* Name and one line of help of a conversion; NULL past the last. */
const char *fplt__privacy_conversion(size_t index, const char **help);

/* The conversion of that name; FPLT_BAD_VALUE, with the names there are, for an unknown one. */
fplt_status fplt__privacy_conversion_find(const char *name, fplt_conversion *conversion,
                                          fplt_error *error);

/* The natural logarithm of delta, which itself may be far below the smallest double. */
fplt_status fplt__privacy_log_delta(const fplt_privacy_claim *claim, fplt_conversion conversion,
                                    double epsilon, double *log_delta, fplt_error *error);

/* The order at which a conversion from the Renyi divergence is taken; NaN for the exact one. */
double fplt__privacy_order(const fplt_privacy_claim *claim, fplt_conversion conversion,
                           double delta);

/* The bound on the divergence of order > 1. */
double fplt__privacy_renyi(const fplt_privacy_claim *claim, double order);

/* Epsilon from the divergence at one single order > 1; classic or tight, anything else is NaN. */
double fplt__privacy_epsilon_at(fplt_conversion conversion, double order, double divergence,
                                double delta);

/* The Renyi divergence of all rounds together at an order above 1, finite. FPLT_BAD_VALUE where
 * probability is not above 0 and at most 1, mu_round not above 0, or the order not legal. Thread-
 * safe. */
fplt_status fplt__privacy_lottery_renyi(const fplt_privacy_lottery *lottery, double order,
                                        double *divergence, fplt_error *error);

/* Deviation of the noise over the change one record can make. */
double fplt__privacy_noise_multiplier(const fplt_privacy_minibatch *minibatch);

/* Whole order >= 2. */
fplt_status fplt__privacy_minibatch_renyi(const fplt_privacy_minibatch *minibatch, uint32_t order,
                                          double *divergence, fplt_error *error);

/* The error to expect of a mechanism whose noise fits the budget; what is not finite means that
 * nothing can be said, and the candidate is passed over. */
typedef double (*fplt__privacy_predictor)(void *context, const fplt_privacy_mechanism *mechanism);

typedef struct fplt__privacy_search {
    uint64_t most_epochs, most_rounds;
    fplt__privacy_predictor predict;
    void *context; /* borrowed */
} fplt__privacy_search;

/* Epochs and rounds whose predicted error is least, each candidate with its own least noise: over a
 * grid of ratio 1.25, then step by step around the best of it. `best` is the mechanism with epochs,
 * rounds and noise_tau filled in. FPLT_UNREACHABLE when no candidate has a finite prediction. */
fplt_status fplt__privacy_calibrate_search(const fplt_privacy_mechanism *mechanism,
                                           const char *threat, const fplt_privacy_budget *budget,
                                           const fplt__privacy_search *search,
                                           fplt_privacy_mechanism *best, double *predicted,
                                           fplt_error *error);

/* FPLT_UNSUPPORTED for a loss of unbounded gradient without clipping. */
fplt_status fplt__privacy_loss_constants(const fplt_privacy_loss *loss,
                                         fplt_privacy_constants *constants, fplt_error *error);

/* Clopper and Pearson: `low` and `high` each hold with the given confidence for the probability
 * behind `hits` out of `trials`. */
fplt_status fplt__privacy_binomial_bounds(uint64_t hits, uint64_t trials, double confidence,
                                          double *low, double *high, fplt_error *error);

/* A lower bound on gdp_mu that holds with the given confidence (half of the doubt to each error
 * rate), 0 when nothing was shown. A claim below it is refuted. */
fplt_status fplt__privacy_audit_bound(const fplt_privacy_trials *trials, double confidence,
                                      double *gdp_mu, fplt_error *error);

#endif
