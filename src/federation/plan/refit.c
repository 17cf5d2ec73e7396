#include "federation/plan/refit.h"

#include <string.h>

#include "base/memory.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/proposal.h"

/* Kept: whether the refit has it too. Weights of classes and bent gradients are no part of a likelihood. */
static const struct {
    const char *name;
    int kept;
} of_fit[] = {{"loss", 1},
              {"ties", 1},
              {"huber-delta", 1},
              {"predictor-bound", 0},
              {"random-intercept", 1},
              {"quadrature-points", 1},
              {"intercept", 1},
              {"clip", 0},
              {"weights", 0},
              {"class-weight", 0},
              {"holdout", 1},
              {"radius", 1},
              {"standardise", 1},
              {"missing", 1},
              {"missing-value", 1},
              {"missing-bounds", 1},
              {"missing-cells", 1},
              {"formula", 1}};

/* What the refit has instead: the pooled rows without a penalty, to the precision of the arithmetic. */
static const struct {
    const char *name, *value;
} stated[] = {{"algorithm", "auto"},  {"criterion-at", "model"}, {"regulariser", "none"},
              {"relative", "yes"},    {"rounds", "200"},         {"start", "model"},
              {"tolerance", "1e-22"}, {"weights", "rows"}};

static int find_of_fit(const char *name)
{
    for (size_t i = 0; i < sizeof of_fit / sizeof *of_fit; i++)
        if (strcmp(of_fit[i].name, name) == 0)
            return (int)i;
    return -1;
}

int fplt__is_of_fit(const char *name)
{
    return find_of_fit(name) >= 0;
}

static int has_penalty(const fplt_settings *settings)
{
    return strcmp(fplt_settings_text(settings, "h"), "zero") != 0 ||
           (strcmp(fplt_settings_text(settings, "regulariser"), "none") != 0 &&
            fplt_settings_real(settings, "eps") > 0);
}

fplt_status fplt__refit_check(const fplt__proposal *proposal, fplt_error *error)
{
    fplt_settings *settings;
    if (proposal->privacies)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "refit is yes, but a model with privacy has no standard errors, and "
                              "further rounds would be charged; leave refit out");
    if (fplt__is_custom(proposal))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "refit is yes, but of a custom cost the penalty is not known; leave "
                              "refit out");
    fplt_status status = fplt__plan_resolution_settings(proposal, 0, &settings, error);
    if (status)
        return status;
    if (!has_penalty(settings))
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "refit is yes, but train has no penalty: the run itself gives "
                                "estimates and standard errors; leave refit out");
    fplt_settings_destroy(settings);
    return status;
}

fplt_status fplt__refit_state(fplt__proposal *proposal, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    size_t kept = 0;
    for (size_t i = 0; i < proposal->settings; i++) {
        fplt__pair pair = proposal->setting[i];
        int found = find_of_fit(pair.name);
        if (found >= 0 && of_fit[found].kept) {
            proposal->setting[kept++] = pair;
            continue;
        }
        fplt__free(pair.name);
        fplt__free(pair.value);
    }
    proposal->settings = kept;
    for (size_t i = 0; !status && i < sizeof stated / sizeof *stated; i++)
        status = fplt__proposal_set(proposal, stated[i].name, stated[i].value, error);
    fplt__pairs_sort(proposal->setting, proposal->settings);
    *proposal->validation = *proposal->part = 0;
    proposal->run++;
    proposal->quorum = 0;
    proposal->refit = FPLT__REFIT_THIS;
    return status;
}
