/* Commands of a person to a coordinator: over its control socket, or on its files where none runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "federation/coordinator/coordinator.h"
#include "federation/plan/control.h"
#include "federation/plan/program.h"
#include "store/site.h"

/* What follows `word` and a blank in a command; NULL: it is another command. */
static const char *argument_of(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

/* In a running coordinator */

static void command(fplt__coordinator *c, fplt__leader_event_kind kind)
{
    fplt__leader_event event = {.kind = kind};
    fplt__coordinator_handle(c, &event);
}

/* A refit is ended before its first round, too. */
static void end_run(fplt__coordinator *c)
{
    if (c->proposal.refit == FPLT__REFIT_THIS &&
        fplt__leader_get_view(c->leader).state < FPLT__ROUND)
        snprintf(c->end.refusal, sizeof c->end.refusal, "ended by a person");
    else
        command(c, FPLT__LEADER_END);
}

/* Whether the settings allow a run without one more member. The command is refused while nothing has changed: afterwards the
 * state would name a run that no coordinator can propose. */
static fplt_status propose_without(const fplt__coordinator *c, fplt__coordinator *other,
                                   const char *name, fplt_error *error)
{
    fplt_error why = {FPLT_OK, ""};
    size_t count = c->excluded.count;
    fplt_status status = fplt__alloc_into(&other->excluded.name, count + 1,
                                          sizeof *other->excluded.name, "exclusions", error);
    if (status)
        return status;
    if (count)
        memcpy(other->excluded.name, c->excluded.name, count * sizeof *other->excluded.name);
    snprintf(other->excluded.name[count], sizeof *other->excluded.name, "%s", name);
    other->excluded.count = count + 1;
    other->excluded.run = c->run + 1;
    if (fplt__coordinator_propose(other, &why) == FPLT_OK && c->proposal.secure &&
        !other->proposal.secure)
        fplt_error_set(&why, FPLT_BAD_VALUE,
                       "without it `aggregate: auto` means plain, and the coordinator would see "
                       "single updates");
    if (why.status)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s cannot be excluded: %.300s. End the run with `fedplt "
                                "federation end`, its last model is kept",
                                name, why.text);
    fplt__free(other->excluded.name);
    return status;
}

static int is_member(const fplt__coordinator *c, const char *name)
{
    for (uint32_t i = 0; i < c->members; i++)
        if (strcmp(c->roster[i], name) == 0)
            return 1;
    return 0;
}

static fplt_status check_without(const fplt__coordinator *c, const char *name, fplt_error *error)
{
    fplt__coordinator *other;
    if (!is_member(c, name) || c->members < 2)
        return FPLT_OK; /* refused with the stored roster */
    fplt_status status = fplt__coordinator_rehearse(c, c->settings, &other, error);
    if (status)
        return status;
    status = propose_without(c, other, name, error);
    fplt__proposal_clear(&other->proposal);
    fplt__free(other);
    return status;
}

static char *exclude(fplt__coordinator *c, const char *name)
{
    char sentence[FPLT__SENTENCE];
    fplt_error error = {FPLT_OK, ""};
    if (fplt__leader_get_view(c->leader).committing)
        fplt_error_set(&error, FPLT_IO, "the state is being stored; try again");
    else if (!check_without(c, name, &error) &&
             !fplt__coordinator_exclude(c->store, c->run, name, sentence, &error)) {
        fplt__coordinator_log(c, -1, "excluded", "%s", sentence);
        c->turn.restarts = 1;
        snprintf(c->end.outcome.sentence, sizeof c->end.outcome.sentence, "%s", sentence);
        return fplt__control_done(sentence);
    }
    return fplt__control_error(&error);
}

static char *backup(fplt__coordinator *c, const char *path)
{
    fplt_error error = {FPLT_OK, ""};
    if (fplt__leader_store_backup(c->store, path, &error))
        return fplt__control_error(&error);
    fplt__coordinator_log(c, -1, "backup", "the state was copied to %s", path);
    return fplt__control_done(path);
}

static char *obey(void *context, const char *line)
{
    fplt__coordinator *c = context;
    const char *argument;
    if ((argument = argument_of(line, "exclude")))
        return exclude(c, argument);
    if ((argument = argument_of(line, "backup")))
        return backup(c, argument);
    if (strcmp(line, "pause") == 0)
        command(c, FPLT__LEADER_PAUSE);
    else if (strcmp(line, "resume") == 0)
        command(c, FPLT__LEADER_RESUME);
    else if (strcmp(line, "end") == 0)
        end_run(c);
    else if (strcmp(line, "check") == 0)
        command(c, FPLT__LEADER_CHECK);
    return fplt__coordinator_status(c);
}

void fplt__coordinator_serve_control(fplt__coordinator *c)
{
    fplt__control_serve(c->doors.control, obey, c);
}

/* Where nothing runs */

/* The answer is for fplt_free(), as one that came over the socket. */
static fplt_status answer_done(const char *sentence, char **answer, fplt_error *error)
{
    char *text = fplt__control_done(sentence);
    *answer = text ? fplt__strdup(text) : NULL;
    free(text);
    return *answer ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for an answer");
}

static fplt_status exclude_offline(const char *folder, const char *name, char **answer,
                                   fplt_error *error)
{
    char sentence[FPLT__SENTENCE];
    fplt__leader_store *store;
    uint32_t run;
    fplt_status status = fplt__coordinator_open_offline(folder, &store, error);
    if (status)
        return status;
    if (!(status = fplt__leader_store_newest(store, 0, &run, error)))
        status = run ? fplt__coordinator_exclude(store, run, name, sentence, error)
                     : fplt_error_set(error, FPLT_BAD_VALUE, "%s: no run was begun", folder);
    fplt__leader_store_close(store);
    return status ? status : answer_done(sentence, answer, error);
}

static fplt_status backup_offline(const char *folder, const char *path, char **answer,
                                  fplt_error *error)
{
    char source[4200];
    fplt__leader_store *leader = NULL;
    fplt__site_store *site = NULL;
    fplt_status status;
    snprintf(source, sizeof source, "%s/federation.db", folder);
    if (access(source, F_OK) == 0) {
        if (!(status = fplt__leader_store_open(source, &leader, error)))
            status = fplt__leader_store_backup(leader, path, error);
        fplt__leader_store_close(leader);
    } else {
        snprintf(source, sizeof source, "%s/state.db", folder);
        if (access(source, F_OK) != 0)
            return fplt_error_set(error, FPLT_IO,
                                  "%s has neither federation.db nor state.db: there is no state of "
                                  "a coordinator or an agent to copy",
                                  folder);
        if (!(status = fplt__site_store_open(source, &site, error)))
            status = fplt__site_store_backup(site, path, error);
        fplt__site_store_close(site);
    }
    return status ? status : answer_done(path, answer, error);
}

fplt_status fplt__federation_command(const char *folder, const char *word, char **answer,
                                     fplt_error *error)
{
    int is_there;
    const char *argument;
    if (strlen(word) >= FPLT__CONTROL_LINE - 1 || strchr(word, '\n'))
        return fplt_error_set(error, FPLT_BAD_VALUE, "a command is one line of at most %d bytes",
                              FPLT__CONTROL_LINE - 2);
    fplt_status status = fplt__control_ask(folder, word, &is_there, answer, error);
    if (!status || is_there)
        return status;
    if ((argument = argument_of(word, "exclude")))
        return exclude_offline(folder, argument, answer, error);
    if ((argument = argument_of(word, "backup")))
        return backup_offline(folder, argument, answer, error);
    return fplt_error_set(error, FPLT_IO,
                          "%s: no coordinator is running there; start it with `fedplt coordinator "
                          "federation.yaml`",
                          folder);
}
