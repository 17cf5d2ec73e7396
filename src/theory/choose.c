/* Which rho, step and epochs to take.
 *
 * rho = 1/sqrt(lmin lmax) minimises zeta, the factor of exact splitting [Giselsson and Boyd 2017];
 * it also serves finitely many epochs: in the quadratic family, at condition numbers 4, 100 and
 * 10000 and 1 to 100 epochs, it needs at most 1.2 times the rounds of the best rho. */
#include "theory/theory.h"

#include <math.h>
#include <stdio.h>

enum { COARSE = 24, RHO_POINTS = 30, DIRECTIONS = 10, EPOCHS_MAX = 100, EPOCHS_DEFAULT = 5 };

fplt_theory_problem fplt__theory_convexified(const fplt_theory_problem *problem)
{
    fplt_theory_problem convex = *problem;
    if (convex.strong_convexity <= 0)
        convex.strong_convexity = fplt__theory_usable_convexity(problem);
    return convex;
}

static double balanced_rho(const fplt_theory_problem *problem)
{
    return fplt__theory_penalty(problem->strong_convexity, problem->smoothness);
}

fplt_theory_parameters fplt_theory_defaults(const fplt_theory_problem *problem)
{
    fplt_theory_problem convex = fplt__theory_convexified(problem);
    double rho = balanced_rho(&convex);
    return (fplt_theory_parameters){
        rho, fplt_theory_best_step(&convex, rho), EPOCHS_DEFAULT, 0, 1, 1, 0};
}

/* Begins every reasoning: which curvatures were reckoned with. */
static int describe(const fplt_theory_problem *given, const fplt_theory_problem *convex, char *text,
                    size_t size)
{
    if (given->strong_convexity > 0)
        return snprintf(text, size, "Curvatures between %.4g and %.4g (condition number %.4g). ",
                        convex->strong_convexity, convex->smoothness,
                        convex->smoothness / convex->strong_convexity);
    return snprintf(text, size,
                    "The strong convexity is %.4g, so nothing is guaranteed; reckoned with %.4g, "
                    "a condition number of %g. ",
                    given->strong_convexity, convex->strong_convexity, 1 / FPLT_THEORY_FLAT);
}

/* ---- Search ---- */

/* A point of the search: the logarithm of rho, and the step as a share of the best one. */
struct point {
    double log_rho, share;
    double rate;
};

struct search {
    fplt_theory_problem problem;
    fplt_theory_parameters parameters; /* epochs and solver are set, rho and step vary */
    double log_low, log_high;
};

static void place(struct search *search, double log_rho, double share)
{
    double rho = exp(log_rho);
    search->parameters.rho = rho;
    search->parameters.step = search->parameters.accelerated
                                  ? fplt__theory_accelerated_step(&search->problem, rho)
                                  : share * fplt_theory_best_step(&search->problem, rho);
}

static void try_point(struct search *search, double log_rho, double share, struct point *best)
{
    /* the best often lies on the border, so moves beyond it end there */
    const double least_share = 0.01;
    log_rho = fmin(fmax(log_rho, search->log_low), search->log_high);
    share = fmin(fmax(share, least_share), 1);
    place(search, log_rho, share);
    double rate = fplt__quadratic_scan(&search->problem, &search->parameters, COARSE).rate;
    if (rate < best->rate)
        *best = (struct point){log_rho, share, rate};
}

/* Best rho and step for the epochs that are set: a grid, then ever shorter moves. The rate is a
 * maximum of smooth functions and has sharp valleys along no axis, so the directions of the moves
 * turn by the golden angle and never repeat. The useful rho lie between 1/lmax and 1/lmin. */
static struct point search_point(struct search *search)
{
    const double shares[] = {1, 0.98, 0.95, 0.9, 0.8, 0.6}, golden_angle = 2.399963229728653;
    int accelerated = search->parameters.accelerated;
    size_t count = accelerated ? 1 : sizeof shares / sizeof *shares;
    double middle = (search->log_low + search->log_high) / 2;
    double spacing = (search->log_high - search->log_low) / RHO_POINTS;
    struct point best = {middle, 1, INFINITY};
    for (size_t s = 0; s < count; s++)
        for (int i = 0; i <= RHO_POINTS; i++)
            try_point(search, middle + (i - RHO_POINTS / 2) * spacing, shares[s], &best);
    double across = spacing, along = accelerated ? 0 : 0.08;
    unsigned turns = 0;
    while (across > 2e-3 * spacing) {
        double before = best.rate;
        for (int direction = 0; direction < DIRECTIONS; direction++) {
            double angle = golden_angle * turns++;
            try_point(search, best.log_rho + across * cos(angle), best.share + along * sin(angle),
                      &best);
        }
        if (!(best.rate < before)) {
            across /= 2;
            along /= 2;
        }
    }
    return best;
}

/* Measures the found point on the fine grid, and the balanced choice beside it: what is returned is
 * never worse than that. */
static void try_epochs(struct search *search, const fplt__theory_prices *prices, uint32_t epochs,
                       fplt__theory_tuned *best)
{
    search->parameters.epochs = epochs;
    struct point found = search_point(search);
    struct point candidates[] = {found, {log(balanced_rho(&search->problem)), 1, 0}};
    for (int i = 0; i < 2; i++) {
        place(search, candidates[i].log_rho, candidates[i].share);
        double rate = fplt_theory_quadratic_rate(&search->problem, &search->parameters).rate;
        double round = epochs * prices->gradient + prices->communication;
        double cost = rate < 1 ? round * M_LN10 / -log(rate) : INFINITY;
        if (cost < best->cost_per_digit) {
            best->rho = search->parameters.rho;
            best->step = search->parameters.step;
            best->epochs = epochs;
            best->rate = rate;
            best->cost_per_digit = cost;
        }
    }
}

/* Every number of epochs up to ten, then a tenth apart, then all near the best, at most ten
 * to each side. */
static void search_epochs(struct search *search, const fplt__theory_prices *prices, uint32_t most,
                          fplt__theory_tuned *best)
{
    for (uint64_t epochs = 1; epochs <= most; epochs += epochs / 10 + (epochs < 10))
        try_epochs(search, prices, (uint32_t)epochs, best);
    uint32_t centre = best->epochs, reach = centre / 10;
    if (!isfinite(best->cost_per_digit) || reach < 2)
        return;
    if (reach > 10)
        reach = 10;
    for (uint32_t epochs = centre - reach; epochs <= centre + reach && epochs <= most; epochs++)
        if (epochs != centre)
            try_epochs(search, prices, epochs, best);
}

static fplt_status check_prices(const fplt__theory_prices *prices, fplt_error *error)
{
    double gradient = prices->gradient, communication = prices->communication;
    if (!isfinite(gradient) || gradient < 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the price of a gradient is %g: it must be finite and at least 0",
                              gradient);
    if (!isfinite(communication) || communication < 0)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "the price of a communication is %g: it must be finite and at least 0", communication);
    if (gradient + communication == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "gradient and communication are both free: one must have a price");
    return FPLT_OK;
}

fplt_status fplt__theory_tune(const fplt_theory_problem *problem, const fplt__theory_prices *prices,
                              fplt__theory_tuned *tuned, fplt_error *error)
{
    fplt_status status = fplt_theory_check(problem, NULL, error);
    if (!status)
        status = check_prices(prices, error);
    if (status)
        return status;
    struct search search = {.problem = fplt__theory_convexified(problem)};
    search.parameters = fplt_theory_defaults(problem);
    search.parameters.accelerated = prices->accelerated;
    const double margin = 1.2; /* in the logarithm, on both sides */
    search.log_low = -log(search.problem.smoothness) - margin;
    search.log_high = -log(search.problem.strong_convexity) + margin;
    *tuned = (fplt__theory_tuned){.strong_convexity = search.problem.strong_convexity,
                                  .cost_per_digit = INFINITY};
    uint32_t most = prices->epochs_most ? prices->epochs_most : EPOCHS_MAX;
    if (prices->epochs)
        try_epochs(&search, prices, prices->epochs, tuned);
    else
        search_epochs(&search, prices, most, tuned);
    if (!isfinite(tuned->cost_per_digit))
        return fplt_error_set(error, FPLT_UNREACHABLE,
                              "no rho and step tried converge on quadratics with curvatures "
                              "between %g and %g: allow more epochs or plain gradient steps",
                              search.problem.strong_convexity, search.problem.smoothness);
    int used = describe(problem, &search.problem, tuned->reasoning, sizeof tuned->reasoning);
    snprintf(tuned->reasoning + used, sizeof tuned->reasoning - (size_t)used,
             "With %u %sstep%s a round, priced %.4g each, and %.4g a communication, rho = %.6g and "
             "a step of %.6g cost least on quadratics: the error shrinks by %.4g a round, a "
             "decimal digit costs %.4g. Costs that are not quadratic behave so only near the "
             "minimiser; no guarantee follows.",
             (unsigned)tuned->epochs, prices->accelerated ? "accelerated " : "",
             tuned->epochs == 1 ? "" : "s", prices->gradient, prices->communication, tuned->rho,
             tuned->step, tuned->rate, tuned->cost_per_digit);
    return FPLT_OK;
}
