/* How long a coordinator waits, with three honest agents and a clock that the test moves. */
#include "testing.h"

#include "../../simulator/tiny.h"
#include "fedplt/objective.h"
#include "fedplt/objective_callbacks.h"
#include "protocol/site.h"

enum { N = TINY_AGENTS };

static int value(void *context, uint32_t agent, const double *x, double *out)
{
    (void)context;
    *out = 0.5 * (1 + agent) * (x[0] * x[0] + x[1] * x[1]);
    return 0;
}

static int gradient(void *context, uint32_t agent, const double *x, double *out)
{
    (void)context;
    for (int j = 0; j < TINY_DIMENSION; j++)
        out[j] = (1 + agent) * x[j];
    return 0;
}

static void curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context;
    *lowest = *highest = 1 + agent;
}

static struct {
    uint64_t now;
    int open; /* without privacy: criteria are asked for */
    fplt_plan plan;
    fplt_objective *objective;
    fplt__leader *leader;
    struct agent {
        fplt__site *site;
        int asks; /* a request waits to be delivered */
        fplt__request request;
        uint8_t *body; /* owned: of the request, or of the reply */
        unsigned polls, status;
    } agent[N];
} w;

static void at_lead(fplt__leader_event event);

static void at_site(uint32_t i, fplt__site_event event);

static void perform(uint32_t i)
{
    const fplt__site_action *action;
    fplt__site_event then = {.kind = FPLT__SITE_TIME};
    fplt__site_plan plan = {.agreement = NULL};
    fplt_error error;
    int due = 0;
    while ((action = fplt__site_action_take(w.agent[i].site))) {
        due |= action->kind != FPLT__SITE_SEND && action->kind != FPLT__SITE_LOG;
        if (action->kind == FPLT__SITE_SEND) {
            w.agent[i].asks = 1;
            w.agent[i].request = action->request;
            free(w.agent[i].body);
            w.agent[i].body = malloc(action->request.size + 1);
            memcpy(w.agent[i].body, action->request.size ? action->request.body : "",
                   action->request.size);
        } else if (action->kind == FPLT__SITE_COMMIT) {
            then.kind = FPLT__SITE_COMMITTED;
        } else if (action->kind == FPLT__SITE_CHARGE) {
            then.kind = FPLT__SITE_CHARGED;
        } else if (action->kind == FPLT__SITE_ASK) {
            then.kind = FPLT__SITE_AGREE;
            then.records = 1;
        } else if (action->kind == FPLT__SITE_BUILD) {
            fplt_node_settings own = {.objective = w.objective,
                                      .cost = i,
                                      .member_index = i,
                                      .training = fplt_training_defaults(),
                                      .curvature = {1 + i, 1 + i}};
            own.training.epochs = 2;
            if (!w.open) {
                own.training.solver = fplt_solver_find("noisy");
                own.training.noise_tau = 0.1;
                own.cap = TINY_CAP;
            }
            plan.agreement = tiny_agreement(&w.plan, !w.open);
            assert_ok(fplt_node_create(&w.plan, &own, &plan.node, &error), error);
            then.kind = FPLT__SITE_BUILT;
            then.plan = &plan;
        }
    }
    if (due)
        at_site(i, then);
}

static void at_site(uint32_t i, fplt__site_event event)
{
    fplt_error error;
    event.now = w.now;
    assert_ok(fplt__site_handle(w.agent[i].site, &event, &error), error);
    perform(i);
}

/* A reply is heard when the coordinator has nothing more to do. */
struct reply {
    uint32_t site;
    unsigned status;
    uint8_t *body;
    size_t size;
};

static void at_lead(fplt__leader_event event)
{
    const fplt__leader_action *action;
    struct reply replies[8];
    size_t count = 0;
    int commits = 0, resolves = 0;
    fplt_error error;
    event.now = w.now;
    assert_ok(fplt__leader_handle(w.leader, &event, &error), error);
    while ((action = fplt__leader_action_take(w.leader))) {
        commits |= action->kind == FPLT__LEADER_COMMIT;
        resolves |= action->kind == FPLT__LEADER_RESOLVE;
        if (action->kind != FPLT__LEADER_REPLY)
            continue;
        struct reply *reply = &replies[count++];
        *reply = (struct reply){.site = (uint32_t)action->reply.ticket - 1,
                                .status = action->reply.status,
                                .body = malloc(65536)};
        w.agent[reply->site].status = reply->status;
        for (unsigned p = 0; p < action->reply.parts; p++) {
            memcpy(reply->body + reply->size, action->reply.part[p].bytes,
                   action->reply.part[p].size);
            reply->size += action->reply.part[p].size;
        }
    }
    if (commits)
        at_lead((fplt__leader_event){.kind = FPLT__LEADER_COMMITTED});
    if (resolves) {
        fplt__leader_plan plan = tiny_lead_plan(&w.plan, "all", !w.open, NULL);
        at_lead((fplt__leader_event){.kind = FPLT__LEADER_PLAN,
                                     .document = tiny_document,
                                     .document_size = sizeof tiny_document,
                                     .plan = &plan});
    }
    for (size_t k = 0; k < count; k++) {
        at_site(replies[k].site, (fplt__site_event){.kind = FPLT__SITE_REPLY,
                                                    .status = replies[k].status,
                                                    .body = replies[k].body,
                                                    .size = replies[k].size});
        free(replies[k].body);
    }
}

/* Delivers what agent i asks, but no update unless `updates`; whether anything was. */
static int deliver(uint32_t i, int updates)
{
    struct agent *agent = &w.agent[i];
    if (!agent->asks || (agent->request.kind == FPLT__UPDATE && !updates))
        return 0;
    agent->asks = 0;
    agent->polls += agent->request.kind == FPLT__NEXT;
    agent->status = 0;
    agent->request.ticket = i + 1;
    agent->request.member_index = i;
    agent->request.body = agent->body;
    at_lead((fplt__leader_event){.kind = FPLT__LEADER_REQUEST, .request = agent->request});
    return 1;
}

/* All but updates, until nothing moves. */
static void settle(void)
{
    for (int moved = 1; moved;) {
        moved = 0;
        for (uint32_t i = 0; i < N; i++)
            moved |= deliver(i, 0);
    }
}

static void pass(uint64_t milliseconds)
{
    w.now += milliseconds;
    at_lead((fplt__leader_event){.kind = FPLT__LEADER_TIME});
    settle();
}

static void update(uint32_t i)
{
    assert_true(w.agent[i].asks && w.agent[i].request.kind == FPLT__UPDATE);
    deliver(i, 1);
    settle();
}

static uint64_t round_timeout(void)
{
    fplt__leader_view view = fplt__leader_get_view(w.leader);
    return view.deadline - view.opened;
}

static int begin_as(int open)
{
    fplt_error error;
    fplt_objective_callbacks costs = {.size = sizeof(fplt_objective_callbacks),
                                      .dimension = TINY_DIMENSION,
                                      .agents = N,
                                      .value = value,
                                      .gradient = gradient,
                                      .curvature = curvature};
    fplt__leader_settings settings = {.members = N, .receipt_key = {7}, .hold = 1 << 30};
    fplt__leader_record record = {.state = FPLT__FORMING,
                                  .document = tiny_proposal,
                                  .document_size = sizeof tiny_proposal,
                                  .hash = fplt__document_hash(tiny_proposal, sizeof tiny_proposal)};
    memset(&w, 0, sizeof w);
    w.open = open;
    w.now = 1000;
    w.plan = tiny_plan("fed-plt");
    assert_ok(fplt_objective_create_callback(&costs, &w.objective, &error), error);
    assert_ok(fplt__leader_create(&settings, &w.leader, &error), error);
    assert_ok(fplt__leader_open(w.leader, w.now, &record, NULL, &error), error);
    for (uint32_t i = 0; i < N; i++) {
        fplt__site_settings own = {.allows = ~0u};
        assert_ok(fplt__site_create(&own, &w.agent[i].site, &error), error);
        assert_ok(fplt__site_open(w.agent[i].site, w.now, NULL, NULL, &error), error);
        perform(i);
    }
    settle();
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_as(0);
}

static int begin_open(void **state)
{
    (void)state;
    return begin_as(1);
}

static int end(void **state)
{
    (void)state;
    fplt__leader_destroy(w.leader);
    for (uint32_t i = 0; i < N; i++) {
        fplt__site_destroy(w.agent[i].site);
        free(w.agent[i].body);
    }
    fplt_objective_destroy(w.objective);
    return 0;
}

/* Ten minutes at first, then five times the slowest arrival; a late one counts as it came. */
static void test_deadline(void **state)
{
    (void)state;
    assert_int_equal(fplt__leader_get_view(w.leader).state, FPLT__ROUND);
    assert_int_equal(round_timeout(), 600000);
    for (uint32_t i = 0; i < N; i++) {
        pass(2000);
        update(i);
    }
    assert_int_equal(fplt__leader_get_view(w.leader).round, 1);
    assert_int_equal(round_timeout(), 5 * 6000);
    pass(1000);
    update(0);
    update(1);
    pass(28000);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 1); /* the third may still come */
    pass(2000);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 2); /* two of three are a quorum */
    assert_int_equal(round_timeout(), 5 * 6000);
    pass(9000);
    update(2); /* of round 1, 40 s after its task */
    update(0);
    update(1);
    update(2);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 3);
    assert_int_equal(round_timeout(), 5 * 40000);
}

/* Short of the quorum a round stays open, whatever the time. */
static void test_quorum(void **state)
{
    (void)state;
    assert_int_equal(fplt__leader_get_view(w.leader).quorum, 2);
    update(0);
    pass(3600 * 1000);
    pass(3600 * 1000);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 0);
    assert_true(fplt__leader_member(w.leader, 1).waited_for);
    assert_false(fplt__leader_member(w.leader, 0).waited_for);
    update(1);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 1);
}

/* Who was not heard for a minute delays no round that has its quorum. */
static void test_silence(void **state)
{
    (void)state;
    update(0);
    update(1);
    pass(59000);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 0);
    pass(2000);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 1);
}

/* Hands the coordinator the update of agent 0 once more, with the report behind it as `text` says. */
static void send_again(size_t report, const char *text)
{
    struct agent *agent = &w.agent[0];
    size_t frame = agent->request.size - report, size = strlen(text);
    uint8_t *bytes = malloc(frame + size + 1);
    fplt__request request = agent->request;
    memcpy(bytes, agent->body, frame);
    memcpy(bytes + frame, text, size);
    request.body = bytes;
    request.size = frame + size;
    request.ticket = 1;
    agent->status = 0;
    at_lead((fplt__leader_event){.kind = FPLT__LEADER_REQUEST, .request = request});
    free(bytes);
}

/* What comes behind the frame. */
static size_t report_of(const struct agent *agent)
{
    fplt__frame frame;
    fplt_error error;
    assert_ok(fplt__frame_read(agent->body, &frame, &error), error);
    return agent->request.size - FPLT__FRAME_HEAD - (size_t)fplt__frame_body(&frame);
}

/* An update brings the report of a poll: it is answered as one, with the verdict and the next task. */
static void test_rider(void **state)
{
    (void)state;
    unsigned polls = w.agent[0].polls + w.agent[1].polls + w.agent[2].polls;
    assert_true(report_of(&w.agent[0]) > 0);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < N; i++) {
            update(i);
            assert_int_equal(w.agent[i].status, i + 1 < N ? 0 : 200);
            if (i + 1 < N)
                assert_true(fplt__leader_member(w.leader, i).received);
        }
    assert_int_equal(fplt__leader_get_view(w.leader).round, 2);
    assert_int_equal(fplt__site_get_view(w.agent[0].site).version, 2);
    assert_int_equal(w.agent[0].polls + w.agent[1].polls + w.agent[2].polls, polls);
}

/* One that is sent again waits in the place of the first, and counts once. */
static void test_rider_again(void **state)
{
    (void)state;
    char text[4096];
    size_t size = report_of(&w.agent[0]);
    snprintf(text, sizeof text, "%.*s", (int)size,
             (const char *)w.agent[0].body + w.agent[0].request.size - size);
    fplt__request before = w.agent[0].request;
    deliver(0, 1);
    w.agent[0].request.sequence = before.sequence + 1;
    send_again(size, text);
    assert_int_equal(w.agent[0].status, 409); /* the first, let go */
    assert_int_equal(fplt__leader_get_view(w.leader).received, 1);
    w.agent[0].request.sequence = before.sequence + 2;
    send_again(size, ""); /* without a report it is answered at once */
    assert_int_equal(w.agent[0].status, 200);
    assert_int_equal(fplt__leader_get_view(w.leader).received, 1);
}

/* With a report that cannot be read, or of another plan, nothing is counted. */
static void test_bad_rider(void **state)
{
    (void)state;
    size_t size = report_of(&w.agent[0]);
    send_again(size, "{");
    assert_int_equal(w.agent[0].status, 400);
    assert_int_equal(fplt__leader_get_view(w.leader).received, 0);
    char text[4096], *plan;
    snprintf(text, sizeof text, "%.*s", (int)size,
             (const char *)w.agent[0].body + w.agent[0].request.size - size);
    assert_non_null(plan = strstr(text, "\"plan\":\""));
    plan[8] = plan[8] == '0' ? '1' : '0';
    w.agent[0].request.sequence++;
    send_again(size, text);
    assert_int_equal(w.agent[0].status, 409);
    assert_int_equal(fplt__leader_get_view(w.leader).received, 0);
}

static uint64_t round_open(void)
{
    fplt__leader_view view = fplt__leader_get_view(w.leader);
    return view.opened ? view.round + 1 : 0;
}

/* An evaluation needs all: it waits for who may still answer, and not for who was not heard for a
 * minute. */
static void test_evaluation(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) { /* mean, then criterion there */
        assert_int_equal(round_open(), 0);
        for (uint32_t i = 0; i < N; i++)
            update(i);
    }
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < N; i++)
            update(i);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 2);
    update(0); /* the criterion after round 1 */
    update(1);
    pass(9000);
    assert_false(fplt__leader_member(w.leader, 0).waited_for);
    pass(2000); /* its timeout, and no criterion */
    update(0);
    update(1);
    assert_int_equal(fplt__leader_get_view(w.leader).round, 2);
    pass(50000); /* the third was not heard for a minute: rounds and evaluations go on */
    assert_int_equal(fplt__leader_get_view(w.leader).round, 3);
    for (uint64_t round = 4; round < TINY_ROUNDS; round++) {
        update(0);
        update(1);
        assert_int_equal(fplt__leader_get_view(w.leader).round, round);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_deadline, begin, end),
        cmocka_unit_test_setup_teardown(test_quorum, begin, end),
        cmocka_unit_test_setup_teardown(test_silence, begin, end),
        cmocka_unit_test_setup_teardown(test_rider, begin, end),
        cmocka_unit_test_setup_teardown(test_rider_again, begin, end),
        cmocka_unit_test_setup_teardown(test_bad_rider, begin, end),
        cmocka_unit_test_setup_teardown(test_evaluation, begin_open, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
