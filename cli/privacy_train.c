/* The private part of `fedplt train`: certificate and promise. */
#include <math.h>
#include <string.h>

#include "train.h"
#include "base/file.h"
#include "fedplt/promise.h"

fplt_status train_certify(const struct training *training, fplt_error *error)
{
    char path[4096];
    const char *certificate = fplt_trainer_certificate(training->trainer, error);
    if (!certificate)
        return error->status;
    snprintf(path, sizeof path, "%s/privacy.json", training->into);
    return fplt__file_save(path, 0666, certificate, strlen(certificate), error);
}

static const char *why(const fplt_promise_view *view, int planned)
{
    if (!planned)
        return "given, or the algorithm's rule";
    return isnan(view->predicted) ? "rule of private gradient descent" : "least predicted error";
}

/* Of divided noise: who hides whom, and what one place can and cannot show. */
static void print_sums(const fplt_promise_view *view, cli_text *out)
{
    fplt_privacy_mechanism own = view->mechanism;
    fplt_privacy_claim alone;
    double epsilon = NAN;
    if (!view->mechanism.honest)
        return;
    if (!fplt_privacy_claim_make(&own, "transcript", &alone, NULL))
        fplt_privacy_epsilon(&alone, FPLT_CONVERT_BEST, view->delta, &epsilon, NULL);
    cli_text_format(out,
                    "  %-22s the noise of at least %llu honest agents of %u, if at most %u help "
                    "the adversary\n",
                    "hidden by", (unsigned long long)view->mechanism.honest, view->agents,
                    view->colluders);
    cli_text_format(out, "  %-22s epsilon %.4g\n", "if more of them do", epsilon);
    cli_text_format(out,
                    "  %-22s all agents are in this process: the sums hide nothing from its "
                    "operator. Over a network, secure "
                    "aggregation hides the messages\n",
                    "simulation");
}

/* One noise for all, or that of the agents who have least and most. */
static void print_noise(const fplt_promise_view *view, cli_text *out)
{
    double deviation = sqrt(2 * view->mechanism.step), least = HUGE_VAL, most = 0;
    const char *source = view->secure ? "system's random source" : "from the seed";
    for (uint32_t i = 0; i < view->agents; i++) {
        least = fmin(least, view->tau[i]);
        most = fmax(most, view->tau[i]);
    }
    if (least == most)
        cli_text_format(out, "  %-22s tau = %.4g, deviation %.4g in every step, %s\n", "noise",
                        most, deviation * most, source);
    else
        cli_text_format(
            out,
            "  %-22s tau = %.4g to %.4g by an agent's records, deviation %.4g to %.4g in "
            "every step, %s\n",
            "noise", least, most, deviation * least, deviation * most, source);
}

void train_print_promise(const fplt_promise_view *view, cli_text *out)
{
    const fplt_privacy_mechanism *mechanism = &view->mechanism;
    if (*view->warning)
        cli_warn("%s", view->warning);
    if (view->drafted)
        cli_warn("the schema was drafted from the records and nobody has confirmed it: its bounds, "
                 "levels and classes may tell of single records, which no noise covers; replace "
                 "them by what is known without the records, then delete the line `drafted: yes`");
    if (!view->secure)
        cli_text_add(out, "seeded: not private. The noise comes from the seed; leave "
                          "privacy.noise out for a promise.\n");
    if (view->diagnosed)
        cli_text_add(out, "diagnosed: not private. The losses below are without noise; leave "
                          "privacy.diagnose out for a promise.\n");
    cli_text_format(out, "%s\n  %-22s epsilon %.6g at delta %g for ",
                    view->secure && !view->diagnosed ? "promise" : "what it would promise",
                    "privacy", view->promised, view->delta);
    if (view->by_person)
        cli_text_format(out, "every person, of at most %llu records\n",
                        (unsigned long long)view->group);
    else if (view->group == 1)
        cli_text_add(out, "every record\n");
    else
        cli_text_format(out, "any %llu records together\n", (unsigned long long)view->group);
    cli_text_format(out, "  %-22s %s: %s\n", "against", view->threat->name, view->threat->sees);
    cli_text_format(out, "  %-22s %s (mu = %.4g, kappa = %.4g)\n", "by", view->claim.method,
                    view->claim.gdp_mu, view->claim.round_factor);
    print_sums(view, out);
    cli_text_format(out, "  %-22s rows of norm %g, agent %u with %llu records\n", "worst case",
                    view->loss.row_norm, view->worst,
                    (unsigned long long)view->records[view->worst]);
    print_noise(view, out);
    cli_text_format(out, "  %-22s %llu (%s)\n", "rounds", (unsigned long long)mechanism->rounds,
                    why(view, view->planned_rounds));
    cli_text_format(out, "  %-22s %u (%s)\n", "local epochs", view->epochs,
                    why(view, view->planned_epochs));
    cli_text_add(out, "\nrun\n");
}
