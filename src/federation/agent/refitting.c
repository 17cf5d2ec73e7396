/* The refit of a run, judged before the run begins. */
#include <stdio.h>

#include "federation/agent/consent.h"
#include "federation/agent/policy.h"
#include "federation/agent/questions.h"
#include "federation/agent/site_memory.h"
#include "federation/plan/proposal.h"
#include "federation/plan/refit.h"

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
