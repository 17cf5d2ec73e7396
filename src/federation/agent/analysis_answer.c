/* The answer to an analysis: kept on disk, and the same bytes for every time that it is asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "federation/agent/consent.h"

static fplt_status keep_answer(const fplt__agent *agent, fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    for (size_t i = 0; i < 2 * agent->analysis.numbers; i++)
        fplt__buffer_format(&text, "%llx ", (unsigned long long)agent->analysis.words[i]);
    fplt_status status = text.status ? fplt_error_set(error, text.status, "no memory for an answer")
                                     : fplt__kept_save(agent->folder, FPLT__KEPT_ANALYSIS,
                                                       &agent->analysis.of, text.text, error);
    fplt__buffer_clear(&text);
    return status;
}

/* The answer of an earlier process of this agent; `words` NULL: there is none. */
static fplt_status load_answer(const fplt__agent *agent, const fplt__digest *of, uint64_t **words,
                               uint64_t *numbers, fplt_error *error)
{
    char *text, *end;
    size_t count = 0;
    *words = NULL;
    fplt_status status = fplt__kept_load(agent->folder, FPLT__KEPT_ANALYSIS, of, &text, error);
    if (status || !text)
        return status;
    if (!(status =
              fplt__alloc_into(words, strlen(text) / 2 + 1, sizeof **words, "an answer", error))) {
        for (const char *at = text; (*words)[count] = strtoull(at, &end, 16), end != at; at = end)
            count++;
        *numbers = count / 2;
    }
    fplt__free(text);
    return status;
}

static fplt_status check_records(fplt__agent *agent, const fplt__site_action *action,
                                 fplt_error *error)
{
    if (agent->analysis.records == action->records)
        return FPLT_OK;
    snprintf(agent->abroad, sizeof agent->abroad, "its data were changed since it agreed");
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the data have %llu records now, but this agent agreed to the proposal "
                          "with %llu; put the file back as it was, or start the agent again to "
                          "agree with the new one",
                          (unsigned long long)agent->analysis.records,
                          (unsigned long long)action->records);
}

fplt_status fplt__agent_tell_analysis(fplt__agent *agent, const fplt__site_action *action,
                                      uint64_t **words, uint64_t *numbers, fplt_error *error)
{
    fplt__proposal proposal;
    fplt__digest hash;
    fplt_status status = fplt__agent_proposal_of(action, &proposal, &hash, error);
    if (status)
        return status;
    if (!fplt__is_analysis(&proposal) || action->count)
        status = fplt_error_set(error, FPLT_FAILED,
                                "the coordinator asks for an analysis that it has not proposed");
    if (!status)
        status = fplt__agent_hide_reason(agent, load_answer(agent, &hash, words, numbers, error));
    if (!status && !*words &&
        !(status = fplt__agent_judge_proposal(agent, &proposal, &hash, 1, error)) &&
        !(status = check_records(agent, action, error)) &&
        !(status = fplt__agent_hide_reason(agent, keep_answer(agent, error))))
        status = fplt__agent_hide_reason(agent, load_answer(agent, &hash, words, numbers, error));
    fplt__proposal_clear(&proposal);
    return status;
}
