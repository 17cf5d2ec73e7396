/* The refit of a run: agreed to with the run, expected after it, and judged before the run begins. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "federation/agent/consent.h"
#include "federation/agent/policy.h"
#include "federation/agent/questions.h"
#include "federation/agent/site_memory.h"
#include "federation/plan/proposal.h"
#include "federation/plan/refit.h"

enum { MAX_EXPECTED = 4096 };

static void path_of(const fplt__agent *agent, char path[4200])
{
    snprintf(path, 4200, "%s/refit.txt", agent->folder);
}

void fplt__agent_expect_refit(const fplt__agent *agent, const fplt__proposal *proposal)
{
    fplt__digest expected;
    fplt_error error = {FPLT_OK, ""};
    char path[4200], text[FPLT__HEX];
    if (proposal->refit != FPLT__REFIT_FOLLOWS)
        return;
    path_of(agent, path);
    fplt_status status = fplt__refit_expected(proposal, &expected, &error);
    if (!status) {
        fplt__hex(&expected, sizeof expected, text);
        status = fplt__file_save(path, 0600, text, strlen(text), &error);
    }
    if (status)
        fplt__agent_log(agent, "disk", "the refit will be asked about by itself: %s", error.text);
}

int fplt__agent_expects(const fplt__agent *agent, const fplt__proposal *proposal)
{
    fplt__digest expected, found;
    fplt_error error;
    char path[4200], *text;
    size_t size;
    path_of(agent, path);
    if (proposal->refit != FPLT__REFIT_THIS || access(path, F_OK) != 0 ||
        fplt__refit_digest(proposal, &found, &error) ||
        fplt__file_read(path, MAX_EXPECTED, &text, &size, &error))
        return 0;
    int expects = fplt__unhex(text, &expected, sizeof expected) && fplt__same(&expected, &found);
    fplt_free(text);
    return expects;
}

/* Its policy, then its cost: half a question, and the sums of both fits. */
static fplt_status judge_terms(fplt__agent *agent, const fplt__proposal *refit, fplt_error *reason)
{
    fplt__consent_source source = {agent->settings,  agent->watch, &agent->self,
                                   agent->authority, NULL,         1};
    fplt__form form = fplt__local_data_form(agent->material);
    fplt__digest none = {{0}};
    form.withheld = agent->hessian.word == FPLT__HESSIAN_NO;
    fplt_status status;
    if ((status = fplt__policy_judge(&source, refit, &none, reason)) ||
        (status = fplt__policy_judge_form(agent->settings, refit, &form, reason)) ||
        !agent->asked.data_set)
        return status;
    uint64_t parameters = agent->asked.question.parameters;
    double cost = FPLT__QUESTION_COST / 2.0 * (double)parameters +
                  2 * FPLT__HESSIANS_OF_ERRORS * fplt__questions_hessian(parameters);
    return agent->asked.left >= cost
               ? FPLT_OK
               : fplt_error_set(reason, FPLT_FAILED,
                                "the questions to this data set leave %.0f numbers, and standard "
                                "errors with a refit of %llu parameters take %.0f",
                                agent->asked.left > 0 ? agent->asked.left : 0,
                                (unsigned long long)parameters, cost);
}

fplt_status fplt__agent_judge_refit(fplt__agent *agent, const fplt__agreement *agreement,
                                    fplt_error *reason)
{
    fplt__proposal refit;
    if (agreement->proposal.refit != FPLT__REFIT_FOLLOWS)
        return FPLT_OK;
    fplt_status status = fplt__proposal_copy(&agreement->proposal, &refit, reason);
    if (!status)
        status = fplt__refit_state(&refit, reason);
    if (!status)
        status = judge_terms(agent, &refit, reason);
    fplt__proposal_clear(&refit);
    return status;
}
