/* What was agreed to besides the run at hand: the proposal that other runs follow from, kept in the agent's folder. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "federation/agent/consent.h"
#include "federation/plan/following.h"

static void path_of(const fplt__agent *agent, char path[4200])
{
    snprintf(path, 4200, "%s/agreed.json", agent->folder);
}

void fplt__agent_expect_following(const fplt__agent *agent, const fplt__proposal *proposal)
{
    fplt_error error = {FPLT_OK, ""};
    char path[4200], *text;
    if (!fplt__is_followed(proposal) || fplt__agent_expects(agent, proposal))
        return;
    path_of(agent, path);
    fplt_status status = fplt__proposal_text(proposal, &text, &error);
    if (!status) {
        status = fplt__file_save(path, 0600, text, strlen(text), &error);
        fplt__free(text);
    }
    if (status)
        fplt__agent_log(agent, "disk", "runs that follow will be asked about by themselves: %s",
                        error.text);
}

int fplt__agent_expects(const fplt__agent *agent, const fplt__proposal *proposal)
{
    fplt__proposal first;
    fplt_error error;
    char path[4200], *text;
    size_t size;
    path_of(agent, path);
    if (!fplt__is_follower(proposal) || access(path, F_OK) != 0 ||
        fplt__file_read(path, FPLT__DOCUMENT_LIMIT, &text, &size, &error))
        return 0;
    int expects = 0;
    if (!fplt__proposal_read(text, size, &first, &error)) {
        expects = fplt__proposal_follows(&first, proposal);
        fplt__proposal_clear(&first);
    }
    fplt_free(text);
    return expects;
}
