/* Refusals: what the log of the site says, and what the coordinator hears. */
#include <stdio.h>

#include "federation/agent/consent.h"

void fplt__agent_refuse(fplt__agent *agent, const char *sentence)
{
    fplt__site_event event = {.kind = FPLT__SITE_REFUSE,
                              .sentence = *agent->abroad ? agent->abroad : sentence};
    fplt__agent_log(agent, "refused", "%s", sentence);
    fplt__agent_handle(agent, &event);
    *agent->abroad = 0;
}

fplt_status fplt__agent_hide_reason(fplt__agent *agent, fplt_status status)
{
    if (status && !*agent->abroad)
        snprintf(agent->abroad, sizeof agent->abroad,
                 "its data cannot be used in this run; its own log says why");
    return status;
}

fplt_status fplt__agent_hide_records(fplt__agent *agent, fplt_status status)
{
    fplt_error error;
    if (status != FPLT_FAILED)
        return fplt__agent_hide_reason(agent, status);
    snprintf(agent->abroad, sizeof agent->abroad, "%s", FPLT__DISCLOSURE);
    if (agent->asked.data_set &&
        fplt__site_memory_charge(agent->memory, agent->asked.data_set, &agent->asked.question, NULL,
                                 NULL, &error))
        fplt__agent_log(agent, "disk", "the question was not counted: %s", error.text);
    return status;
}
