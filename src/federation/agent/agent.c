/* An agent: its life and its loop. */
#include "federation/agent/agent.h"

#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/noise.h"
#include "base/settings.h"
#include "base/status.h"
#include "federation/agent/custom_cost.h"
#include "federation/agent/peers.h"
#include "federation/agent/policy.h"
#include "federation/agent/rules.h"
#include "federation/plan/control.h"
#include "federation/plan/routes.h"
#include "http/broken_pipe.h"
#include "promise/ledger.h"

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
     "by default the ledger knows the files, and without data it must be given",
     0, 0},
    {"audit-days", FPLT_INTEGER, 0, "3650", FPLT__AUDIT_MIN_DAYS, 36500, NULL,
     "days that entries of the audit log are kept", 0, 0},
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
    if (!status)
        status = fplt_settings_add(settings, "agent", fplt__peers_table, error);
    if (!status)
        status = fplt_settings_add(settings, "policy", fplt__peers_policy_table, error);
    if (!status)
        status = fplt_settings_add(settings, "policy", fplt__custom_cost_table, error);
    return status ? status : fplt_settings_add(settings, "policy", fplt__disclosure_table, error);
}

/* The control socket */

static char *obey(void *context, const char *line)
{
    fplt__agent *agent = context;
    static const char word[] = "backup ";
    fplt_error error = {FPLT_OK, ""};
    const char *path = line + sizeof word - 1;
    if (strncmp(line, word, sizeof word - 1) != 0)
        fplt_error_set(&error, FPLT_BAD_VALUE, "an agent knows the command `backup FILE` only");
    else if (!fplt__site_store_backup(agent->store, path, &error)) {
        fplt__agent_log(agent, "backup", "the state was copied to %s", path);
        return fplt__control_done(path);
    }
    return fplt__control_error(&error);
}

/* Asked several times a second, also while a request waits for its answer; never within a commit. */
static int stopped(void *context)
{
    fplt__agent *agent = context;
    fplt__control_serve(agent->control, obey, agent);
    return agent->watch->stop && agent->watch->stop(agent->watch->context);
}

/* Requests */

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

/* The longest answer that is expected. */
static uint64_t longest(const fplt__agent *agent, fplt__request_kind kind)
{
    return fplt__answer_limit(kind,
                              agent->material ? fplt__local_data_dimension(agent->material) : 0);
}

static void send_request(fplt__agent *agent, const fplt__request *request)
{
    char session[FPLT__SESSION_TEXT], header[FPLT__SESSION_TEXT + sizeof FPLT__SESSION_HEADER + 2];
    fplt__answered answered;
    const fplt__route *route = fplt__route_of(request->kind);
    FPLT__ASSERT(request->body || !request->size);
    fplt_error error = {FPLT_OK, ""};
    int json = request->kind == FPLT__CONSENT || request->kind == FPLT__NEXT ||
               request->kind == FPLT__JOIN;
    fplt__call call = {.method = route->method,
                       .path = route->path,
                       .header = request->session ? header : NULL,
                       .wanted = FPLT__PROOF_HEADER,
                       .type = json ? "application/json" : "application/octet-stream",
                       .body = request->body,
                       .size = request->size,
                       .limit = longest(agent, request->kind)};
    fplt__session_text(request->session, request->sequence, session);
    snprintf(header, sizeof header, FPLT__SESSION_HEADER ": %s", session);
    int consents =
        request->kind == FPLT__CONSENT; /* the request is gone once its answer is handled */
    fplt__agent_record_answer(agent, request);
    fplt_status status = fplt__client_call(agent->client, &call, &answered, &error);
    fplt__site_event event = {.kind = status ? FPLT__SITE_NETWORK : FPLT__SITE_REPLY,
                              .sentence = error.text};
    if (status && !stopped(agent))
        fplt__agent_log(agent, "network", "%s", error.text);
    if (!status) {
        agent->renewal.answered = 1;
        event.status = answered.status;
        event.body = answered.body;
        event.size = answered.size;
        event.has_proof = *answered.header && fplt__proof_read(answered.header, &event.proof);
    }
    fplt__agent_handle(agent, &event);
    if (!status && consents)
        fplt__agent_sign_record(agent);
    /* the coordinator says that the certificate is not in force; where this machine's clock agrees, that is final */
    if (!status && answered.status == 403 && !agent->failure)
        agent->failure = check_dates(agent, &agent->error);
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

static void charge(fplt__agent *agent, const fplt__site_action *action)
{
    fplt_error error = {FPLT_OK, ""};
    FPLT__ASSERT(agent->ledger && agent->sets);
    fplt__charge about = {.incarnation = action->incarnation,
                          .round = action->round,
                          .rounds = 1,
                          .chain = action->chain.byte};
    memcpy(about.run, &action->hash, sizeof about.run);
    fplt_status status =
        fplt__accounts_charge(agent->ledger, agent->sets, &agent->cost, 1, &about, &error);
    if (!status)
        status = fplt__ledger_receipt(agent->ledger, about.run, &agent->charged, &error);
    fplt__site_event event = {.kind = FPLT__SITE_CHARGED, .sentence = error.text};
    fplt__agent_record_charge(agent, action->round, status ? error.text : NULL);
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
    return fplt__file_read(path, MAX_PEM, text, &size, error);
}

static fplt_status open_identity(fplt__agent *agent, fplt_error *error)
{
    fplt_status status;
    if ((status = load(agent, "agent.pem", &agent->certificate, error)) ||
        (status = load(agent, "agent.key", &agent->key, error)) ||
        (status = fplt__certificate_read(agent->certificate, "agent.pem", &agent->self, error)))
        return status;
    sodium_mlock(agent->key, strlen(agent->key)); /* where the limit allows it */
    agent->authority = fplt__pem_second(agent->certificate);
    if (agent->self.role != FPLT_ROLE_AGENT || !agent->authority)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s/agent.pem: not the certificate of an agent with that of its "
                              "authority behind it",
                              agent->folder);
    char path[4200], key[4200];
    if ((status = fplt__peers_identity(agent->folder, &agent->identity, error)))
        return status;
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
                                      .context = agent,
                                      .explain = fplt__certificate_explain};
    return fplt__client_create(&settings, &agent->client, error);
}

/* Reads certificate and key again, and connects with them; a failure ends the agent. */
static fplt_status reopen_identity(fplt__agent *agent, fplt_error *error)
{
    fplt__client_destroy(agent->client);
    agent->client = NULL;
    fplt__free(agent->certificate);
    sodium_memzero(agent->key, strlen(agent->key));
    fplt__free(agent->key);
    agent->certificate = agent->key = NULL;
    fplt_status status = open_identity(agent, error);
    if (status)
        agent->failure = fplt_error_set(&agent->error, status, "%s", error->text);
    return status;
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
        return fplt__file_save(path, 0600, key, 32, error);
    }
    if ((status = fplt__file_read(path, 64, &bytes, &size, error)))
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
    fplt_status status =
        agent->material ? fplt__local_data_score(agent->material, x, out) : FPLT_FAILED;
    double least = agent->guard.is_on ? fplt__rule_value(agent->settings, FPLT__RULE_COUNTS) : 0;
    if (!status && out[3] > 0 && (out[1] < least || out[2] - out[1] < least)) {
        out[1] = 0;
        out[3] =
            -4294967296.0; /* below the number of members: no sum claims that all hits are in it */
    }
    return status;
}

static fplt_status guard(void *context, unsigned kind, const double *x, fplt_error *error)
{
    fplt__agent *agent = context;
    int refused = agent->guard.refused;
    fplt_status status = fplt__guard_judge(&agent->guard, agent->settings, agent->material,
                                           agent->memory, &agent->asked, kind, x, error);
    if (status == FPLT_FAILED && !refused)
        fplt__agent_record_refusal(agent, error->text);
    return status;
}

static fplt_status open_machine(fplt__agent *agent, fplt_error *error)
{
    char path[4200];
    fplt__site_loaded loaded;
    fplt__site_settings settings = {
        .once = fplt_settings_switch(agent->settings, "once"),
        .allows_exclusion = fplt__policy_allows_exclusion(agent->settings),
        .least = (uint32_t)fplt_settings_integer(agent->settings, "policy.participants"),
        .allows = fplt__policy_allows(agent->settings),
        .score = score,
        .guard = guard,
        .context = agent};
    fplt_status status;
    snprintf(path, sizeof path, "%s/state.db", agent->folder);
    randombytes_buf(&settings.random, sizeof settings.random);
    randombytes_buf(settings.root, sizeof settings.root);
    memcpy(settings.identity, agent->identity.secret, sizeof settings.identity);
    settings.has_identity = 1;
    if ((status = fplt__site_store_open(path, &agent->store, error)) ||
        (status = fplt__site_memory_open(agent->folder, &agent->memory, error)) ||
        (status = fplt__agent_open_record(agent, error)) ||
        (status = open_ledger(agent, settings.ledger_key, error)) ||
        (status = fplt__site_create(&settings, &agent->site, error)) ||
        (status = fplt__site_store_load(agent->store, &loaded, error))) {
        sodium_memzero(&settings, sizeof settings);
        return status;
    }
    sodium_memzero(&settings, sizeof settings);
    if (loaded.there)
        status =
            fplt__ledger_receipt(agent->ledger, loaded.record.hash.byte, &agent->charged, error);
    if (!status)
        status = fplt__site_open(agent->site, fplt__agent_now(),
                                 loaded.there ? &loaded.record : NULL, &agent->charged, error);
    fplt__site_loaded_clear(&loaded);
    return status ? status : fplt__control_open(agent->folder, &agent->control, error);
}

static void wait_until(fplt__agent *agent, uint64_t wake)
{
    while (!stopped(agent)) {
        uint64_t now = fplt__agent_now(), left = wake > now ? wake - now : 0;
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

/* In the child of a fork, which has the keys, masks, connections and open files of its parent: nothing may go on there, or
 * two plaintexts could meet one mask. */
static int is_copy(fplt__agent *agent)
{
    if (agent->process == fplt__process_mark())
        return 0;
    agent->failure = fplt_error_set(&agent->error, FPLT_FAILED,
                                    "this process is the child of a fork: the agent goes on in the "
                                    "parent, whose keys and files these are, and ends here");
    return 1;
}

static void run_loop(fplt__agent *agent)
{
    while (!agent->over && !agent->failure && !stopped(agent) && !is_copy(agent)) {
        answer_signal(agent);
        fplt__agent_tend_certificate(agent, reopen_identity);
        if (agent->failure)
            break;
        const fplt__site_action *action = fplt__site_action_take(agent->site);
        if (action) {
            perform(agent, action);
            continue;
        }
        wait_until(agent, fplt__site_wake(agent->site));
        if (stopped(agent) || is_copy(agent))
            break;
        fplt__site_event event = {.kind = FPLT__SITE_TIME};
        fplt__agent_handle(agent, &event);
    }
}

static void warn_of_disclosure(const fplt__agent *agent)
{
    if (!fplt__policy_has_budget(agent->settings) && fplt__rules_are_off(agent->settings))
        fplt__agent_log(agent, "WARNING",
                        "policy.disclosure is off: the operator of a run without privacy can read "
                        "single records of this site (docs/disclosure.md)");
}

/* Each rule with the value that holds here. */
static void list_rules(const fplt__agent *agent)
{
    for (fplt__rule_name rule = 0; rule < FPLT__RULES; rule++) {
        fplt__buffer value = {NULL, 0, 0, FPLT_OK};
        fplt__rule_show(rule, fplt__rule_value(agent->settings, rule), &value);
        fplt__agent_log(agent, "rule", "%s: %s: %s", fplt__rules[rule].name, fplt__rules[rule].says,
                        value.text ? value.text : "");
        fplt__buffer_clear(&value);
    }
    fplt__agent_log(agent, "rule", "%s", FPLT__DISCLOSURE_THREAT);
}

/* All that can be wrong before anybody is dialled. */
static fplt_status rehearse(fplt__agent *agent, fplt_error *error)
{
    char date[16];
    const fplt_federation_cost *cost = agent->watch->cost;
    size_t rows, features;
    fplt_status status = FPLT_OK;
    if (cost && !fplt_settings_text(agent->settings, "data")) {
        rows = fplt_objective_records(cost->objective, 0);
        features = fplt_objective_dimension(cost->objective);
    } else {
        status = fplt__site_data_look(agent->settings, &rows, &features, error);
    }
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
    if (!fplt__policy_has_budget(agent->settings))
        list_rules(agent);
    warn_of_disclosure(agent);
    fplt__buffer peers = {NULL, 0, 0, FPLT_OK};
    status = fplt__peers_compare(agent->settings, agent->folder, agent->self.name,
                                 agent->identity.visible, &peers, error);
    if (!status)
        fplt__agent_log(agent, "check", "%s", peers.text ? peers.text : "");
    fplt__buffer_clear(&peers);
    return status;
}

static void close_all(fplt__agent *agent)
{
    fplt__control_close(agent->folder, agent->control);
    fplt__site_destroy(agent->site);
    fplt__local_data_destroy(agent->material);
    fplt__agent_forget_analysis(agent);
    fplt__record_sets_destroy(agent->sets);
    fplt_ledger_close(agent->ledger);
    fplt__site_store_close(agent->store);
    fplt__site_memory_close(agent->memory);
    fplt__audit_close(agent->audit);
    fplt__client_destroy(agent->client);
    if (agent->key)
        sodium_munlock(agent->key, strlen(agent->key)); /* wipes */
    fplt_key_clear(&agent->identity);
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
    fplt__agent *agent;
    memset(outcome, 0, sizeof *outcome);
    if (sodium_init() < 0)
        return fplt_error_set(error, FPLT_FAILED, "the system has no randomness");
    fplt_status status = watch ? FPLT__CHECK_TABLE(fplt_federation_watch, watch, error) : FPLT_OK;
    if (status || (status = fplt__alloc_into(&agent, 1, sizeof *agent, "the agent", error)))
        return status;
    fplt__broken_pipe pipes = fplt__broken_pipe_block();
    agent->control = -1;
    agent->process = fplt__process_mark();
    agent->settings = settings;
    agent->watch = watch ? watch : &nobody;
    snprintf(agent->folder, sizeof agent->folder, "%s", fplt_settings_text(settings, "folder"));
    if (!(status = fplt__settings_complete(settings, error)) &&
        !(status = fplt__site_effective(settings, error)) &&
        !(status = fplt__policy_check(settings, error)) &&
        !(status = fplt__disclosure_check(settings, error)) &&
        !(status = fplt__custom_cost_check_policy(settings, error)) &&
        !(status = fplt__custom_cost_check(agent->watch->cost, error)) &&
        !(status = fplt__peers_check(settings, error)) && !(status = open_identity(agent, error)) &&
        !(status = fplt__policy_check_federation(settings, agent->self.federation, error)) &&
        !(status = open_machine(agent, error)) && fplt_settings_switch(settings, "check")) {
        status = rehearse(agent, error);
    } else if (!status) {
        fplt__agent_log(agent, "started", "%s takes part in %s at %s", agent->self.name,
                        agent->self.federation, fplt_settings_text(settings, "coordinator"));
        warn_of_disclosure(agent);
        fplt__agent_record_start(agent);
        run_loop(agent);
        if ((status = agent->failure) && error)
            *error = agent->error;
        *outcome = agent->outcome;
    }
    if (agent->process ==
        fplt__process_mark()) /* a copy closes nothing: locks and connections are the parent's */
        close_all(agent);
    fplt__broken_pipe_restore(&pipes);
    return status;
}
