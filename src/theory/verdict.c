/* Which guarantees hold, and what to change where one does not. One row a finding. */
#include "theory/theory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct question {
    const fplt_theory_problem *problem;
    const fplt_theory_parameters *parameters;
    const fplt_theory_verdict *verdict; /* matrices and bounds are there */
};

struct row {
    const char *name, *meaning;
    int printed;
    void (*ask)(const struct question *question, fplt_theory_finding *finding);
};

static void advise(fplt_theory_finding *finding, const char *format, ...) FPLT_PRINTF(2, 3);

static void advise(fplt_theory_finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->advice, sizeof finding->advice, format, arguments);
    va_end(arguments);
}

static void compare(fplt_theory_finding *finding, double value, double limit)
{
    finding->value = value;
    finding->limit = limit;
    finding->holds = value < limit;
}

static double step_limit(const struct question *question, fplt__theory_version version)
{
    return fplt__theory_step_limit(question->problem, question->parameters->rho, version);
}

static int step_too_long(const struct question *question)
{
    return !question->parameters->accelerated &&
           question->parameters->step >= step_limit(question, FPLT_THEORY_CORRECTED);
}

static void advise_step(const struct question *question, fplt_theory_finding *finding)
{
    advise(finding, "take a step below 2/(smoothness + 1/rho) = %.6g; the best is %.6g",
           step_limit(question, FPLT_THEORY_CORRECTED),
           fplt_theory_best_step(question->problem, question->parameters->rho));
}

/* What comes first: without it no number of epochs helps. Returns whether it gave advice. */
static int advise_basics(const struct question *question, fplt_theory_finding *finding)
{
    if (question->problem->strong_convexity <= 0) {
        advise(finding, "the costs are not strongly convex (%.4g): add a ridge regulariser",
               question->problem->strong_convexity);
        return 1;
    }
    if (step_too_long(question)) {
        advise_step(question, finding);
        return 1;
    }
    return 0;
}

/* Least rho from the present one upwards at which norm(S) comes below 1 with enough epochs:
 * S tends to [0, beta; 0, zeta], whose squared norm is zeta^2 + beta^2. Large rho always do. */
static double rho_for_plain_norm(const struct question *question)
{
    double rho = question->parameters->rho;
    for (int i = 0; i < 4000; i++, rho *= 1.05) {
        double zeta = fplt__theory_splitting_contraction(question->problem, rho);
        double beta = 1 / (1 + rho * question->problem->strong_convexity);
        if (zeta * zeta + beta * beta < 1)
            return rho;
    }
    return INFINITY;
}

static void advise_epochs(const struct question *question, fplt__theory_norm norm,
                          fplt_theory_finding *finding)
{
    if (advise_basics(question, finding))
        return;
    fplt_theory_parameters quiet = *question->parameters;
    quiet.noise_tau = 0; /* epochs are about S; noise has a finding of its own */
    uint32_t epochs = fplt__theory_least_epochs(question->problem, &quiet, norm);
    if (epochs)
        advise(finding, "take at least %u epochs with this rho%s", (unsigned)epochs,
               quiet.accelerated ? "" : " and step");
    else if (norm == FPLT_BOUND_PLAIN)
        advise(finding,
               "no number of epochs helps at rho = %.6g: rely on the weighted norm, or take rho of "
               "about %.4g or more",
               quiet.rho, rho_for_plain_norm(question));
    else
        advise(finding, "no number of epochs helps at rho = %.6g", quiet.rho);
}

static void ask_convexity(const struct question *question, fplt_theory_finding *finding)
{
    /* asked as -lmin < 0, so that every finding reads value < limit */
    compare(finding, -question->problem->strong_convexity, 0);
    if (!finding->holds)
        advise_basics(question, finding);
}

static void ask_printed_step(const struct question *question, fplt_theory_finding *finding)
{
    double limit = step_limit(question, FPLT_THEORY_PRINTED);
    compare(finding, question->parameters->accelerated ? 0 : question->parameters->step, limit);
    if (!finding->holds)
        advise_step(question, finding);
}

static void ask_step(const struct question *question, fplt_theory_finding *finding)
{
    double limit = step_limit(question, FPLT_THEORY_CORRECTED);
    /* accelerated steps have half the limit by definition */
    compare(finding, question->parameters->accelerated ? limit / 2 : question->parameters->step,
            limit);
    if (!finding->holds)
        advise_step(question, finding);
}

static void ask_local(const struct question *question, fplt_theory_finding *finding)
{
    compare(finding,
            fplt__theory_local_contraction(question->problem, question->parameters,
                                           FPLT_THEORY_CORRECTED),
            1);
    if (finding->holds || advise_basics(question, finding))
        return;
    double m = question->problem->strong_convexity + 1 / question->parameters->rho;
    double M = question->problem->smoothness + 1 / question->parameters->rho;
    advise(finding, "take at least %.0f accelerated epochs",
           floor(log1p(M / m) / -log1p(-sqrt(m / M))) + 1);
}

static void ask_printed_stable(const struct question *question, fplt_theory_finding *finding)
{
    compare(finding, question->verdict->printed.radius, 1);
    if (!finding->holds)
        advise(finding, "see 'stable': the printed matrix is not the one to go by");
}

static void ask_printed_norm(const struct question *question, fplt_theory_finding *finding)
{
    compare(finding, question->verdict->printed.norm, 1);
    if (!finding->holds)
        advise(finding, "see 'norm' and 'stable': the printed matrix is not the one to go by");
}

static void ask_stable(const struct question *question, fplt_theory_finding *finding)
{
    compare(finding, question->verdict->corrected.radius, 1);
    if (!finding->holds)
        advise_epochs(question, FPLT_BOUND_WEIGHTED, finding);
}

static void ask_norm(const struct question *question, fplt_theory_finding *finding)
{
    compare(finding, question->verdict->corrected.norm, 1);
    if (!finding->holds)
        advise_epochs(question, FPLT_BOUND_PLAIN, finding);
}

static void ask_weighted(const struct question *question, fplt_theory_finding *finding)
{
    compare(finding, question->verdict->weighted.rate, 1);
    if (!finding->holds)
        advise_epochs(question, FPLT_BOUND_WEIGHTED, finding);
}

static void ask_noise(const struct question *question, fplt_theory_finding *finding)
{
    compare(finding, fplt__theory_bound_radius(&question->verdict->weighted), INFINITY);
    if (finding->holds)
        return;
    if (question->parameters->accelerated && question->parameters->noise_tau > 0)
        advise(finding, "noisy accelerated steps are covered by no proof: take plain gradient "
                        "steps");
    else
        advise_epochs(question, FPLT_BOUND_WEIGHTED, finding);
}

static void ask_corollary(const struct question *question, fplt_theory_finding *finding)
{
    compare(finding, question->verdict->corrected.norm, 1);
    int full = question->parameters->participation_least == 1;
    finding->holds = finding->holds && full && !question->parameters->accelerated;
    if (finding->holds)
        return;
    if (!full)
        advise(finding, "it is stated with norm(S) and needs every agent in every round; the "
                        "weighted bound with the rate of partial participation replaces it");
    else if (question->parameters->accelerated)
        advise(finding, "it is stated for plain gradient steps");
    else
        advise_epochs(question, FPLT_BOUND_PLAIN, finding);
}

static void ask_quadratic(const struct question *question, fplt_theory_finding *finding)
{
    fplt_theory_rate worst = fplt_theory_quadratic_rate(question->problem, question->parameters);
    compare(finding, worst.rate, 1);
    if (finding->holds || advise_basics(question, finding))
        return;
    if (question->parameters->accelerated)
        advise(finding,
               "quadratics of curvature %.4g diverge: take more epochs or plain gradient "
               "steps",
               worst.curvature);
    else
        advise(finding, "quadratics of curvature %.4g diverge with this step: take %.6g",
               worst.curvature,
               fplt_theory_best_step(question->problem, question->parameters->rho));
}

static const struct row rows[] = {
    {"strongly-convex", "every f_i is strongly convex", 0, ask_convexity},
    {"printed-step", "the step is in the range the paper prints", 1, ask_printed_step},
    {"step", "the step is below 2/(smoothness + 1/rho): local training converges", 0, ask_step},
    {"local-training", "local training comes nearer to its minimiser", 0, ask_local},
    {"printed-stable", "S as printed has spectral radius below 1", 1, ask_printed_stable},
    {"printed-norm", "S as printed has norm below 1", 1, ask_printed_norm},
    {"stable", "S corrected has spectral radius below 1: a round contracts in the weighted norm", 0,
     ask_stable},
    {"norm", "S corrected has norm below 1: a round contracts in the plain norm", 0, ask_norm},
    {"participation", "with this participation the weighted error shrinks in mean", 0,
     ask_weighted},
    {"noise", "the weighted error stays bounded under this noise", 0, ask_noise},
    {"corollary", "the accuracy corollary holds: norm(S) below 1, all agents, plain steps", 0,
     ask_corollary},
    {"quadratic", "every quadratic with these curvatures converges, all agents active", 0,
     ask_quadratic},
};

_Static_assert(sizeof rows / sizeof *rows == FPLT_THEORY_FINDINGS, "the header counts the rows");

fplt_status fplt_theory_judge(const fplt_theory_problem *problem,
                              const fplt_theory_parameters *parameters,
                              fplt_theory_verdict *verdict, fplt_error *error)
{
    memset(verdict, 0, sizeof *verdict);
    fplt_status status = fplt__theory_bound_make(problem, parameters, FPLT_BOUND_WEIGHTED,
                                                 &verdict->weighted, error);
    if (status)
        return status;
    fplt__theory_bound_make(problem, parameters, FPLT_BOUND_PLAIN, &verdict->plain, NULL);
    fplt__theory_bound_make(problem, parameters, FPLT_BOUND_PRINTED, &verdict->paper, NULL);
    verdict->printed = fplt__theory_matrix_make(problem, parameters, FPLT_THEORY_PRINTED);
    verdict->corrected = fplt__theory_matrix_make(problem, parameters, FPLT_THEORY_CORRECTED);
    struct question question = {problem, parameters, verdict};
    verdict->count = FPLT_THEORY_FINDINGS;
    for (size_t i = 0; i < verdict->count; i++) {
        fplt_theory_finding *finding = &verdict->finding[i];
        finding->name = rows[i].name;
        finding->meaning = rows[i].meaning;
        finding->printed = rows[i].printed;
        rows[i].ask(&question, finding);
    }
    verdict->guaranteed = verdict->weighted.holds;
    return FPLT_OK;
}
