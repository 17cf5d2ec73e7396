/* Threat models and their claims.
 *
 * Letters below: dl = sensitivity / records, m and M the curvature bounds of the local subproblem
 * d(w) = f_i(w) + ||w - v||^2/(2 rho), c = max(|1 - gamma m|, |1 - gamma M|) the contraction of a
 * local step [the paper's chi], Ne epochs, K rounds.
 *
 * Theorem T (all messages): mu_step^2 = gamma dl^2/(2 tau^2), a round costs kappa(c, Ne) steps,
 * rounds add: shifted interpolation [Bok, Su and Altschuler 2024] inside a round, composition of
 * Gaussian differential privacy [Dong, Roth and Su 2022] over rounds.
 * Theorem F (one final release): how far two runs may drift apart before the last round, hidden by
 * the noise of that round alone; of agents with unlike noise the least counts.
 * On the lattice a step is charged gamma dl + 3 Delta sqrt(n): rounding the mean, cutting shifts to
 * the lattice, arithmetic errors; discrete Gaussian [Canonne, Kamath and Steinke 2020].
 * Theorem S (sums over at least h honest agents, one local step with noise at sending): a sum shows a vector that one
 * record moves by gamma dl, hidden by the noise of h agents: mu_step/sqrt(h). The sum of h discrete Gaussians has the
 * weights of one of deviation sqrt(h) times theirs; adding q_i terms in any order moves the mean by at most q_i^2 2^-53
 * of the shift.
 * Prop. 4 of the paper is kept as printed; it is not a guarantee. */
#include "privacy/claim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fedplt/noise.h"
#include "privacy/privacy.h"
#include "privacy/valid.h"

fplt_privacy_mechanism fplt_privacy_defaults(void)
{
    return (fplt_privacy_mechanism){
        .sensitivity = NAN,
        .step = NAN,
        .noise_tau = NAN,
        .epochs = 1,
        .rounds = 1,
        .strong_convexity = NAN,
        .smoothness = NAN,
        .contraction = 1,
        .full_participation = 1,
        .dimension = 1,
        .agents = 1,
    };
}

static fplt_status valid_curvature(const fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    double low = mechanism->strong_convexity, high = mechanism->smoothness;
    if (!isfinite(low) || !isfinite(high) || high < low)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "strong_convexity is %g and smoothness %g, but both must be numbers, "
                              "smoothness the larger; without them claim step by step",
                              low, high);
    if (!isfinite(mechanism->inverse_rho))
        return fplt_error_set(error, FPLT_BAD_VALUE, "inverse_rho is %g, but it must be a number",
                              mechanism->inverse_rho);
    return FPLT_OK;
}

/* The noise of all agents over this one's. */
struct others {
    double least, mean;
};

static struct others others_of(const fplt_privacy_mechanism *mechanism)
{
    double least = mechanism->least_noise, mean = mechanism->mean_noise;
    return (struct others){least == 0 ? 1 : least, mean == 0 ? 1 : mean};
}

static fplt_status valid_others(const fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    struct others others = others_of(mechanism);
    if (others.least > 0 && others.least <= 1 && others.mean >= others.least * (1 - 1e-9) &&
        isfinite(others.mean))
        return FPLT_OK;
    return fplt_error_set(
        error, FPLT_BAD_VALUE,
        "least_noise is %g and mean_noise %g, but the least is above 0 and at most "
        "1, and the mean not below it",
        mechanism->least_noise, mechanism->mean_noise);
}

fplt_status fplt__mechanism_valid(const fplt_privacy_mechanism *mechanism, fplt_error *error)
{
    fplt_status status = fplt__valid_positive("sensitivity", mechanism->sensitivity, error);
    if (!status)
        status = fplt__valid_positive("records", (double)mechanism->records, error);
    if (!status)
        status = fplt__valid_positive("step", mechanism->step, error);
    if (!status)
        status = fplt__valid_positive("noise_tau", mechanism->noise_tau, error);
    if (!status)
        status = fplt__valid_positive("epochs", (double)mechanism->epochs, error);
    if (!status && mechanism->contraction)
        status = valid_curvature(mechanism, error);
    if (!status && mechanism->lattice)
        status = fplt__valid_positive("dimension", (double)mechanism->dimension, error);
    if (!status && mechanism->lattice)
        status = fplt__valid_positive("agents", (double)mechanism->agents, error);
    return status ? status : valid_others(mechanism, error);
}

double fplt__step_limit(const fplt_privacy_mechanism *mechanism)
{
    double lowest = mechanism->strong_convexity + mechanism->inverse_rho;
    return lowest > 0 ? 2 / (mechanism->smoothness + mechanism->inverse_rho) : 0;
}

/* 1 - |1 - t| = min(t, 2 - t), exact near both ends. */
static double gap_at(double t)
{
    return fmin(t, 2 - t);
}

struct fplt__contraction fplt__contraction_of(const fplt_privacy_mechanism *mechanism)
{
    double gamma = mechanism->step;
    double m = mechanism->strong_convexity + mechanism->inverse_rho;
    double M = mechanism->smoothness + mechanism->inverse_rho;
    return (struct fplt__contraction){
        .gap = mechanism->contraction ? fmin(gap_at(gamma * m), gap_at(gamma * M)) : 0,
        .epochs = mechanism->epochs == FPLT_EPOCHS_UNBOUNDED ? INFINITY : (double)mechanism->epochs,
    };
}

/* (1 - c^Ne)(1 + c) / ((1 + c^Ne)(1 - c)) = tanh(Ne a) / tanh(a), a = -ln(c)/2. */
double fplt__round_factor(struct fplt__contraction contraction)
{
    if (!(contraction.gap > 0))
        return contraction.epochs;
    double a = -log1p(-contraction.gap) / 2;
    return tanh(contraction.epochs * a) / tanh(a);
}

/* k records replaced one after the other, of any agents: k times mu, for a bound on the Renyi
 * divergence at every order as for a Gaussian one [Bun and Steinke 2016, Prop. 27; Dong, Roth and Su
 * 2022, Theorem 2.14]. */
static double group_of(const fplt_privacy_mechanism *mechanism)
{
    return mechanism->group ? (double)mechanism->group : 1;
}

/* mu_step: the charged shift over the deviation sqrt(2 gamma) tau; `spacings` on the lattice. */
static double step_mu(const fplt_privacy_mechanism *mechanism, double tau, double spacings)
{
    double dl = mechanism->sensitivity / (double)mechanism->records;
    double mu = dl * sqrt(mechanism->step / 2) / tau;
    double lattice = mechanism->lattice ? spacings / FPLT_NOISE_SCALE : 0;
    return group_of(mechanism) * (mu + lattice);
}

static double own_mu(const fplt_privacy_mechanism *mechanism)
{
    return step_mu(mechanism, mechanism->noise_tau, 3 * sqrt((double)mechanism->dimension));
}

/* Of all agents' vectors together. The shift is spread over agents in a way nobody knows, so the least
 * noise counts; agent j's lattice moves its vector by 3 Delta_j sqrt(n), all of them by
 * 3 sqrt(n sum Delta_j^2). */
static double joint_mu(const fplt_privacy_mechanism *mechanism)
{
    struct others others = others_of(mechanism);
    double coordinates = (double)mechanism->dimension * (double)mechanism->agents;
    return step_mu(mechanism, mechanism->noise_tau * others.least,
                   3 * sqrt(coordinates) * (others.mean / others.least));
}

/* s -> matrix s + shift, s = (a, b). */
struct affine {
    double matrix[2][2], shift[2];
};

/* `second` after `first`. */
static struct affine after(const struct affine *second, const struct affine *first)
{
    struct affine both;
    for (int i = 0; i < 2; i++) {
        const double *row = second->matrix[i];
        for (int j = 0; j < 2; j++)
            both.matrix[i][j] = row[0] * first->matrix[0][j] + row[1] * first->matrix[1][j];
        both.shift[i] = row[0] * first->shift[0] + row[1] * first->shift[1] + second->shift[i];
    }
    return both;
}

/* [Theorem F], the recursion K times by repeated squaring; all entries are non-negative, so nothing
 * cancels. */
void fplt__final_shift(const fplt_privacy_mechanism *mechanism, double *local, double *auxiliary)
{
    struct fplt__contraction contraction = fplt__contraction_of(mechanism);
    if (!(contraction.gap > 0)) {
        *local = *auxiliary = INFINITY;
        return;
    }
    double gamma = mechanism->step, inverse_rho = mechanism->inverse_rho;
    double log_chi = contraction.epochs * log1p(-contraction.gap);
    double chi = exp(log_chi), g = -expm1(log_chi) / contraction.gap;
    double d = fmax(fabs(inverse_rho - mechanism->strong_convexity),
                    fabs(inverse_rho - mechanism->smoothness));
    struct affine power = {
        .matrix = {{chi, gamma * fabs(inverse_rho) * g}, {2 * chi, chi + gamma * d * g}},
        .shift = {g, 2 * g},
    };
    struct affine whole = {.matrix = {{1, 0}, {0, 1}}};
    for (uint64_t rounds = mechanism->rounds; rounds; rounds >>= 1) {
        if (rounds & 1)
            whole = after(&power, &whole);
        power = after(&power, &power);
    }
    /* an overflow meets a zero and turns into NaN: it is still an overflow */
    *local = isfinite(whole.shift[0]) ? whole.shift[0] : INFINITY;
    *auxiliary = isfinite(whole.shift[1]) ? whole.shift[1] : INFINITY;
}

static void fill_transcript(const fplt_privacy_mechanism *mechanism, fplt_privacy_claim *claim)
{
    struct fplt__contraction contraction = fplt__contraction_of(mechanism);
    claim->contraction = mechanism->contraction ? 1 - contraction.gap : NAN;
    claim->round_factor = fplt__round_factor(contraction);
    claim->mu_step = own_mu(mechanism);
    claim->mu_round = claim->mu_step * sqrt(claim->round_factor);
    claim->mu_transcript =
        mechanism->rounds ? sqrt((double)mechanism->rounds) * claim->mu_round : 0;
    claim->mu_final = INFINITY;
    claim->method = contraction.gap > 0 ? "Theorem T: every message, rounds contract"
                                        : "Theorem T: every message, step by step";
}

static void settle(fplt_privacy_claim *claim, double mu, int is_gaussian)
{
    claim->gdp_mu = mu;
    claim->renyi_rate = mu * mu / 2;
    claim->is_gaussian = is_gaussian;
}

static fplt_status claim_transcript(const fplt_privacy_mechanism *mechanism,
                                    fplt_privacy_claim *claim, fplt_error *error)
{
    (void)error;
    fill_transcript(mechanism, claim);
    settle(claim, claim->mu_transcript, !mechanism->lattice);
    return FPLT_OK;
}

/* The smaller of F and T, where F has a proof. [Theorem F]: mu = a_K sqrt((1 - c^2) /
 * (2 gamma tau^2 (1 - c^{2 Ne}))), and gamma dl / sqrt(2 gamma tau^2) is mu_step. */
static fplt_status claim_final(const fplt_privacy_mechanism *mechanism, int auxiliary,
                               fplt_privacy_claim *claim)
{
    fill_transcript(mechanism, claim);
    struct fplt__contraction contraction = fplt__contraction_of(mechanism);
    if (!mechanism->full_participation)
        claim->method =
            "Theorem T: there is no bound for a final model under partial participation";
    else if (mechanism->lattice && auxiliary)
        claim->method = "Theorem T: on the lattice there is no bound for a final y";
    else if (contraction.gap > 0) {
        double a, b, c_squared = 2 * contraction.epochs * log1p(-contraction.gap);
        fplt__final_shift(mechanism, &a, &b);
        double last = sqrt(contraction.gap * (2 - contraction.gap) / -expm1(c_squared));
        claim->mu_final = joint_mu(mechanism) * last * (auxiliary ? b / 2 : a);
        if (claim->mu_final < claim->mu_transcript)
            claim->method = "Theorem F: one final release";
    }
    settle(claim, fmin(claim->mu_final, claim->mu_transcript), !mechanism->lattice);
    return FPLT_OK;
}

static fplt_status claim_final_x(const fplt_privacy_mechanism *mechanism, fplt_privacy_claim *claim,
                                 fplt_error *error)
{
    (void)error;
    return claim_final(mechanism, 0, claim);
}

static fplt_status claim_final_y(const fplt_privacy_mechanism *mechanism, fplt_privacy_claim *claim,
                                 fplt_error *error)
{
    (void)error;
    return claim_final(mechanism, 1, claim);
}

/* [Theorem S]: Theorem T with the noise of all honest agents in a sum. Without any but its own it is Theorem T. */
static fplt_status claim_sum(const fplt_privacy_mechanism *mechanism, fplt_privacy_claim *claim,
                             fplt_error *error)
{
    fplt_privacy_mechanism own = *mechanism;
    double records = (double)mechanism->records, share = 1;
    if (mechanism->honest > 1 && mechanism->epochs != 1)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the noise is that of %llu agents together, but only the noise of a single local step "
            "may be divided: epochs must be 1",
            (unsigned long long)mechanism->honest);
    if (mechanism->honest > 1) {
        own.sensitivity *= 1 + records * records * 0x1p-53;
        share = sqrt((double)mechanism->honest);
    }
    fill_transcript(&own, claim);
    claim->mu_step /= share;
    claim->mu_round /= share;
    claim->mu_transcript /= share;
    if (share > 1)
        claim->method = "Theorem S: sums over honest agents, whose noise adds up";
    settle(claim, claim->mu_transcript, !mechanism->lattice);
    return FPLT_OK;
}

/* [Prop. 4]: dl^2 / (lmin tau^2) (1 - exp(-lmin gamma K Ne / 2)). */
static fplt_status claim_paper(const fplt_privacy_mechanism *mechanism, fplt_privacy_claim *claim,
                               fplt_error *error)
{
    fplt_status status =
        fplt__valid_positive("strong_convexity", mechanism->strong_convexity, error);
    if (status)
        return status;
    double lmin = mechanism->strong_convexity;
    double ratio = group_of(mechanism) * mechanism->sensitivity / (double)mechanism->records /
                   mechanism->noise_tau;
    double epochs = fplt__contraction_of(mechanism).epochs;
    double steps = mechanism->rounds ? (double)mechanism->rounds * epochs : 0;
    claim->contraction = claim->round_factor = NAN;
    claim->mu_step = claim->mu_round = claim->mu_transcript = claim->mu_final = NAN;
    claim->renyi_rate = ratio * ratio / lmin * -expm1(-lmin * mechanism->step * steps / 2);
    claim->gdp_mu = sqrt(2 * claim->renyi_rate);
    claim->is_gaussian = 0;
    claim->method = "Prop. 4 of the paper as printed: not a guarantee";
    return FPLT_OK;
}

static const struct threat_model {
    fplt_threat threat;
    fplt_status (*make)(const fplt_privacy_mechanism *, fplt_privacy_claim *, fplt_error *);
    int covers_messages;
} models[] = {
    {{"transcript", "every message of every round: a curious coordinator", "Theorem T", 1},
     claim_transcript,
     1},
    {{"broadcast", "what is broadcast in every round: another agent",
      "Theorem T, by post-processing", 1},
     claim_transcript,
     1},
    {{"secagg", "only the sum over the active agents, in every round",
      "Theorem T, by post-processing; not divided by the number of agents", 1},
     claim_transcript,
     1},
    {{"final-y", "one final coordinator model, nothing else", "the smaller of Theorems F and T", 1},
     claim_final_y,
     0},
    {{"final-x", "all final local models, nothing else", "the smaller of Theorems F and T", 1},
     claim_final_x,
     0},
    {{"secagg-sum", "only sums over the active agents, with the noise of some of them known",
      "Theorem S: the noise of the honest agents in a sum adds up; one local step a round", 1},
     claim_sum,
     1},
    {{"paper", "the final local model, as the paper has it",
      "Prop. 4 as printed, for reproduction: not a guarantee", 0},
     claim_paper,
     0},
};

enum { MODELS = sizeof models / sizeof *models };
_Static_assert(MODELS == FPLT_ADVERSARIES + 1, "paper, the last one, is no guarantee");

const fplt_threat *fplt_privacy_threat(size_t index)
{
    return index < MODELS ? &models[index].threat : NULL;
}

size_t fplt__threat_index(const fplt_threat *threat)
{
    for (size_t i = 0; i < MODELS; i++)
        if (&models[i].threat == threat)
            return i;
    return MODELS;
}

static const struct threat_model *model_of(const char *name)
{
    for (size_t i = 0; i < MODELS; i++)
        if (strcmp(models[i].threat.name, name) == 0)
            return &models[i];
    return NULL;
}

fplt_status fplt__privacy_threat_find(const char *name, const fplt_threat **threat,
                                      fplt_error *error)
{
    const struct threat_model *model = model_of(name);
    if (model) {
        *threat = &model->threat;
        return FPLT_OK;
    }
    char names[200];
    size_t used = 0;
    for (size_t i = 0; i < MODELS && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 models[i].threat.name);
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "there is no threat model '%.80s'; it must be one of %s", name, names);
}

fplt_status fplt_privacy_claim_make(const fplt_privacy_mechanism *mechanism, const char *threat,
                                    fplt_privacy_claim *claim, fplt_error *error)
{
    const fplt_threat *found;
    fplt_status status = fplt__privacy_threat_find(threat, &found, error);
    if (!status)
        status = fplt__mechanism_valid(mechanism, error);
    if (status)
        return status;
    claim->threat = found;
    status = model_of(threat)->make(mechanism, claim, error);
    if (status)
        return status;
    if (mechanism->epochs == FPLT_EPOCHS_UNBOUNDED && isinf(claim->round_factor))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "an unbounded number of local epochs needs steps that contract: a "
                              "step-wise claim would be infinite");
    return FPLT_OK;
}

fplt_status fplt__privacy_claim_add(fplt_privacy_claim *total, const fplt_privacy_claim *more,
                                    fplt_error *error)
{
    if (total->threat != more->threat || !model_of(total->threat->name)->covers_messages)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "claims against %s and %s do not add up: only those that cover every "
                              "message, against the same adversary, do",
                              total->threat->name, more->threat->name);
    total->mu_transcript = hypot(total->mu_transcript, more->mu_transcript);
    total->mu_step = total->mu_round = total->round_factor = total->contraction = NAN;
    total->method = "Theorem T: every message, added over several runs";
    settle(total, total->mu_transcript, total->is_gaussian && more->is_gaussian);
    return FPLT_OK;
}
