/* An agent: its life and its loop. */
#include "federation/agent/agent.h"

#include <math.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fedplt/file.h"
#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/status.h"
#include "federation/agent/policy.h"
#include "federation/plan/routes.h"

enum { MAX_PEM = 1 << 20 };

static const fplt_setting site_table[] = {
    {"coordinator", FPLT_TEXT, FPLT_REQUIRED, NULL, 0, 0, NULL, "its address: https://HOST:PORT", 0,
     0},
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "key, certificate and state", 0, 0},
    {"out", FPLT_TEXT, 0, "out", 0, 0, NULL, "folder for the model", 0, 0},
    {"proxy", FPLT_TEXT, 0, "auto", 0, 0, NULL,
     "proxy to dial through; auto: as the environment says; off: none", 0, 0},
    {"plan", FPLT_TEXT, 0, NULL, 0, 0, NULL, "hash of the one proposal that is agreed to", 0, 0},
    {"ledger-account", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "name of the record set that is charged in ledger.db, one for each data file or one for all; "
     "by "
     "default the ledger knows the files",
     0, 0, .needs = "data"},
    {"once", FPLT_SWITCH, 0, "no", 0, 0, NULL, "end with the run instead of waiting for the next",
     0, 0},
    {"check", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "only look at certificate, policy, data and ledger; nothing is sent", 0, 0},
    FPLT_SETTINGS_END,
};

fplt_status fplt_federation_site_declare(fplt_settings *settings, fplt_error *error)
{
    fplt_status status = fplt_settings_add(settings, "agent", site_table, error);
    if (!status)
        status = fplt_job_declare(settings, FPLT_JOB_READ, NULL, error);
    if (!status)
        status = fplt_settings_add(settings, "policy", fplt__policy_table, error);
    return status ? status : fplt_settings_add(settings, "policy", fplt__disclosure_table, error);
}

static uint64_t now_in_ms(void)
{
    return (uint64_t)(fplt__now() * 1000);
}

static int stopped(void *context)
{
    const fplt__agent *agent = context;
    return agent->watch->stop && agent->watch->stop(agent->watch->context);
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

void fplt__agent_handle(fplt__agent *agent, fplt__site_event *event)
{
    FPLT__ASSERT(agent->site);
    event->now = now_in_ms();
    fplt_status status = fplt__site_handle(agent->site, event, &agent->error);
    if (status)
        agent->failure = status;
}

/* Requests */

/* The longest answer that is expected. */
static uint64_t longest(const fplt__agent *agent, fplt__request_kind kind)
{
    return fplt__answer_limit(kind,
                              agent->material ? fplt__local_data_dimension(agent->material) : 0);
}

static void send_request(fplt__agent *agent, const fplt__request *request)
{
    char session[FPLT__SESSION_TEXT];
    fplt__answered answered;
    const fplt__route *route = fplt__route_of(request->kind);
    FPLT__ASSERT(request->body || !request->size);
    fplt_error error = {FPLT_OK, ""};
    int json = request->kind == FPLT__CONSENT || request->kind == FPLT__NEXT ||
               request->kind == FPLT__JOIN;
    fplt__call call = {.method = route->method,
                       .path = route->path,
                       .session = request->session ? session : NULL,
                       .type = json ? "application/json" : "application/octet-stream",
                       .body = request->body,
                       .size = request->size,
                       .limit = longest(agent, request->kind)};
    fplt__session_text(request->session, request->sequence, session);
    fplt_status status = fplt__client_call(agent->client, &call, &answered, &error);
    fplt__site_event event = {.kind = status ? FPLT__SITE_NETWORK : FPLT__SITE_REPLY,
                              .sentence = error.text};
    if (status && !stopped(agent))
        fplt__agent_log(agent, "network", "%s", error.text);
    if (!status) {
        event.status = answered.status;
        event.body = answered.body;
        event.size = answered.size;
        event.has_proof = *answered.proof && fplt__proof_read(answered.proof, &event.proof);
    }
    fplt__agent_handle(agent, &event);
}

/* State and ledger */

static void commit(fplt__agent *agent, const fplt__site_record *record)
{
    fplt_error error = {FPLT_OK, ""};
    FPLT__ASSERT(agent->store && record);
    fplt_status status = fplt__site_store_save(agent->store, record, &agent->charged, &error);
    fplt__site_event event = {.kind = status ? FPLT__SITE_FULL : FPLT__SITE_COMMITTED,
                              .sentence = error.text};
    if (status)
        fplt__agent_log(agent, "disk", "%s; trying again", error.text);
    fplt__agent_handle(agent, &event);
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

static void charge(fplt__agent *agent, const fplt__site_action *action)
{
    fplt_error error = {FPLT_OK, ""};
    FPLT__ASSERT(agent->ledger && agent->sets);
    fplt_charge about = {.incarnation = action->incarnation,
                         .round = action->round,
                         .rounds = 1,
                         .chain = action->chain.byte};
    memcpy(about.run, &action->hash, sizeof about.run);
    fplt_status status =
        fplt__accounts_charge(agent->ledger, agent->sets, &agent->cost, 1, &about, &error);
    if (!status)
        status = fplt__ledger_receipt(agent->ledger, about.run, &agent->charged, &error);
    fplt__site_event event = {.kind = FPLT__SITE_CHARGED, .sentence = error.text};
    if (status) {
        event.kind = status == FPLT_UNREACHABLE ? FPLT__SITE_SPENT : FPLT__SITE_FULL;
        event.sentence = fplt__agent_ledger_log(agent, error.text);
        fplt__agent_log(agent, "budget", "%s", error.text);
    } else {
        event.charged = agent->charged;
    }
    fplt__agent_handle(agent, &event);
}

static void adopt(fplt__agent *agent, const fplt__receipt *charged)
{
    fplt_error error;
    if (fplt__ledger_adopt(agent->ledger, charged, &error) ||
        fplt__ledger_receipt(agent->ledger, charged->run, &agent->charged, &error)) {
        fplt__agent_log(agent, "budget", "%s", error.text);
        return;
    }
    fplt__agent_log(
        agent, "budget",
        "the coordinator has a receipt of more than this ledger shows; the larger sum counts, and "
        "%llu rounds of the run that it names",
        (unsigned long long)agent->charged.rounds);
}

static void perform(fplt__agent *agent, const fplt__site_action *action)
{
    switch (action->kind) {
    case FPLT__SITE_SEND: send_request(agent, &action->request); break;
    case FPLT__SITE_COMMIT: commit(agent, action->record); break;
    case FPLT__SITE_CHARGE: charge(agent, action); break;
    case FPLT__SITE_ADOPT: adopt(agent, &action->charged); break;
    case FPLT__SITE_ASK: fplt__agent_ask(agent, action); break;
    case FPLT__SITE_GATHER: fplt__agent_gather(agent, action); break;
    case FPLT__SITE_BUILD: fplt__agent_build(agent, action); break;
    case FPLT__SITE_RESULT: fplt__agent_conclude(agent, action); break;
    case FPLT__SITE_LOG: fplt__agent_log(agent, action->word, "%s", action->sentence); break;
    case FPLT__SITE_QUIT:
        agent->over = 1;
        if (!agent->outcome.finished) {
            agent->failure = fplt_error_set(&agent->error, FPLT_FAILED, "%s", action->sentence);
        } else if (agent->unwritten) {
            agent->failure =
                fplt_error_set(&agent->error, FPLT_FAILED,
                               "the model was not written; fix the disk error in the log, and "
                               "start again: it is fetched anew");
        }
        break;
    }
}

/* Life */

static fplt_status load(const fplt__agent *agent, const char *file, char **text, fplt_error *error)
{
    char path[4200];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", agent->folder, file);
    if (access(path, F_OK) != 0)
        return fplt_error_set(error, FPLT_IO,
                              "%s is not there; `fedplt agent join CODE` brings it, with the code "
                              "that the coordinator's `fedplt pki invite NAME` prints",
                              path);
    return fplt_file_read(path, MAX_PEM, text, &size, error);
}

static fplt_status check_dates(const fplt__agent *agent, fplt_error *error)
{
    time_t now = time(NULL);
    char date[16];
    fplt__date(now > agent->self.ends ? agent->self.ends : agent->self.begins, date);
    if (now > agent->self.ends)
        return fplt_error_set(error, FPLT_FAILED,
                              "this agent's certificate expired on %s; ask the coordinator for a "
                              "new invitation",
                              date);
    if (now < agent->self.begins)
        return fplt_error_set(error, FPLT_FAILED,
                              "this agent's certificate is valid from %s; is this machine's clock "
                              "wrong?",
                              date);
    return FPLT_OK;
}

static fplt_status open_identity(fplt__agent *agent, fplt_error *error)
{
    fplt_status status;
    if ((status = load(agent, "agent.pem", &agent->certificate, error)) ||
        (status = load(agent, "agent.key", &agent->key, error)) ||
        (status = fplt__certificate_read(agent->certificate, "agent.pem", &agent->self, error)))
        return status;
    agent->authority = fplt__pem_second(agent->certificate);
    if (agent->self.role != FPLT_ROLE_AGENT || !agent->authority)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s/agent.pem: not the certificate of an agent with that of its "
                              "authority behind it",
                              agent->folder);
    char path[4200], key[4200];
    snprintf(path, sizeof path, "%s/agent.pem", agent->folder);
    snprintf(key, sizeof key, "%s/agent.key", agent->folder);
    if ((status = check_dates(agent, error)) ||
        (status = fplt__key_check(agent->certificate, agent->key, path, key, error)))
        return status;
    fplt__client_settings settings = {.url = fplt_settings_text(agent->settings, "coordinator"),
                                      .authority = agent->authority,
                                      .certificate = agent->certificate,
                                      .key = agent->key,
                                      .proxy = fplt_settings_text(agent->settings, "proxy"),
                                      .interrupted = stopped,
                                      .context = agent};
    return fplt__client_create(&settings, &agent->client, error);
}

static fplt_status open_ledger(fplt__agent *agent, uint8_t key[32], fplt_error *error)
{
    char path[4200], *bytes;
    size_t size;
    fplt__receipt known;
    fplt_status status;
    snprintf(path, sizeof path, "%s/ledger.db", agent->folder);
    if ((status = fplt_ledger_open(path, 1, &agent->ledger, error)) ||
        (status = fplt__site_store_charged(agent->store, &known, error)) ||
        (status = fplt__ledger_receipt(agent->ledger, known.run, &agent->charged, error)))
        return status;
    if (fplt__receipt_exceeds(&known, &agent->charged))
        return fplt_error_set(
            error, FPLT_FAILED,
            "%s: shows less than was spent already (%.6g instead of %.6g against transcript); put "
            "the right file back, or take the larger sum with `fedplt agent ledger --adopt`",
            path, agent->charged.spent.against[0], known.spent.against[0]);
    snprintf(path, sizeof path, "%s/ledger.key", agent->folder);
    if (access(path, F_OK) != 0) {
        randombytes_buf(key, 32);
        return fplt_file_save(path, 0600, key, 32, error);
    }
    if ((status = fplt_file_read(path, 64, &bytes, &size, error)))
        return status;
    if (size == 32)
        memcpy(key, bytes, 32);
    else
        status = fplt_error_set(error, FPLT_BAD_DATA, "%s: %zu bytes instead of 32", path, size);
    fplt__free(bytes);
    return status;
}

static fplt_status score(void *context, const double *x, double out[4])
{
    const fplt__agent *agent = context;
    return agent->material ? fplt__local_data_score(agent->material, x, out) : FPLT_FAILED;
}

static fplt_status open_machine(fplt__agent *agent, fplt_error *error)
{
    char path[4200];
    fplt__site_loaded loaded;
    fplt__site_settings settings = {.once = fplt_settings_switch(agent->settings, "once"),
                                    .least = (uint32_t)fplt_settings_integer(agent->settings,
                                                                             "policy.participants"),
                                    .allows = fplt__policy_allows(agent->settings),
                                    .score = score,
                                    .context = agent};
    fplt_status status;
    snprintf(path, sizeof path, "%s/state.db", agent->folder);
    randombytes_buf(&settings.random, sizeof settings.random);
    if ((status = fplt__site_store_open(path, &agent->store, error)) ||
        (status = open_ledger(agent, settings.ledger_key, error)) ||
        (status = fplt__site_create(&settings, &agent->site, error)) ||
        (status = fplt__site_store_load(agent->store, &loaded, error)))
        return status;
    if (loaded.there)
        status =
            fplt__ledger_receipt(agent->ledger, loaded.record.hash.byte, &agent->charged, error);
    if (!status)
        status = fplt__site_open(agent->site, now_in_ms(), loaded.there ? &loaded.record : NULL,
                                 &agent->charged, error);
    fplt__site_loaded_clear(&loaded);
    return status;
}

static void wait_until(fplt__agent *agent, uint64_t wake)
{
    while (!stopped(agent)) {
        uint64_t now = now_in_ms(), left = wake > now ? wake - now : 0;
        if (!left)
            return;
        struct timespec pause = {.tv_nsec = 1000000 * (long)(left < 100 ? left : 100)};
        nanosleep(&pause, NULL);
    }
}

static void answer_signal(const fplt__agent *agent)
{
    if (agent->watch->reload && agent->watch->reload(agent->watch->context))
        fplt__agent_log(agent, "reload",
                        "an agent reads its settings and certificate when it starts; end it and "
                        "start it again, nothing is lost by that");
}

static void run_loop(fplt__agent *agent)
{
    while (!agent->over && !agent->failure && !stopped(agent)) {
        answer_signal(agent);
        const fplt__site_action *action = fplt__site_action_take(agent->site);
        if (action) {
            perform(agent, action);
            continue;
        }
        wait_until(agent, fplt__site_wake(agent->site));
        if (stopped(agent))
            break;
        fplt__site_event event = {.kind = FPLT__SITE_TIME};
        fplt__agent_handle(agent, &event);
    }
}

static void warn_of_disclosure(const fplt__agent *agent)
{
    if (!fplt__policy_has_budget(agent->settings) &&
        !fplt__disclosure_preset_of(agent->settings)->known_starts)
        fplt__agent_log(agent, "WARNING",
                        "policy.disclosure is off: the operator of a run without privacy can read "
                        "single records of this site (docs/disclosure.md)");
}

/* All that can be wrong before anybody is dialled. */
static fplt_status rehearse(fplt__agent *agent, fplt_error *error)
{
    char date[16];
    size_t rows, features;
    fplt_status status = fplt__site_data_look(agent->settings, &rows, &features, error);
    if (status)
        return status;
    fplt__date(agent->self.ends, date);
    fplt__agent_log(
        agent, "check",
        "%s of %s, certificate until %s; %zu rows of %zu features; ledger and state are "
        "in order; nothing was sent",
        agent->self.name, agent->self.federation, date, rows, features);
    fplt__buffer policy = {NULL, 0, 0, FPLT_OK};
    fplt__policy_show(agent->settings, &policy);
    if (!fplt__policy_has_budget(agent->settings)) {
        fplt__buffer_add(&policy, "; privacy off: ");
        fplt__disclosure_show(agent->settings, &policy);
    }
    fplt__agent_log(agent, "check", "policy, every word checked: %s",
                    policy.text ? policy.text : "");
    fplt__buffer_clear(&policy);
    warn_of_disclosure(agent);
    return FPLT_OK;
}

static void close_all(fplt__agent *agent)
{
    fplt__site_destroy(agent->site);
    fplt__local_data_destroy(agent->material);
    fplt__record_sets_destroy(agent->sets);
    fplt_ledger_close(agent->ledger);
    fplt__site_store_close(agent->store);
    fplt__client_destroy(agent->client);
    if (agent->key)
        sodium_memzero(agent->key, strlen(agent->key));
    fplt__free(agent->key);
    fplt__free(agent->plan);
    fplt__free(agent->certificate);
    fplt__free(agent);
}

fplt_status fplt_federation_take_part(const fplt_settings *settings,
                                      const fplt_federation_watch *watch,
                                      fplt_federation_outcome *outcome, fplt_error *error)
{
    static const fplt_federation_watch nobody = {.context = NULL};
    char date[16];
    fplt__agent *agent;
    memset(outcome, 0, sizeof *outcome);
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "the system has no randomness");
    fplt_status status = watch ? FPLT__CHECK_TABLE(fplt_federation_watch, watch, error) : FPLT_OK;
    if (status || (status = fplt__alloc_into(&agent, 1, sizeof *agent, "the agent", error)))
        return status;
    signal(SIGPIPE, SIG_IGN);
    agent->settings = settings;
    agent->watch = watch ? watch : &nobody;
    snprintf(agent->folder, sizeof agent->folder, "%s", fplt_settings_text(settings, "folder"));
    if (!(status = fplt_settings_complete(settings, error)) &&
        !(status = fplt__site_effective(settings, error)) &&
        !(status = fplt__policy_check(settings, error)) &&
        !(status = fplt__disclosure_check(settings, error)) &&
        !(status = open_identity(agent, error)) &&
        !(status = fplt__policy_check_federation(settings, agent->self.federation, error)) &&
        !(status = open_machine(agent, error)) && fplt_settings_switch(settings, "check")) {
        status = rehearse(agent, error);
    } else if (!status) {
        fplt__agent_log(agent, "started", "%s takes part in %s at %s", agent->self.name,
                        agent->self.federation, fplt_settings_text(settings, "coordinator"));
        if (fplt__certificate_is_ending(&agent->self, date))
            fplt__agent_log(agent, "certificate",
                            "this agent's certificate ends on %s; ask the coordinator for a new "
                            "invitation",
                            date);
        warn_of_disclosure(agent);
        run_loop(agent);
        if ((status = agent->failure) && error)
            *error = agent->error;
        *outcome = agent->outcome;
    }
    close_all(agent);
    return status;
}
