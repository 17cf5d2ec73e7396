/* Members whose certificates were revoked. One that is silent never shows its certificate, so the table is
 * looked at as well: a run must not wait for such a member. */
#include <string.h>

#include "base/assert.h"
#include "base/machine.h"
#include "federation/coordinator/coordinator.h"

enum { SECONDS_BETWEEN = 1 };

/* A revoked member that the state machine does not know of yet; -1: none. */
struct search {
    const fplt__coordinator *c;
    int64_t member_index;
};

static void look_at(void *context, const fplt__member *member)
{
    struct search *search = context;
    const fplt__coordinator *c = search->c;
    if (strcmp(member->state, "revoked") != 0)
        return;
    for (uint32_t i = 0; i < c->members; i++)
        if (!c->revoked[i] && strcmp(c->roster[i], member->name) == 0)
            search->member_index = i;
}

void fplt__coordinator_tend_revoked(fplt__coordinator *c)
{
    double now = fplt__now();
    uint64_t version;
    fplt_error error;
    if (c->revocation.roster_checked > 0 && now - c->revocation.roster_checked < SECONDS_BETWEEN)
        return;
    int first = !(c->revocation.roster_checked > 0);
    c->revocation.roster_checked = now;
    if (fplt__authority_version(&c->pki.authority, &version, &error) ||
        (!first && version == c->revocation.roster_version))
        return; /* unknown, or as before */
    struct search search;
    do { /* the machine is told when the list is closed */
        search = (struct search){c, -1};
        if (fplt__authority_list(&c->pki.authority, look_at, &search, &error))
            return;
        FPLT__ASSERT(search.member_index < (int64_t)c->members);
        fplt__coordinator_revoke(c, search.member_index);
        FPLT__ASSERT(search.member_index < 0 || c->revoked[search.member_index]); /* found once */
    } while (search.member_index >= 0);
    c->revocation.roster_version = version;
}
