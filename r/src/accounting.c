/* What numbers promise, which noise a promise needs, and what that costs in accuracy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "fedplt/privacy.h"
#include "fedplt/theory.h"
#include "fedplt/tradeoff.h"
#include "fedplt_r.h"

/* numbers: sensitivity, records, tau, gamma (NA: the best step), epochs, rounds, lmin, lmax, rho (NA: automatic), proximal,
 * step-wise, lattice, dimension, agents. */
static fplt_privacy_mechanism mechanism_of(SEXP numbers)
{
    const double *n = REAL(numbers);
    fplt_error error = {.status = FPLT_OK};
    fplt_theory_problem problem = {n[6], n[7], 1, 1};
    double rho = n[9] == 0 ? HUGE_VAL : isnan(n[8]) ? fplt_theory_defaults(&problem).rho : n[8];
    fplt_privacy_mechanism made = fplt_privacy_defaults();
    fplt_privacy_facts facts = {.algorithm = "these numbers"};
    made.sensitivity = n[0];
    made.records = (uint64_t)n[1];
    made.noise_tau = n[2];
    made.step = isnan(n[3]) ? fplt_theory_best_step(&problem, rho) : n[3];
    made.epochs = (uint64_t)n[4];
    made.rounds = (uint64_t)n[5];
    made.strong_convexity = n[6];
    made.smoothness = n[7];
    made.inverse_rho = 1 / rho;
    made.contraction = n[10] == 0;
    made.full_participation = n[9] != 0;
    made.lattice = n[11] != 0;
    made.dimension = (size_t)n[12];
    made.agents = (uint32_t)n[13];
    fpltr_check(fplt_privacy_check(&made, &facts, &error), &error);
    return made;
}

static double epsilon_of(const fplt_privacy_claim *claim, fplt_conversion conversion, double delta)
{
    double epsilon;
    return fplt_privacy_epsilon(claim, conversion, delta, &epsilon, NULL) ? NAN : epsilon;
}

/* A claim for every adversary. */
SEXP fpltr_claims(SEXP numbers, SEXP delta)
{
    static const char *const names[] = {"threat",   "method",  "guarantee", "mu",
                                        "rdp_rate", "classic", "tight",     "exact"};
    fplt_privacy_mechanism mechanism = mechanism_of(numbers);
    double at = Rf_asReal(delta);
    R_xlen_t count = 0;
    while (fplt_privacy_threat((size_t)count))
        count++;
    SEXP table = PROTECT(fpltr_frame(names, "TTNNNNNN", count));
    for (R_xlen_t i = 0; i < count; i++) {
        const fplt_threat *threat = fplt_privacy_threat((size_t)i);
        fplt_error error = {.status = FPLT_OK};
        fplt_privacy_claim claim;
        fplt_status status = fplt_privacy_claim_make(&mechanism, threat->name, &claim, &error);
        int is_known = status == FPLT_OK;
        if (status && threat->is_guarantee)
            fpltr_fail(&error);
        fpltr_set_text(table, 0, i, threat->name);
        fpltr_set_text(table, 1, i, is_known ? claim.method : NULL);
        fpltr_set_number(table, 2, i, threat->is_guarantee);
        fpltr_set_number(table, 3, i,
                         is_known && (claim.is_gaussian || mechanism.lattice) ? claim.gdp_mu : NAN);
        fpltr_set_number(table, 4, i, is_known ? claim.renyi_rate : NAN);
        fpltr_set_number(table, 5, i,
                         is_known ? epsilon_of(&claim, FPLT_CONVERT_CLASSIC, at) : NAN);
        fpltr_set_number(table, 6, i, is_known ? epsilon_of(&claim, FPLT_CONVERT_TIGHT, at) : NAN);
        fpltr_set_number(table, 7, i, is_known ? epsilon_of(&claim, FPLT_CONVERT_EXACT, at) : NAN);
    }
    UNPROTECT(1);
    return table;
}

/* budget: epsilon, delta. Finds the noise, or the rounds where that is given (by_noise). Answers tau, rounds, epochs, mu,
 * epsilon. */
SEXP fpltr_calibrate(SEXP numbers, SEXP threat, SEXP budget, SEXP by_noise)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_privacy_mechanism mechanism = mechanism_of(numbers);
    fplt_privacy_budget allowed = {REAL(budget)[0], REAL(budget)[1], FPLT_CONVERT_BEST};
    const char *against = fpltr_string(threat);
    fplt_privacy_claim claim;
    double epsilon;
    if (Rf_asLogical(by_noise))
        fpltr_check(fplt_privacy_calibrate_rounds(&mechanism, against, &allowed, UINT64_C(1) << 40,
                                                  &mechanism.rounds, &error),
                    &error);
    else
        fpltr_check(fplt_privacy_calibrate_noise(&mechanism, against, &allowed,
                                                 &mechanism.noise_tau, &error),
                    &error);
    fpltr_check(fplt_privacy_claim_make(&mechanism, against, &claim, &error), &error);
    fpltr_check(fplt_privacy_epsilon(&claim, FPLT_CONVERT_BEST, allowed.delta, &epsilon, &error),
                &error);
    const double found[] = {mechanism.noise_tau, (double)mechanism.rounds, (double)mechanism.epochs,
                            claim.gdp_mu, epsilon};
    return fpltr_numbers(found, 5);
}

/* ---- tradeoff ---- */

typedef struct fpltr_trading {
    fpltr_beside beside;
    fplt_settings *settings; /* the pointer's */
    fplt_tradeoff_settings wanted;
    fplt_tradeoff_result result;
    fplt_status status;
    fplt_error error;
} fpltr_trading;

static void trade(void *context)
{
    fpltr_trading *own = context;
    own->status = fplt_tradeoff_run(own->settings, &own->wanted, &own->result, &own->error);
}

static void finalize_trading(SEXP pointer)
{
    fpltr_trading *own = R_ExternalPtrAddr(pointer);
    if (!own)
        return;
    fplt_tradeoff_clear(&own->result);
    free(own);
    R_ClearExternalPtr(pointer);
}

static void set_point(SEXP table, R_xlen_t row, const char *training,
                      const fplt_tradeoff_point *one)
{
    fpltr_set_text(table, 0, row, training);
    fpltr_set_number(table, 1, row, one->epsilon);
    fpltr_set_number(table, 2, row, one->noise_tau);
    fpltr_set_number(table, 3, row, one->epochs);
    fpltr_set_number(table, 4, row, (double)one->rounds);
    fpltr_set_number(table, 5, row, one->quality);
    fpltr_set_number(table, 6, row, one->deviation);
    fpltr_set_number(table, 7, row, one->worst);
}

static SEXP tradeoff_list(const fplt_tradeoff_result *result)
{
    static const char *const names[] = {"table", "without_noise", "classifies"};
    static const char *const columns[] = {"training", "epsilon", "tau",       "epochs",
                                          "rounds",   "quality", "deviation", "worst"};
    R_xlen_t count = (R_xlen_t)result->count;
    SEXP list = PROTECT(fpltr_list(names, 3));
    SET_VECTOR_ELT(list, 0, fpltr_frame(columns, "TNNNNNNN", 2 * count));
    for (R_xlen_t i = 0; i < count; i++) {
        set_point(VECTOR_ELT(list, 0), i, "local", &result->local[i]);
        set_point(VECTOR_ELT(list, 0), count + i, "one epoch", &result->single[i]);
    }
    SET_VECTOR_ELT(list, 1, Rf_ScalarReal(result->without_noise));
    SET_VECTOR_ELT(list, 2, Rf_ScalarLogical(result->classifies));
    UNPROTECT(1);
    return list;
}

/* settings: of a private training of files or generated rows; they stay the pointer's. */
SEXP fpltr_tradeoff(SEXP settings, SEXP epsilons, SEXP repeats)
{
    SEXP pointer = PROTECT(fpltr_pointer(finalize_trading));
    fpltr_trading *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    own->settings = fpltr_settings_of(settings);
    own->wanted =
        (fplt_tradeoff_settings){REAL(epsilons), (size_t)XLENGTH(epsilons),
                                 (uint32_t)Rf_asReal(repeats), fpltr_beside_watch, &own->beside};
    own->beside.work = trade;
    own->beside.context = own;
    if (fpltr_beside_start(&own->beside))
        Rf_error("no thread could be started");
    if (fpltr_beside_wait(&own->beside, -1)) {
        finalize_trading(pointer);
        fpltr_interrupt();
    }
    fpltr_check(own->status, &own->error);
    SEXP list = PROTECT(tradeoff_list(&own->result));
    finalize_trading(pointer);
    UNPROTECT(2);
    return list;
}
