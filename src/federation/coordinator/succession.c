/* Runs that follow from another, because a member was excluded or rows of a member were withdrawn: the run ends, and the
 * next begins at its last model with a smaller roster or fewer rows. The coordinator holds no single agent's vectors, and
 * the number of agents, weights, step and noise are in the plan that was agreed to, so a run cannot lose a member and stay
 * exact; a new one with fresh state can. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/text.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/secure_plan.h"
#include "federation/plan/validation.h"
#include "fedplt/ledger.h"

/* What the settings become */

/* A run after a withdrawal has the promise of the settings, not what an exclusion left of it. */
static void add_succession(void *context, const fplt__succession *next)
{
    fplt__coordinator *c = context;
    struct fplt__coordinator_exclusion *all = &c->excluded;
    int excludes = *next->name != 0;
    if (excludes &&
        fplt__grow(&all->name, &all->room, all->count + 1, sizeof *all->name, "exclusions", NULL)) {
        c->turn.failure = FPLT_NO_MEMORY;
        return;
    }
    if (excludes)
        memcpy(all->name[all->count++], next->name, sizeof next->name);
    all->run = next->run;
    all->continued |=
        next->continued == FPLT__CONTINUES_MODEL || next->continued == FPLT__CONTINUES_REFIT;
    all->follows = next->continued;
    if (*next->epsilon || !excludes)
        memcpy(all->epsilon, next->epsilon, sizeof all->epsilon);
    if (*next->rounds || !excludes)
        memcpy(all->rounds, next->rounds, sizeof all->rounds);
}

void fplt__coordinator_clear_successions(fplt__coordinator *c)
{
    fplt__free(c->excluded.name);
    memset(&c->excluded, 0, sizeof c->excluded);
}

fplt_status fplt__coordinator_read_successions(fplt__coordinator *c, fplt_error *error)
{
    uint32_t base = (uint32_t)fplt_settings_integer(c->settings, "run");
    fplt__coordinator_clear_successions(c);
    fplt_status status = fplt__leader_store_successions(c->store, base, add_succession, c, error);
    return status || !c->turn.failure
               ? status
               : fplt_error_set(error, c->turn.failure, "no memory for exclusions");
}

/* What is left of a promise */

/* The Renyi rate whose epsilon at delta is the given one, by bisection from below. */
static double rate_of(double epsilon, double delta)
{
    double low = 0, high = 1, found;
    while (!fplt_ledger_epsilon(high, delta, &found, NULL) && found < epsilon && high < 1e12)
        high *= 2;
    for (int k = 0; k < 200; k++) {
        double middle = low + (high - low) / 2;
        if (!fplt_ledger_epsilon(middle, delta, &found, NULL) && found <= epsilon)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The largest sum that a member who stays can have spent in the run: the open round may be charged already, and its update
 * on the way. */
static double most_spent(const fplt__agreement *agreement, const fplt__member_row *row,
                         const char *name)
{
    double most = 0;
    for (uint32_t i = 0; i < agreement->proposal.members; i++) {
        uint64_t rounds = row[i].seen > row[i].charges ? row[i].seen : row[i].charges;
        if (strcmp(agreement->proposal.roster[i], name) != 0)
            most = fmax(most, agreement->rate[i] * (double)(rounds + 1));
    }
    return most;
}

static fplt_status is_spent(const char *what, fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNREACHABLE,
                          "no %s is left for another private run: end this one with `fedplt "
                          "federation end`, its last model is kept",
                          what);
}

static fplt_status divide_promise(const fplt__agreement *agreement,
                                  const fplt__leader_record *record, const char *name,
                                  fplt__succession *next, fplt_error *error)
{
    const fplt__proposal *proposal = &agreement->proposal;
    const char *given = fplt__pair_find(proposal->privacy, proposal->privacies, "epsilon");
    const char *bound = fplt__pair_find(proposal->privacy, proposal->privacies, "delta");
    double epsilon, delta = 1e-5, left;
    if (record->round >= agreement->rounds)
        return is_spent("round", error);
    snprintf(next->rounds, sizeof next->rounds, "%llu",
             (unsigned long long)(agreement->rounds - record->round));
    if (!given || fplt__parse_real(given, &epsilon))
        return FPLT_OK; /* the noise is given: fewer rounds cost less */
    if (bound)
        fplt__parse_real(bound, &delta);
    double rate = rate_of(epsilon, delta) - most_spent(agreement, record->member, name);
    if (!(rate > 0) || fplt_ledger_epsilon(rate, delta, &left, NULL) || !(left > 0))
        return is_spent("privacy budget", error);
    /* Six digits are right to 5e-6 of the number: the text is never above what is left. */
    snprintf(next->epsilon, sizeof next->epsilon, "%.6g", (1 - 1e-5) * left);
    return FPLT_OK;
}

/* The command */

static fplt_status check_roster(const fplt__proposal *proposal, const char *name, fplt_error *error)
{
    for (uint32_t i = 0; i < proposal->members; i++)
        if (strcmp(proposal->roster[i], name) == 0)
            return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "'%s' is not on the roster of run %u; `fedplt federation status` lists "
                          "who is",
                          name, proposal->run);
}

/* Whether masked sums over one member less are allowed: the next run keeps its aggregation. */
static fplt_status check_sums(const fplt__proposal *proposal, const char *name, fplt_error *error)
{
    fplt_error why = {FPLT_OK, ""};
    fplt__proposal fewer = *proposal; /* borrows all */
    fewer.members--;
    if (fewer.quorum > fewer.members)
        fewer.quorum = fewer.members;
    return !proposal->secure || fplt__secure_plan_check(&fewer, &why) == FPLT_OK
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s cannot be excluded: %.300s. End the run with `fedplt "
                                "federation end`, its last model is kept",
                                name, why.text);
}

static fplt_status check_member(const fplt__proposal *proposal, const char *name, fplt_error *error)
{
    fplt_status status = check_roster(proposal, name, error);
    if (!status && fplt__leaves_out_fold(proposal))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "run %u is part of a validation, whose fits have one roster; end it "
            "with `fedplt federation end`, take %s off the roster and raise `run`",
            proposal->run, name);
    if (!status && proposal->members < 2)
        status = fplt_error_set(error, FPLT_BAD_VALUE, "%s is the only member of run %u", name,
                                proposal->run);
    return status ? status : check_sums(proposal, name, error);
}

/* What is stored of the runs that follow from a run. */
struct following {
    uint32_t run;
    uint32_t base;   /* out: the run of the settings that it follows from */
    int is_followed; /* out: a run that starts at its model is recorded */
};

static void see_succession(void *context, const fplt__succession *next)
{
    struct following *found = context;
    if (next->run == found->run)
        found->base = next->base;
    found->is_followed |= next->continued && next->run == found->run + 1;
}

/* A run of which the member is to leave, with what follows from it; to be cleared. */
static fplt_status load_run(fplt__leader_store *store, uint32_t run, const char *name,
                            struct following *found, fplt__leader_loaded *known, fplt_error *error)
{
    *found = (struct following){.run = run, .base = run};
    fplt_status status = fplt__name_check("the member:", name, error);
    if (!status)
        status = fplt__leader_store_successions(store, 0, see_succession, found, error);
    return status ? status : fplt__leader_store_load_end(store, run, known, error);
}

static fplt_status exclude_before_rounds(fplt__leader_store *store, fplt__succession *next,
                                         char sentence[FPLT__SENTENCE], fplt_error *error)
{
    snprintf(sentence, FPLT__SENTENCE,
             "%s was excluded before the first round; run %u is proposed again without it",
             next->name, next->run);
    return fplt__leader_store_succeed(store, next->run, next, sentence, error);
}

static fplt_status exclude_in_rounds(fplt__leader_store *store, const fplt__agreement *agreement,
                                     const fplt__leader_record *record, fplt__succession *next,
                                     char sentence[FPLT__SENTENCE], fplt_error *error)
{
    uint32_t ended = next->run++;
    fplt_status status = FPLT_OK;
    next->continued = FPLT__CONTINUES_MODEL;
    if (record->state == FPLT__DONE)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "run %u is finished; take %s off the roster and raise `run` for the "
                              "next",
                              ended, next->name);
    if (agreement->private)
        status = divide_promise(agreement, record, next->name, next, error);
    if (status)
        return status;
    snprintf(sentence, FPLT__SENTENCE,
             "%s was excluded from run %u after %llu rounds; run %u begins at the last model "
             "without it%s%s%s%s%s",
             next->name, ended, (unsigned long long)record->round, next->run,
             *next->rounds ? ", for " : "", next->rounds, *next->rounds ? " rounds" : "",
             *next->epsilon ? " and epsilon " : "", next->epsilon);
    return fplt__leader_store_succeed(store, ended, next, sentence, error);
}

/* The agreement of a run with rounds, and its members' rows. */
static fplt_status exclude_planned(fplt__leader_store *store, const fplt__leader_record *known,
                                   fplt__succession *next, char sentence[FPLT__SENTENCE],
                                   fplt_error *error)
{
    fplt__agreement agreement;
    fplt__leader_loaded loaded;
    fplt_status status =
        fplt__agreement_read(known->document, known->document_size, &agreement, error);
    if (status)
        return status;
    if (!(status = check_member(&agreement.proposal, next->name, error)) &&
        !(status = fplt__leader_store_load(store, next->run, agreement.proposal.members, &loaded,
                                           error))) {
        status = known->hub
                     ? exclude_in_rounds(store, &agreement, &loaded.record, next, sentence, error)
                     : exclude_before_rounds(store, next, sentence, error);
        fplt__leader_loaded_clear(&loaded);
    }
    fplt__agreement_clear(&agreement);
    return status;
}

static fplt_status exclude_proposed(fplt__leader_store *store, const fplt__leader_record *known,
                                    fplt__succession *next, char sentence[FPLT__SENTENCE],
                                    fplt_error *error)
{
    fplt__proposal proposal;
    fplt_status status =
        fplt__proposal_read(known->document, known->document_size, &proposal, error);
    if (status)
        return status;
    if (!(status = check_member(&proposal, next->name, error)))
        status = exclude_before_rounds(store, next, sentence, error);
    fplt__proposal_clear(&proposal);
    return status;
}

fplt_status fplt__coordinator_exclude(fplt__leader_store *store, uint32_t run, const char *name,
                                      char sentence[FPLT__SENTENCE], fplt_error *error)
{
    fplt__leader_loaded known;
    struct following found;
    fplt_status status = load_run(store, run, name, &found, &known, error);
    if (status)
        return status;
    fplt__succession next = {.base = found.base, .run = run};
    memcpy(next.name, name, strlen(name) + 1);
    int is_proposal = known.record.state == FPLT__FORMING ||
                      (known.record.state == FPLT__ENDED && !known.record.hub);
    status = is_proposal ? exclude_proposed(store, &known.record, &next, sentence, error)
                         : exclude_planned(store, &known.record, &next, sentence, error);
    fplt__leader_loaded_clear(&known);
    return status;
}

/* Withdrawal */

static fplt_status check_withdrawal(const fplt__leader_record *record, uint32_t run,
                                    const char *name, fplt_error *error)
{
    fplt__agreement agreement;
    if ((record->state != FPLT__DONE && record->state != FPLT__ENDED) || !record->hub)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "run %u has no last model yet: rows are withdrawn after the run; let "
                              "it finish with `fedplt coordinator`",
                              run);
    fplt_status status =
        fplt__agreement_read(record->document, record->document_size, &agreement, error);
    if (status)
        return status;
    status = check_roster(&agreement.proposal, name, error);
    fplt__agreement_clear(&agreement);
    return status;
}

fplt_status fplt__coordinator_withdraw(fplt__leader_store *store, uint32_t run, const char *name,
                                       uint32_t *base, fplt_error *error)
{
    fplt__leader_loaded known;
    struct following found;
    char sentence[FPLT__SENTENCE];
    fplt_status status = load_run(store, run, name, &found, &known, error);
    if (status)
        return status;
    *base = found.base;
    fplt__succession next = {
        .base = found.base, .run = run + 1, .continued = FPLT__CONTINUES_MODEL};
    snprintf(sentence, sizeof sentence,
             "rows of %s are withdrawn after run %u; run %u begins at its last model", name, run,
             next.run);
    status = check_withdrawal(&known.record, run, name, error);
    if (!status && !found.is_followed)
        status = fplt__leader_store_succeed(store, run, &next, sentence, error);
    fplt__leader_loaded_clear(&known);
    return status;
}

/* Under one consent */

fplt_status fplt__coordinator_succeed(fplt__coordinator *c, fplt__continuing how,
                                      const char *sentence, fplt_error *error)
{
    uint32_t base = (uint32_t)fplt_settings_integer(c->settings, "run");
    fplt__succession next = {.base = base, .run = c->run + 1, .continued = how};
    return fplt__leader_store_succeed(c->store, c->run, &next, sentence, error);
}

fplt_status fplt__coordinator_open_offline(const char *folder, fplt__leader_store **store,
                                           fplt_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/federation.db", folder);
    if (access(path, F_OK) != 0)
        return fplt_error_set(error, FPLT_IO, "%s is not there: no run was begun in this folder",
                              path);
    return fplt__leader_store_open(path, store, error);
}
