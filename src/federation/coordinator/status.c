/* What can be seen of a coordinator from outside: JSON, metrics and a page. No secrets, no updates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buffer.h"
#include "fedplt/algorithm.h"
#include "fedplt/ledger.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/text.h"
#include "federation/coordinator/coordinator.h"
#include "federation/coordinator/page.h"

enum { SILENT_SECONDS = 60, LATE_SECONDS = 60, FRESH_ROUNDS = 50 };

/* JSON */

static double seconds_since(uint64_t then)
{
    return (double)(fplt__coordinator_now() - then) / 1000;
}

static const char *member_state(const fplt__member_view *member)
{
    if (member->standing == FPLT__REVOKED)
        return "revoked";
    if (member->standing == FPLT__LEFT_OUT)
        return "left-out";
    if (!member->heard)
        return "unheard";
    if (seconds_since(member->last_heard) > SILENT_SECONDS)
        return "silent";
    return member->absent ? "absent" : member->received ? "received" : "present";
}

/* What was spent on a record of a member in this run so far; NaN without a promise. */
static double spent_by(const fplt__coordinator *c, uint32_t i)
{
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    const fplt__member_row *row = fplt__leader_member(c->leader, i).row;
    double delta, epsilon;
    if (!agreement || !agreement->private || !row)
        return NAN;
    const char *given =
        fplt__pair_find(agreement->proposal.privacy, agreement->proposal.privacies, "delta");
    if (!given || fplt__parse_real(given, &delta))
        delta = 1e-5;
    uint64_t rounds = row->seen > row->charges ? row->seen : row->charges;
    return fplt_ledger_epsilon(agreement->rate[i] * (double)rounds, delta, &epsilon, NULL)
               ? NAN
               : epsilon;
}

static json_t *member_json(const fplt__coordinator *c, uint32_t i)
{
    fplt__member_view member = fplt__leader_member(c->leader, i);
    json_t *found =
        json_pack("{s:s, s:s, s:b, s:b, s:b, s:I}", "name", c->roster[i], "state",
                  member_state(&member), "consented", member.consented, "cohort", member.in_cohort,
                  "received", member.received, "version", (json_int_t)member.version);
    if (found && member.heard)
        json_object_set_new(found, "seen", json_real(seconds_since(member.last_heard)));
    if (found && isfinite(spent_by(c, i)))
        json_object_set_new(found, "epsilon", json_real(spent_by(c, i)));
    if (found && member.row) {
        json_object_set_new(found, "records", json_integer((json_int_t)member.row->records));
        json_object_set_new(found, "repairs", json_integer(member.row->repairs));
        json_object_set_new(found, "released", json_integer((json_int_t)member.row->seen));
        if (member.row->version)
            json_object_set_new(found, "last_round",
                                json_integer((json_int_t)member.row->last_round));
    }
    return found;
}

static json_t *curve_json(const fplt__coordinator *c)
{
    json_t *curve = json_array();
    for (size_t i = 0; i < c->seen.points; i++)
        if (isfinite(c->seen.point[i].criterion))
            json_array_append_new(curve, json_pack("[I, f]", (json_int_t)c->seen.point[i].round,
                                                   c->seen.point[i].criterion));
    return curve;
}

static void add_privacy(const fplt__coordinator *c, json_t *status)
{
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    if (!agreement || !agreement->private)
        return;
    const fplt__proposal *proposal = &agreement->proposal;
    json_t *privacy = json_object();
    for (size_t i = 0; i < proposal->privacies; i++)
        json_object_set_new(privacy, proposal->privacy[i].name,
                            json_string(proposal->privacy[i].value));
    json_object_set_new(privacy, "cap", json_integer((json_int_t)agreement->cap));
    json_object_set_new(status, "privacy", privacy);
}

/* In a round not before its deadline. */
static int is_late(const fplt__leader_view *view)
{
    uint64_t now = fplt__coordinator_now();
    if (view->paused || view->committing || view->evaluating)
        return 0;
    if (view->state == FPLT__ROUND)
        return view->opened_now && view->received < view->quorum &&
               (now >= view->deadline || now - view->opened >= 1000 * LATE_SECONDS);
    return view->state < FPLT__ROUND || view->state == FPLT__REPAIR;
}

void fplt__coordinator_waiting(const fplt__coordinator *c, char *sentence, size_t size)
{
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    size_t used = 0;
    *sentence = 0;
    if (!is_late(&view))
        return;
    for (uint32_t i = 0; i < c->members && used < size; i++) {
        fplt__member_view member = fplt__leader_member(c->leader, i);
        if (!member.waited_for)
            continue;
        used += (size_t)snprintf(sentence + used, size - used, "%s%s", used ? ", " : "waiting for ",
                                 c->roster[i]);
        if (used >= size)
            break;
        if (member.refused)
            used += (size_t)snprintf(sentence + used, size - used,
                                     " (refused: restart its agent with another policy, or end "
                                     "this run)");
        else if (member.heard)
            used += (size_t)snprintf(sentence + used, size - used, " (last seen %.0f s ago)",
                                     seconds_since(member.last_heard));
        else
            used += (size_t)snprintf(sentence + used, size - used, " (not seen yet)");
    }
}

static void add_secure(json_t *status, const fplt__leader_view *view,
                       const fplt__agreement *agreement)
{
    if (!view->secure)
        return;
    json_object_set_new(status, "secure",
                        json_pack("{s:s, s:s, s:i, s:i, s:i, s:I}", "mode",
                                  agreement->threshold ? "quorum" : "all", "stage", view->stage,
                                  "threshold", (int)agreement->threshold, "colluders",
                                  (int)agreement->proposal.colluders, "left", (int)view->left,
                                  "void", (json_int_t)view->void_rounds));
}

static json_t *status_json(const fplt__coordinator *c)
{
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    const fplt__agreement *agreement = fplt__leader_agreement(c->leader);
    char hash[FPLT__HEX];
    fplt__hex(&c->hash, sizeof c->hash, hash);
    json_t *status = json_pack(
        "{s:s, s:i, s:s, s:s, s:b, s:I, s:I, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:f, s:f, s:o}",
        "federation", c->pki.authority.federation, "run", (int)c->run, "proposal", hash, "state",
        fplt__leader_state_name(view.state), "paused", view.paused, "round", (json_int_t)view.round,
        "rounds", (json_int_t)view.rounds, "leg", (int)view.incarnation, "cohort", (int)view.cohort,
        "received", (int)view.received, "quorum", (int)view.quorum, "bytes_up",
        (json_int_t)fplt__server_received(c->doors.agents), "bytes_down",
        (json_int_t)fplt__server_sent(c->doors.agents), "refused", (json_int_t)c->seen.refusals,
        "commit", c->seen.commit_seconds, "seconds", fplt__now() - c->seen.started, "curve",
        curve_json(c));
    json_t *members = json_array();
    for (uint32_t i = 0; i < c->members; i++)
        json_array_append_new(members, member_json(c, i));
    json_object_set_new(status, "members", members);
    if (agreement)
        json_object_set_new(status, "algorithm", json_string(agreement->plan.algorithm->name));
    if (view.has_measure && isfinite(view.measure.criterion))
        json_object_set_new(status, "criterion", json_real(view.measure.criterion));
    if (view.outcome && *view.outcome)
        json_object_set_new(status, "outcome", json_string(view.outcome));
    if (view.sentence && *view.sentence)
        json_object_set_new(status, "sentence", json_string(view.sentence));
    char waiting[FPLT__SENTENCE];
    fplt__coordinator_waiting(c, waiting, sizeof waiting);
    if (*waiting)
        json_object_set_new(status, "waiting", json_string(waiting));
    fplt__coordinator_add_findings(c, status);
    add_privacy(c, status);
    fplt__coordinator_add_analysis(c, status);
    fplt__coordinator_add_validation(c, status);
    add_secure(status, &view, agreement);
    json_object_set_new(status, "checking", json_boolean(view.checks));
    if (view.has_check)
        json_object_set_new(status, "check",
                            json_pack("{s:I, s:b}", "round", (json_int_t)view.check_round, "equal",
                                      view.check_equal));
    return status;
}

char *fplt__coordinator_status(const fplt__coordinator *c)
{
    json_t *status = status_json(c);
    char *text = status ? json_dumps(status, JSON_COMPACT) : NULL;
    json_decref(status);
    return text;
}

/* Metrics: the text format of Prometheus, with HELP and TYPE before the samples of each. */

static void begin_metric(fplt__buffer *out, const char *name, const char *type, const char *help)
{
    fplt__buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_gauge(fplt__buffer *out, const char *name, const char *help, double value)
{
    begin_metric(out, name, "gauge", help);
    if (isfinite(value))
        fplt__buffer_format(out, "%s %.17g\n", name, value);
    else
        fplt__buffer_format(out, "%s %s\n", name,
                            isnan(value) ? "NaN"
                            : value > 0  ? "+Inf"
                                         : "-Inf");
}

static void add_counters(fplt__buffer *out, const char *name, const char *help, const char *label,
                         const char *const *values, const uint64_t *count, size_t counts)
{
    begin_metric(out, name, "counter", help);
    for (size_t i = 0; i < counts; i++)
        fplt__buffer_format(out, "%s{%s=\"%s\"} %llu\n", name, label, values[i],
                            (unsigned long long)count[i]);
}

static void add_member_metrics(const fplt__coordinator *c, fplt__buffer *out)
{
    static const char *const states[] = {"unheard", "present", "received", "absent",
                                         "silent",  "revoked", "left-out"};
    unsigned count[sizeof states / sizeof *states] = {0};
    uint64_t repairs = 0;
    begin_metric(out, "fedplt_agent_last_seen_seconds", "gauge",
                 "Seconds since the last request of an agent.");
    for (uint32_t i = 0; i < c->members; i++) {
        fplt__member_view member = fplt__leader_member(c->leader, i);
        for (size_t s = 0; s < sizeof states / sizeof *states; s++)
            count[s] += strcmp(states[s], member_state(&member)) == 0;
        repairs += member.row ? member.row->repairs : 0;
        if (member.heard)
            fplt__buffer_format(out, "fedplt_agent_last_seen_seconds{agent=\"%s\"} %.3f\n",
                                c->roster[i], seconds_since(member.last_heard));
    }
    begin_metric(out, "fedplt_agents", "gauge", "Agents of the roster by state.");
    for (size_t s = 0; s < sizeof states / sizeof *states; s++)
        fplt__buffer_format(out, "fedplt_agents{state=\"%s\"} %u\n", states[s], count[s]);
    begin_metric(out, "fedplt_repairs_total", "counter",
                 "Vectors sent once more after a loss of state.");
    fplt__buffer_format(out, "fedplt_repairs_total %llu\n", (unsigned long long)repairs);
}

/* What was spent on a record of the member that spent most. */
static double most_spent(const fplt__coordinator *c)
{
    double spent = 0;
    for (uint32_t i = 0; i < c->members; i++)
        spent = fmax(spent, spent_by(c, i));
    return spent;
}

char *fplt__coordinator_metrics(const fplt__coordinator *c)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    static const char *const verdicts[FPLT__VERDICTS] = {[FPLT__UPDATE_ACCEPTED] = "accepted",
                                                         [FPLT__UPDATE_LATE] = "late",
                                                         [FPLT__UPDATE_REFUSED] = "refused",
                                                         [FPLT__UPDATE_CONFLICT] = "conflict"};
    static const char *const directions[] = {"up", "down"};
    uint64_t bytes[] = {fplt__server_received(c->doors.agents), fplt__server_sent(c->doors.agents)};
    fplt__leader_view view = fplt__leader_get_view(c->leader);
    int is_open = view.state == FPLT__ROUND && view.opened_now;
    char *text = NULL;
    add_gauge(&out, "fedplt_round", "Number of the current round, from 0.", (double)view.round);
    add_gauge(&out, "fedplt_round_seconds", "Seconds since the open round began; 0 between rounds.",
              is_open ? seconds_since(view.opened) : 0);
    if (view.has_measure)
        add_gauge(&out, "fedplt_criterion", "Stopping criterion as it was measured last.",
                  view.measure.criterion);
    add_gauge(&out, "fedplt_commit_seconds", "Duration of the last commit to disk.",
              c->seen.commit_seconds);
    add_counters(&out, "fedplt_updates_total", "Updates of agents by verdict.", "verdict", verdicts,
                 c->seen.update, FPLT__VERDICTS);
    add_counters(&out, "fedplt_refused_total", "Refused connections and requests by reason.",
                 "reason", fplt__coordinator_reasons, c->seen.refused, FPLT__REASONS);
    add_counters(&out, "fedplt_bytes_total", "Bytes of bodies by direction.", "direction",
                 directions, bytes, 2);
    add_member_metrics(c, &out);
    if (view.secure) {
        static const char *const ends[] = {"whole", "short", "void"};
        uint64_t rounds[] = {view.whole_rounds, view.short_rounds, view.void_rounds};
        add_counters(&out, "fedplt_secure_rounds_total",
                     "Rounds of secure aggregation by their end.", "end", ends, rounds, 3);
        begin_metric(&out, "fedplt_secure_lists_total", "counter",
                     "Lists of keys sent, one more for each restart of an agent.");
        fplt__buffer_format(&out, "fedplt_secure_lists_total %llu\n",
                            (unsigned long long)view.lists);
    }
    if (fplt__leader_agreement(c->leader) && fplt__leader_agreement(c->leader)->private)
        add_gauge(&out, "fedplt_privacy_epsilon",
                  "Epsilon spent in this run by the agent that spent most.", most_spent(c));
    if (fplt__buffer_take(&out, &text, NULL))
        return NULL;
    return text;
}

/* The page */

static void page_head(void *context, fplt__http_transaction *transaction, uint64_t length,
                      uint64_t *limit)
{
    (void)context, (void)length;
    *limit = 0;
    if (strcmp(fplt__http_transaction_method(transaction), "GET") != 0)
        fplt__http_transaction_refuse_method(transaction, "GET");
}

static void answer_made(fplt__http_transaction *transaction, const char *type, char *text)
{
    fplt__http_transaction_add_header(transaction, "Cache-Control", "no-store");
    fplt__http_transaction_answer_text(transaction, text ? 200 : 503, type, text ? text : "");
}

static void page_whole(void *context, fplt__http_transaction *transaction)
{
    const fplt__coordinator *c = context;
    const char *path = fplt__http_transaction_path(transaction);
    if (strcmp(path, "/") == 0) {
        fplt__http_transaction_add_header(transaction, "Content-Security-Policy",
                                          "default-src 'none'; script-src 'self'; style-src "
                                          "'unsafe-inline'; connect-src 'self'; img-src data:");
        fplt__http_transaction_answer_text(transaction, 200, "text/html; charset=utf-8",
                                           fplt__page_html);
    } else if (strcmp(path, "/chart.js") == 0) {
        fplt__http_transaction_answer_text(transaction, 200, "text/javascript", fplt__page_chart);
    } else if (strcmp(path, "/page.js") == 0) {
        fplt__http_transaction_answer_text(transaction, 200, "text/javascript", fplt__page_script);
    } else if (strcmp(path, "/status.json") == 0) {
        char *text = fplt__coordinator_status(c);
        answer_made(transaction, "application/json", text);
        free(text);
    } else if (strcmp(path, "/metrics") == 0) {
        char *text = fplt__coordinator_metrics(c);
        answer_made(transaction, "text/plain; version=0.0.4", text);
        fplt_free(text);
    } else if (strcmp(path, "/healthz") == 0) {
        fplt__http_transaction_add_header(transaction, "Cache-Control", "no-store");
        fplt__http_transaction_answer_text(transaction, 200, "text/plain", "ok");
    } else {
        fplt__http_transaction_refuse(transaction, 404, "unknown", 1, "there is no %.60s here",
                                      path);
    }
}

static void page_expired(void *context, fplt__http_transaction *transaction)
{
    (void)context;
    fplt__http_transaction_answer(transaction, 503, NULL, NULL, 0);
}

static void page_ended(void *context, fplt__http_transaction *transaction)
{
    (void)context, (void)transaction;
}

static void page_refused(void *context, const char *word, const char *sentence)
{
    (void)context, (void)word, (void)sentence;
}

fplt__service fplt__coordinator_page(fplt__coordinator *c)
{
    return (fplt__service){.context = c,
                           .head = page_head,
                           .whole = page_whole,
                           .expired = page_expired,
                           .ended = page_ended,
                           .refused = page_refused,
                           .fault = fplt__fault_body};
}
