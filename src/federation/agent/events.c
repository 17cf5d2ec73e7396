/* What all files of an agent do: log, and give events to the machine. Asks nothing of the other files. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/machine.h"
#include "federation/agent/agent.h"

uint64_t fplt__agent_now(void)
{
    return (uint64_t)(fplt__now() * 1000);
}

void fplt__agent_log(const fplt__agent *agent, const char *word, const char *format, ...)
{
    char sentence[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    uint64_t round = agent->site ? fplt__site_get_view(agent->site).round : 0;
    fplt_federation_event event = {word, sentence, agent->self.name, round, NAN};
    if (agent->watch->tell)
        agent->watch->tell(agent->watch->context, &event);
}

/* The account whose name stands here as a word of its own; NULL: none. */
static const char *account_at(const fplt__agent *agent, const char *sentence, const char *at)
{
    size_t count = agent->sets ? fplt__record_sets_count(agent->sets) : 0;
    for (size_t i = 0; i < count && (at == sentence || at[-1] == ' '); i++) {
        const char *name = fplt__record_sets_account(agent->sets, i);
        size_t length = strlen(name);
        if (strncmp(at, name, length) == 0 && (at[length] == ' ' || !at[length]))
            return name;
    }
    return NULL;
}

const char *fplt__agent_ledger_log(fplt__agent *agent, const char *sentence)
{
    char path[4200];
    size_t used = 0, length = (size_t)snprintf(path, sizeof path, "%s/ledger.db: ", agent->folder);
    if (strncmp(sentence, path, length) == 0)
        sentence += length;
    for (const char *at = sentence; *at && used + sizeof "records" < sizeof agent->said;) {
        const char *account = account_at(agent, sentence, at);
        if (account)
            used += (size_t)snprintf(agent->said + used, sizeof agent->said - used, "records");
        else
            agent->said[used++] = *at;
        at += account ? strlen(account) : 1;
    }
    FPLT__ASSERT(used < sizeof agent->said);
    agent->said[used] = 0;
    return agent->said;
}

void fplt__agent_handle(fplt__agent *agent, fplt__site_event *event)
{
    FPLT__ASSERT(agent->site);
    event->now = fplt__agent_now();
    fplt_status status = fplt__site_handle(agent->site, event, &agent->error);
    if (status)
        agent->failure = status;
}
