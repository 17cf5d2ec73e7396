/* A validation at a site: whether it is agreed to, how many folds its rows and questions can carry, and the file that says to
 * the site alone which rows are in which fold. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "federation/agent/consent.h"
#include "federation/agent/policy.h"
#include "federation/agent/rules.h"
#include "federation/plan/proposal.h"
#include "federation/plan/validation.h"

fplt_status fplt__agent_judge_validation(const fplt__agent *agent, const fplt__proposal *proposal,
                                         int is_expected, fplt_error *error)
{
    fplt__validation validation;
    fplt__validation_part part;
    fplt_status status = fplt__validation_part_read(proposal, &part, error);
    if (status || (!*proposal->validation && !*proposal->part))
        return status;
    if (*proposal->part && !is_expected)
        return fplt_error_set(error, FPLT_FAILED,
                              "%s of a validation: this agent has not agreed to the run that the "
                              "validation begins with, as it is",
                              proposal->part);
    if (*proposal->validation && (status = fplt__validation_read(proposal, &validation, error)))
        return status;
    return fplt__policy_allows_word(agent->settings, "score")
               ? FPLT_OK
               : fplt__policy_against(agent->settings, "policy.allow", error, "a validation needs",
                                      "score");
}

/* ---- how many folds ---- */

/* The rows that the rules count. Under secure aggregation those of all honest sites: all but the colluders, which might
 * have the most. */
static double counted_rows(const fplt__agent *agent, const fplt__proposal *proposal,
                           const fplt__site_action *action)
{
    if (!proposal->secure)
        return (double)fplt__local_data_records(agent->material);
    return fmax(0, action->down[0] - proposal->colluders * action->down[1]);
}

/* Rows to train on for the parameters, without the largest fold. */
static int has_rows(const fplt__agent *agent, double rows, uint32_t folds)
{
    double left = rows - ceil(rows / folds), parameters = (double)agent->asked.question.parameters;
    return left >= fplt__rule_value(agent->settings, FPLT__RULE_ROWS_PER_PARAMETER) * parameters &&
           left >= fplt__rule_value(agent->settings, FPLT__RULE_FREEDOM) + parameters;
}

/* What the fits of one fold cost: the first as a new question, unless these rows were asked about before, the others half. */
static fplt_status price_fold(const fplt__agent *agent, const fplt__proposal *first,
                              const fplt__validation *validation, uint32_t folds, uint32_t fold,
                              double *cost, fplt_error *error)
{
    double half = FPLT__QUESTION_COST / 2.0 * (double)agent->asked.question.parameters, added = 0;
    fplt__proposal fit;
    fplt_status status = fplt__proposal_copy(first, &fit, error);
    if (!status)
        status = fplt__validation_state_fit(&fit, validation, folds, fold, error);
    if (!status)
        status = fplt__questions_price(agent->settings, &fit, agent->memory, &agent->asked, &added,
                                       error);
    *cost += added + half * (double)(validation->count - 1);
    fplt__proposal_clear(&fit);
    return status;
}

/* Of all fits, the last one on all rows included. */
static fplt_status price_folds(const fplt__agent *agent, const fplt__proposal *first,
                               const fplt__validation *validation, uint32_t folds, double *cost,
                               fplt_error *error)
{
    fplt_status status = FPLT_OK;
    *cost = FPLT__QUESTION_COST / 2.0 * (double)agent->asked.question.parameters;
    for (uint32_t f = 0; f < folds && !status; f++)
        status = price_fold(agent, first, validation, folds, f, cost, error);
    return status;
}

static fplt_status fit_questions(fplt__agent *agent, const fplt__proposal *first, double rows,
                                 uint32_t *folds, fplt_error *error)
{
    fplt__validation validation;
    double cost = 0;
    fplt__asked asked =
        agent->asked; /* the rows of others are what the coordinator says: they are not kept */
    fplt_status status = fplt__validation_read(first, &validation, error);
    if (first->secure && rows > 0)
        asked.question.share = (double)fplt__local_data_records(agent->material) / rows;
    if (status || (status = fplt__questions_judge_cost(agent->settings, (uint64_t)rows,
                                                       agent->memory, &asked, error)))
        return status;
    while (*folds >= 2) {
        if ((status = price_folds(agent, first, &validation, *folds, &cost, error)))
            return status;
        if (has_rows(agent, rows, *folds) && cost <= asked.left)
            break;
        --*folds;
    }
    fplt__agent_log(
        agent, "validation",
        "the questions of %zu values in %u folds cost %.0f of the %.0f numbers that are left",
        validation.count, *folds, cost, fmax(0, asked.left));
    return FPLT_OK;
}

fplt_status fplt__agent_count_folds(fplt__agent *agent, const fplt__proposal *proposal,
                                    const fplt__site_action *action, double *folds,
                                    fplt_error *error)
{
    fplt_status status = FPLT_OK;
    uint32_t most = fplt__local_data_most_folds(agent->material);
    if (!*proposal->validation || action->count != 2 || !(action->down[0] >= action->down[1]) ||
        !fplt__is_whole(action->down[1], 1, 9007199254740992.0))
        return fplt_error_set(error, FPLT_BAD_DATA, "the coordinator asks for folds wrongly");
    if (most >= 2 && agent->asked.data_set)
        status =
            fit_questions(agent, proposal, counted_rows(agent, proposal, action), &most, error);
    if (!status && most < 2)
        fplt__agent_log(agent, "validation",
                        "not even two folds meet the disclosure rules of this site");
    else if (!status)
        fplt__agent_log(agent, "validation",
                        "at most %u folds meet the disclosure rules of this site", most);
    *folds = most;
    return status;
}

/* ---- which rows ---- */

void fplt__agent_keep_folds(const fplt__agent *agent, const fplt__proposal *proposal)
{
    const uint32_t *fold = fplt__local_data_folds(agent->material);
    size_t rows =
        fplt__local_data_records(agent->material) + fplt__local_data_held_out(agent->material);
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    fplt_error error = {FPLT_OK, ""};
    fplt__validation_part part;
    char path[4200];
    if (!fold || fplt__validation_part_read(proposal, &part, NULL) || part.fold)
        return;
    fplt__buffer_add(&text, "site,row,fold\n");
    for (size_t r = 0; r < rows; r++)
        fplt__buffer_format(&text, "%s,%zu,%u\n", agent->self.name, r + 1, fold[r]);
    snprintf(path, sizeof path, "%s/folds.csv", agent->folder);
    if (text.status || fplt__file_save(path, 0600, text.text, text.length, &error))
        fplt__agent_log(agent, "disk", "%s was not written: %s", path, error.text);
    fplt__buffer_clear(&text);
}
