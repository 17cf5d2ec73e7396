/* An agent before a coordinator that is false: what it is asked must not get out of it. */
#include "testing.h"

#include "algorithm/local_step.h"
#include "base/memory.h"
#include "fedplt/objective.h"
#include "fedplt/objective_callbacks.h"
#include <sodium.h>

#include "engine/hub_node.h"
#include "protocol/site.h"
#include "secagg/total.h"

enum { N = 3, DIMENSION = 2, CAP = 4 };

static int value(void *context, uint32_t agent, const double *x, double *out)
{
    (void)context;
    *out = 0.5 * (1 + agent) * (x[0] * x[0] + x[1] * x[1]);
    return 0;
}

static int gradient(void *context, uint32_t agent, const double *x, double *out)
{
    (void)context;
    for (int j = 0; j < DIMENSION; j++)
        out[j] = (1 + agent) * x[j];
    return 0;
}

static void curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context;
    *lowest = *highest = 1 + agent;
}

/* An agent that has joined, agreed, and polls. */
struct place {
    fplt_objective *objective;
    fplt__site *site;
    fplt_plan plan;
    fplt__digest hash;
    uint64_t now;
    unsigned sent[FPLT__MODEL + 1], charges, gathers, adopts; /* requests by kind, actions */
    char word[FPLT__WORD], sentence[FPLT__SENTENCE];          /* what it said last */
    char report[4096];                                        /* the last */
    int private;
    double shift;     /* of what is broadcast */
    uint64_t numbers; /* in a frame, and one more; 0: DIMENSION */
    int secure;
    uint8_t identities[N * 32], secret[N][64];
    fplt__secagg_agent *peer[N]; /* the other sites; 0 is not there */
    uint8_t update[4096];        /* the last that was sent */
    size_t update_size;
};

static const char plan_text[] = "a plan";

static void *zeroed(size_t size)
{
    void *at;
    fplt_error error;
    assert_ok(fplt__alloc_into(&at, 1, size, "a plan", &error), error);
    return at;
}

static void build(struct place *place, fplt__site_plan *plan)
{
    fplt_error error;
    fplt_node_settings own = {
        .objective = place->objective, .training = fplt_training_defaults(), .curvature = {1, 1}};
    plan->agreement = zeroed(sizeof *plan->agreement);
    plan->agreement->proposal.members = N;
    plan->agreement->plan = place->plan;
    plan->agreement->records = zeroed(N * sizeof *plan->agreement->records);
    plan->agreement->rounds = 10;
    plan->agreement->private = place->private;
    if (place->secure) {
        plan->agreement->proposal.secure = plan->agreement->proposal.colluders = 1;
        plan->agreement->most = N;
        plan->agreement->width = 16;
        plan->agreement->identities = zeroed(sizeof place->identities);
        memcpy(plan->agreement->identities, place->identities, sizeof place->identities);
    }
    own.training.epochs = 2;
    if (place->private) {
        plan->agreement->cap = own.cap = CAP;
        plan->agreement->tau = zeroed(N * sizeof *plan->agreement->tau);
        plan->agreement->rate = zeroed(N * sizeof *plan->agreement->rate);
        plan->agreement->rate[0] = 1;
        own.training.solver = fplt_solver_find("noisy");
        own.training.noise_tau = 0.1;
    }
    assert_ok(fplt_node_create(&place->plan, &own, &plan->node, &error), error);
}

static void hand(struct place *place, fplt__site_event event);

static void perform(struct place *place)
{
    const fplt__site_action *action;
    fplt__site_event then = {.kind = FPLT__SITE_TIME};
    fplt__site_plan plan = {.agreement = NULL};
    int due = 0;
    while ((action = fplt__site_action_take(place->site))) {
        switch (action->kind) {
        case FPLT__SITE_SEND:
            place->sent[action->request.kind]++;
            if (action->request.kind == FPLT__UPDATE &&
                action->request.size <= sizeof place->update) {
                place->update_size = action->request.size;
                memcpy(place->update, action->request.body, place->update_size);
            }
            if (action->request.kind == FPLT__NEXT)
                snprintf(place->report, sizeof place->report, "%.*s", (int)action->request.size,
                         (const char *)action->request.body);
            break;
        case FPLT__SITE_COMMIT:
            then.kind = FPLT__SITE_COMMITTED;
            due = 1;
            break;
        case FPLT__SITE_CHARGE:
            then.kind = FPLT__SITE_CHARGED;
            then.charged.spent.against[0] = ++place->charges;
            due = 1;
            break;
        case FPLT__SITE_BUILD:
            build(place, &plan);
            then.kind = FPLT__SITE_BUILT;
            then.plan = &plan;
            due = 1;
            break;
        case FPLT__SITE_GATHER: place->gathers++; break;
        case FPLT__SITE_ADOPT: place->adopts++; break;
        case FPLT__SITE_LOG:
            snprintf(place->word, sizeof place->word, "%s", action->word);
            snprintf(place->sentence, sizeof place->sentence, "%s", action->sentence);
            break;
        default: break;
        }
    }
    if (due)
        hand(place, then);
}

static void hand(struct place *place, fplt__site_event event)
{
    fplt_error error;
    event.now = place->now;
    assert_ok(fplt__site_handle(place->site, &event, &error), error);
    perform(place);
}

static void answer(struct place *place, unsigned status, const void *body, size_t size)
{
    hand(place, (fplt__site_event){
                    .kind = FPLT__SITE_REPLY, .status = status, .body = body, .size = size});
}

/* Identities of all sites, and the processes of the others. */
static void make_peers(struct place *place, fplt__site_settings *settings)
{
    fplt_error error;
    fplt__secagg_plan plan = {.members = N, .most = N, .identity = place->identities};
    memcpy(plan.hash, &place->hash, sizeof plan.hash);
    for (uint8_t i = 0; i < N; i++) {
        uint8_t seed[32] = {i};
        crypto_sign_seed_keypair(place->identities + 32 * i, place->secret[i], seed);
    }
    for (uint8_t i = 1; i < N; i++) {
        uint8_t root[32] = {3, i};
        assert_ok(fplt__secagg_agent_create(&plan, i, root, place->secret[i], &place->peer[i],
                                            &error),
                  error);
    }
    memcpy(settings->identity, place->secret[0], sizeof settings->identity);
    settings->has_identity = 1;
}

enum { PLAIN, PRIVATE, SECURE };

static void settle_with(struct place *place, const char *algorithm, int kind)
{
    int private = kind == PRIVATE;
    fplt_error error;
    fplt_objective_callbacks costs = {.size = sizeof(fplt_objective_callbacks),
                                      .dimension = DIMENSION,
                                      .agents = N,
                                      .value = value,
                                      .gradient = gradient,
                                      .curvature = curvature};
    fplt_facts facts = {
        .curvature = {1, 1}, .agents = N, .cohort = N, .epochs = 2, .dimension = DIMENSION};
    fplt__site_settings settings = {.least = 2, .allows = ~0u};
    memset(place, 0, sizeof *place);
    place->private = private;
    place->hash = fplt__document_hash(plan_text, sizeof plan_text);
    assert_ok(fplt_objective_create_callback(&costs, &place->objective, &error), error);
    place->plan = (fplt_plan){.algorithm = fplt_algorithm_find(algorithm),
                              .agents = N,
                              .dimension = DIMENSION,
                              .seed = 5};
    fplt_algorithm_defaults(place->plan.algorithm, place->plan.parameter);
    assert_ok(fplt__algorithm_resolve(place->plan.algorithm, &facts, place->plan.parameter, &error),
              error);
    if (place->plan.algorithm->common_step)
        place->plan.step = 0.1;
    place->secure = kind == SECURE;
    if (place->secure)
        make_peers(place, &settings);
    assert_ok(fplt__site_create(&settings, &place->site, &error), error);
    assert_ok(fplt__site_open(place->site, 0, NULL, NULL, &error), error);
    perform(place);
    fplt__joined joined = {.session = 7, .document = place->hash, .planned = 1};
    char *text;
    assert_ok(fplt__joined_text(&joined, &text, &error), error);
    answer(place, 200, text, strlen(text));
    fplt__free(text);
    answer(place, 200, plan_text, sizeof plan_text);
    answer(place, 200, NULL, 0); /* its consent is heard */
    assert_int_equal(place->sent[FPLT__NEXT], 1);
}

static void settle(struct place *place, int kind)
{
    settle_with(place, "fed-plt", kind);
}

static void leave(struct place *place)
{
    fplt__site_destroy(place->site);
    for (int i = 1; i < N; i++)
        fplt__secagg_agent_destroy(place->peer[i]);
    fplt_objective_destroy(place->objective);
}

/* A frame of DIMENSION doubles, as `with` says, in answer to the poll. */
static void ask(struct place *place, fplt__frame with)
{
    fplt_error error;
    double down[DIMENSION] = {0.5 + place->shift, -0.25};
    uint8_t *bytes;
    size_t size;
    with.count = place->numbers ? place->numbers - 1 : DIMENSION;
    if (!with.cohort && with.kind == FPLT__TRAIN)
        with.cohort = N;
    fplt__digest none = {{0}};
    if (fplt__same(&with.plan, &none))
        with.plan = place->hash;
    assert_ok(fplt__frame_make(&with, NULL, down, NULL, &bytes, &size, &error), error);
    answer(place, 200, bytes, size);
    fplt__free(bytes);
}

static void wait_and_poll(struct place *place)
{
    place->now += 60000;
    hand(place, (fplt__site_event){.kind = FPLT__SITE_TIME});
}

/* Kinds that read records are refused, whatever the policy says, and the coordinator hears why. */
static void test_private_measures(void **state)
{
    (void)state;
    const uint8_t kinds[] = {FPLT__MEASURE, FPLT__SCORE, FPLT__MEAN, FPLT__MOMENTS,
                             FPLT__INFORMATION};
    for (size_t k = 0; k < sizeof kinds; k++) {
        struct place place;
        settle(&place, 1);
        ask(&place, (fplt__frame){.kind = kinds[k]});
        assert_int_equal(place.sent[FPLT__UPDATE], 0);
        assert_int_equal(place.gathers, 0);
        assert_string_equal(place.word, "trouble");
        assert_string_equal(place.sentence, "asked to measure, which a private run does not allow");
        wait_and_poll(&place);
        assert_int_equal(place.sent[FPLT__NEXT], 2);
        assert_non_null(strstr(place.report, "which a private run does not allow"));
        leave(&place);
    }
}

/* Without privacy measuring is answered, facts after the plan are not. */
static void test_late_facts(void **state)
{
    (void)state;
    struct place place;
    settle(&place, 0);
    ask(&place, (fplt__frame){.kind = FPLT__MEASURE});
    assert_int_equal(place.sent[FPLT__UPDATE], 1);
    answer(&place, 202, NULL, 0);
    ask(&place, (fplt__frame){.kind = FPLT__MOMENTS, .exchange = 2});
    assert_int_equal(place.sent[FPLT__UPDATE], 1);
    assert_int_equal(place.gathers, 0);
    assert_string_equal(place.sentence, "asked for facts, but the plan is made");
    leave(&place);
}

/* A cohort in which an update could be told apart is not trained in. */
static void test_small_cohort(void **state)
{
    (void)state;
    struct place place;
    settle(&place, 1);
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .cohort = 1});
    assert_int_equal(place.charges, 0);
    assert_int_equal(place.sent[FPLT__UPDATE], 0);
    assert_string_equal(place.sentence, "a cohort of 1, but the policy wants at least 2");
    leave(&place);
}

static void test_not_for_this_agent(void **state)
{
    (void)state;
    fplt__digest other = {{9}};
    const fplt__frame frames[] = {{.kind = FPLT__TRAIN, .member_index = 1},
                                  {.kind = FPLT__TRAIN, .plan = other},
                                  {.kind = FPLT__END, .plan = other}};
    for (size_t k = 0; k < sizeof frames / sizeof *frames; k++) {
        struct place place;
        settle(&place, 1);
        ask(&place, frames[k]);
        assert_int_equal(place.charges, 0);
        assert_int_equal(place.sent[FPLT__UPDATE], 0);
        assert_string_equal(place.sentence, "an answer that cannot be read, or not for this agent");
        leave(&place);
    }
}

/* One round, one answer: asked again with other contents the agent refuses, and nothing is computed or charged; the same
 * contents get the same bytes. */
static void test_asked_again(void **state)
{
    (void)state;
    for (int private = 0; private < 2; private ++) {
        struct place place;
        settle(&place, private);
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN});
        answer(&place, 202, NULL, 0);
        for (unsigned k = 1; k < CAP + 2; k++) {
            ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .position = k % (N - 1) + 1});
            assert_string_equal(place.word, "trouble");
            assert_string_equal(place.sentence,
                                "round 0 was answered, and is asked again with other contents");
            wait_and_poll(&place);
            assert_non_null(strstr(place.report, "\"word\":\"answered\""));
        }
        for (unsigned k = 0; k < 5; k++) {
            assert_int_equal(place.charges, private);
            assert_int_equal(place.sent[FPLT__UPDATE], k + 1);
            ask(&place, (fplt__frame){.kind = FPLT__TRAIN});
            answer(&place, 202, NULL, 0);
        }
        leave(&place);
    }
}

/* Two broadcasts for one round: the second is refused, also after a verdict that refuses the first update, and after a
 * task of a later round that does not fit. */
static void test_two_broadcasts(void **state)
{
    (void)state;
    for (int private = 0; private < 2; private ++)
        for (int way = 0; way < 3; way++) {
            struct place place;
            settle(&place, private);
            ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 1});
            answer(&place, 202, NULL, 0);
            if (way == 1)
                ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .round = 1});
            if (way == 2)
                ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 2, .cohort = 1});
            wait_and_poll(&place);
            place.shift = 1;
            ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 1});
            assert_int_equal(place.charges, private);
            assert_int_equal(place.sent[FPLT__UPDATE], 1);
            assert_string_equal(place.word, "trouble");
            assert_string_equal(
                place.sentence,
                way ? "round 1 is over, it has answered round 1"
                    : "round 1 was answered, and is asked again with other contents");
            leave(&place);
        }
}

/* The report has the ledger's receipt as of the last charge, signed with the agent's own key. */
static void test_receipt(void **state)
{
    (void)state;
    static const uint8_t key[32];
    struct place place;
    fplt_error error;
    fplt__report report;
    settle(&place, 1);
    for (unsigned k = 0; k < 3; k++) {
        assert_ok(fplt__report_read(place.report, strlen(place.report), &report, &error), error);
        assert_true(report.has_charged && report.charged.receipt.spent.against[0] == k);
        assert_true(fplt__charged_valid(&report.charged, key));
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = k + 1});
        answer(&place, 202, NULL, 0);
    }
    leave(&place);
}

/* What the coordinator remembers of the ledger is believed where it is more and signed by this agent. */
static void test_adopted(void **state)
{
    (void)state;
    static const uint8_t key[32], other[32] = {1};
    static const struct {
        double own, shown;
        int is_signed, adopts;
    } cases[] = {{2, 5, 1, 1}, {2, 5, 0, 0}, {5, 2, 1, 0}, {3, 3, 1, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fplt__site_settings settings = {.least = 2, .allows = ~0u};
        fplt__receipt own = {.rounds = 0};
        fplt__joined joined = {.session = 7, .planned = 1, .has_charged = 1};
        struct place place = {.private = 1};
        fplt_error error;
        char *text;
        for (unsigned j = 0; j < FPLT_ADVERSARIES; j++) {
            own.spent.against[j] = cases[k].own;
            joined.charged.receipt.spent.against[j] = cases[k].shown;
        }
        joined.charged.mac =
            fplt__charged_mac(&joined.charged.receipt, cases[k].is_signed ? key : other);
        assert_ok(fplt__site_create(&settings, &place.site, &error), error);
        assert_ok(fplt__site_open(place.site, 0, NULL, &own, &error), error);
        perform(&place);
        assert_ok(fplt__joined_text(&joined, &text, &error), error);
        answer(&place, 200, text, strlen(text));
        fplt__free(text);
        assert_int_equal(place.adopts, cases[k].adopts);
        fplt__site_destroy(place.site);
    }
}

/* A process that begins again with what is on disk goes on counting: one round is left of the cap. */
static void test_cap_after_restart(void **state)
{
    (void)state;
    struct place place;
    static const double kept[4 * DIMENSION];
    fplt__site_settings settings = {.least = 2, .allows = ~0u};
    fplt_error error;
    char *text;
    settle(&place, PRIVATE);
    fplt__site_destroy(place.site);
    fplt_shape shape = fplt_algorithm_shape(place.plan.algorithm, place.plan.parameter, DIMENSION);
    assert_true(shape.kept > 0 && shape.kept <= 4);
    fplt__site_record record = {.hash = place.hash,
                                .document = plan_text,
                                .document_size = sizeof plan_text,
                                .planned = 1,
                                .consented = 1,
                                .charges = CAP - 1,
                                .kept = kept,
                                .kept_count = shape.kept * DIMENSION};
    fplt__joined joined = {.session = 8, .document = place.hash, .planned = 1};
    assert_ok(fplt__site_create(&settings, &place.site, &error), error);
    assert_ok(fplt__site_open(place.site, 0, &record, NULL, &error), error);
    perform(&place);
    assert_ok(fplt__joined_text(&joined, &text, &error), error);
    answer(&place, 200, text, strlen(text));
    fplt__free(text);
    answer(&place, 200, NULL, 0); /* its consent is heard */
    for (uint32_t k = 0; k < 3; k++) {
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = k});
        if (place.sent[FPLT__UPDATE] == k + 1)
            answer(&place, 202, NULL, 0);
    }
    assert_int_equal(place.sent[FPLT__UPDATE], 1);
    assert_int_equal(place.charges, 1);
    assert_non_null(strstr(place.report, "\"word\":\"spent\""));
    leave(&place);
}

/* The same where the state is lost and only the ledger knows what was charged. */
static void test_cap_after_loss(void **state)
{
    (void)state;
    struct place place;
    fplt__site_settings settings = {.least = 2, .allows = ~0u};
    fplt_error error;
    char *text;
    settle(&place, PRIVATE);
    fplt__site_destroy(place.site);
    fplt__receipt charged = {.rounds = CAP - 1};
    memcpy(charged.run, &place.hash, sizeof charged.run);
    fplt__joined joined = {.session = 8, .document = place.hash, .planned = 1};
    assert_ok(fplt__site_create(&settings, &place.site, &error), error);
    assert_ok(fplt__site_open(place.site, 0, NULL, &charged, &error), error);
    perform(&place);
    assert_ok(fplt__joined_text(&joined, &text, &error), error);
    answer(&place, 200, text, strlen(text));
    fplt__free(text);
    answer(&place, 200, plan_text, sizeof plan_text);
    answer(&place, 200, NULL, 0); /* its consent is heard */
    for (uint32_t k = 0; k < 3; k++) {
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = k});
        if (place.sent[FPLT__UPDATE] == k + 1)
            answer(&place, 202, NULL, 0);
    }
    assert_int_equal(place.sent[FPLT__UPDATE], 1);
    assert_int_equal(place.charges, 1);
    assert_non_null(strstr(place.report, "\"word\":\"spent\""));
    leave(&place);
}

/* After a network failure the agent waits; when its time has come it asks once, and then waits for the answer. */
static void test_waits(void **state)
{
    (void)state;
    struct place place;
    settle(&place, 1);
    unsigned polls = place.sent[FPLT__NEXT];
    hand(&place, (fplt__site_event){.kind = FPLT__SITE_NETWORK, .sentence = "down"});
    uint64_t wake = fplt__site_wake(place.site);
    assert_true(wake >= place.now + 800 && wake <= place.now + 1200);
    place.now = wake - 1;
    hand(&place, (fplt__site_event){.kind = FPLT__SITE_TIME});
    assert_int_equal(place.sent[FPLT__NEXT], polls);
    place.now = wake;
    hand(&place, (fplt__site_event){.kind = FPLT__SITE_TIME});
    assert_int_equal(place.sent[FPLT__NEXT], polls + 1);
    assert_true(fplt__site_wake(place.site) == UINT64_MAX);
    leave(&place);
}

/* Rounds go forward: one before the last that was answered is refused and costs nothing. */
static void test_older_round(void **state)
{
    (void)state;
    struct place place;
    settle(&place, 1);
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 4});
    answer(&place, 202, NULL, 0);
    ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .round = 4, .cohort = 1, .version = 1});
    assert_int_equal(fplt__site_get_view(place.site).version, 1);
    for (uint64_t round = 0; round <= 4; round++) { /* the one that was accepted, too */
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = round, .version = 1});
        assert_int_equal(place.charges, 1);
        assert_int_equal(place.sent[FPLT__UPDATE], 1);
        assert_string_equal(place.word, "trouble");
        assert_non_null(strstr(place.sentence, "is over, it has answered round 4"));
        wait_and_poll(&place);
    }
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 7, .version = 1});
    answer(&place, 202, NULL, 0);
    assert_int_equal(place.charges, 2);
    assert_int_equal(place.sent[FPLT__UPDATE], 2);
    /* rounds before the one that is staged: that is kept, and answered from there */
    for (uint64_t round = 0; round < 7; round++) {
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = round, .version = 1});
        assert_string_equal(place.word, "trouble");
        wait_and_poll(&place);
    }
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 7, .version = 1});
    assert_int_equal(place.charges, 2);
    assert_int_equal(place.sent[FPLT__UPDATE], 3);
    leave(&place);
}

/* A plan of ten rounds: an eleventh is not trained, with privacy or without, and not after a repair. */
static void test_round_beyond_plan(void **state)
{
    (void)state;
    static const uint64_t beyond[] = {10, 11, UINT64_MAX};
    for (int private = 0; private < 2; private ++) {
        struct place place;
        settle(&place, private);
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 9});
        answer(&place, 202, NULL, 0);
        for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
            ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = beyond[k]});
            assert_int_equal(place.sent[FPLT__UPDATE], 1);
            assert_int_equal(place.charges, private);
            assert_non_null(strstr(place.sentence, "but the plan has 10 rounds"));
            wait_and_poll(&place);
        }
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 9});
        assert_int_equal(place.sent[FPLT__UPDATE], 2);
        assert_int_equal(place.charges, private);
        answer(&place, 202, NULL, 0);
        ask(&place, (fplt__frame){.kind = FPLT__ENROL, .round = 9, .cohort = N, .incarnation = 1});
        answer(&place, 202, NULL, 0);
        ask(&place,
            (fplt__frame){
                .kind = FPLT__VERDICT, .exchange = 1, .round = 10, .cohort = 1, .incarnation = 1});
        assert_int_equal(fplt__site_get_view(place.site).incarnation, 1);
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 10, .incarnation = 1});
        assert_int_equal(place.sent[FPLT__UPDATE], 3); /* two updates and its vectors */
        assert_int_equal(place.charges, private);
        assert_non_null(strstr(place.sentence, "but the plan has 10 rounds"));
        leave(&place);
    }
}

/* An exchange that the algorithm does not have, or whose turn it is not. */
static void test_other_exchange(void **state)
{
    (void)state;
    static const uint8_t exchanges[] = {1, 2, 3, 64, 255};
    for (size_t k = 0; k < sizeof exchanges; k++) {
        struct place place;
        settle(&place, 1);
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .exchange = exchanges[k]});
        assert_int_equal(place.charges, 0);
        assert_int_equal(place.sent[FPLT__UPDATE], 0);
        assert_string_equal(place.sentence, "a task that does not fit the plan");
        leave(&place);
    }
}

/* Verdicts about rounds that it never staged, or of another version, change nothing. */
static void test_false_verdicts(void **state)
{
    (void)state;
    struct place place;
    settle(&place, 0);
    fplt__digest before = fplt__site_get_view(place.site).chain;
    ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .cohort = 1, .version = 1});
    ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .exchange = 1, .cohort = 1, .incarnation = 3});
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 2});
    answer(&place, 202, NULL, 0);
    ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .round = 2, .cohort = 1, .version = 5});
    ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .round = 1, .cohort = 1, .version = 1});
    fplt__site_view view = fplt__site_get_view(place.site);
    assert_int_equal(view.version, 0);
    assert_int_equal(view.incarnation, 0);
    assert_memory_equal(&view.chain, &before, sizeof before);
    leave(&place);
}

/* Tasks and verdicts of another incarnation than the agent is in, or has enrolled for. */
static void test_other_incarnation(void **state)
{
    (void)state;
    struct place place;
    settle(&place, 1);
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .incarnation = 1});
    assert_int_equal(place.charges, 0);
    assert_string_equal(place.sentence, "a task that does not fit the plan");
    wait_and_poll(&place);
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 1});
    answer(&place, 202, NULL, 0);
    ask(&place,
        (fplt__frame){
            .kind = FPLT__VERDICT, .round = 1, .cohort = 1, .version = 1, .incarnation = 1});
    assert_int_equal(fplt__site_get_view(place.site).version, 0);
    ask(&place, (fplt__frame){.kind = FPLT__ENROL, .round = 1, .cohort = N, .incarnation = 2});
    answer(&place, 202, NULL, 0);
    for (uint32_t incarnation = 1; incarnation <= 3; incarnation += 2) {
        ask(&place, (fplt__frame){.kind = FPLT__VERDICT,
                                  .exchange = 1,
                                  .round = 2,
                                  .cohort = 1,
                                  .incarnation = incarnation});
        assert_int_equal(fplt__site_get_view(place.site).incarnation, 0);
    }
    ask(&place,
        (fplt__frame){
            .kind = FPLT__VERDICT, .exchange = 1, .round = 2, .cohort = 1, .incarnation = 2});
    assert_int_equal(fplt__site_get_view(place.site).incarnation, 2);
    leave(&place);
}

/* An agent that may not keep its vectors begins the next incarnation where the question says. */
static void test_begins_anew(void **state)
{
    (void)state;
    const fplt_algorithm *algorithm;
    unsigned moved = 0;
    for (size_t k = 0; (algorithm = fplt_algorithm_list(k)); k++) {
        struct place place;
        fplt_error error;
        fplt_node *fresh;
        double down[DIMENSION] = {0.5, -0.25};
        if (algorithm->allows & FPLT_ALLOWS_ANY_START)
            continue;
        settle_with(&place, algorithm->name, 0);
        size_t count =
            DIMENSION * fplt_algorithm_shape(algorithm, place.plan.parameter, DIMENSION).kept;
        ask(&place, (fplt__frame){.kind = FPLT__ENROL, .round = 1, .cohort = N, .incarnation = 1});
        answer(&place, 202, NULL, 0);
        ask(&place,
            (fplt__frame){
                .kind = FPLT__VERDICT, .exchange = 1, .round = 2, .cohort = 1, .incarnation = 1});
        assert_int_equal(fplt__site_get_view(place.site).incarnation, 1);
        fplt_node_settings own = {.objective = place.objective,
                                  .training = fplt_training_defaults(),
                                  .curvature = {1, 1},
                                  .start = down,
                                  .second = down};
        own.training.epochs = 2;
        assert_ok(fplt_node_create(&place.plan, &own, &fresh, &error), error);
        const double *kept = fplt__node_kept(fplt__site_node(place.site));
        assert_memory_equal(kept, fplt__node_kept(fresh), count * sizeof *kept);
        moved += count && kept[0] == down[0];
        fplt_node_destroy(fresh);
        leave(&place);
    }
    assert_true(moved > 0); /* of some algorithm it can be seen */
}

/* Who finishes a round with a closing vector does not take a verdict without one, or with one of another length. */
static void test_verdict_without_closing(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"led", "scaffnew"};
    for (size_t k = 0; k < sizeof algorithms / sizeof *algorithms; k++) {
        struct place place;
        settle_with(&place, algorithms[k], 0);
        size_t closing = fplt_plan_down(&place.plan, 1);
        place.numbers = fplt_plan_down(&place.plan, 0) + 1;
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 1});
        assert_int_equal(place.sent[FPLT__UPDATE], 1);
        answer(&place, 202, NULL, 0);
        for (size_t count = 0; count <= closing; count++) {
            place.numbers = count + 1;
            ask(&place,
                (fplt__frame){.kind = FPLT__VERDICT, .round = 1, .cohort = 1, .version = 1});
            assert_int_equal(fplt__site_get_view(place.site).version, count == closing);
        }
        leave(&place);
    }
}

/* A refusal of another round than the staged one leaves that as it is: the same task costs nothing again. */
static void test_other_refusal(void **state)
{
    (void)state;
    struct place place;
    settle(&place, 1);
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 2});
    answer(&place, 202, NULL, 0);
    assert_int_equal(place.charges, 1);
    ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .round = 1});
    assert_non_null(strstr(place.report, "\"staged\":{"));
    ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .round = 2});
    assert_int_equal(place.charges, 1);
    answer(&place, 202, NULL, 0);
    ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .round = 2});
    assert_non_null(strstr(place.report, "\"staged\":null"));
    leave(&place);
}

/* A head that claims 2^60 numbers takes no memory. */
static void test_claims(void **state)
{
    (void)state;
    struct place place;
    uint8_t head[FPLT__FRAME_HEAD];
    settle(&place, 0);
    fplt__frame frame = {.kind = FPLT__TRAIN,
                         .cohort = N,
                         .count = UINT64_C(1) << 60,
                         .payload = UINT64_C(1) << 63,
                         .plan = place.hash};
    fplt__frame_write(&frame, head);
    answer(&place, 200, head, sizeof head);
    assert_int_equal(place.sent[FPLT__UPDATE], 0);
    assert_string_equal(place.word, "refused");
    leave(&place);
}

/* --- secure aggregation --- */

/* The list: the agent's entry from its report, those of the others from their processes. */
static void make_list(struct place *place, uint8_t list[N * FPLT__SECAGG_ENTRY])
{
    fplt__report report;
    fplt_error error;
    assert_ok(fplt__report_read(place->report, strlen(place->report), &report, &error), error);
    assert_true(report.has_secure);
    memcpy(list, report.secure.entry, FPLT__SECAGG_ENTRY);
    for (int i = 1; i < N; i++)
        memcpy(list + i * FPLT__SECAGG_ENTRY, fplt__secagg_agent_entry(place->peer[i]),
               FPLT__SECAGG_ENTRY);
}

/* SESSION with this list and cohort, where `session`, then a task of the kind and round; `encoding` of the SESSION. */
static void ask_masked(struct place *place, const uint8_t *list, uint8_t cohort, int session,
                       unsigned kind, uint64_t round)
{
    fplt_error error;
    enum { PAYLOAD = 33 + N * FPLT__SECAGG_ENTRY };
    fplt__secagg_plan plan = {.members = N, .most = N, .identity = place->identities};
    double down[DIMENSION] = {0.5 + place->shift, -0.25};
    uint8_t both[4096], *bytes;
    size_t size, used = 0;
    memcpy(plan.hash, &place->hash, sizeof plan.hash);
    fplt__frame head = {.kind = FPLT__SESSION, .round = round, .plan = place->hash};
    if (session) {
        assert_ok(fplt__frame_room(&head, PAYLOAD, &bytes, &size, &error), error);
        fplt__secagg_list_hash(&plan, list, bytes + FPLT__FRAME_HEAD);
        bytes[FPLT__FRAME_HEAD + 32] = cohort;
        memcpy(bytes + FPLT__FRAME_HEAD + 33, list, N * FPLT__SECAGG_ENTRY);
        fplt__frame_seal(&head, bytes, size);
        memcpy(both, bytes, size);
        used = size;
        fplt__free(bytes);
    }
    fplt__frame task = {.kind = (uint8_t)kind,
                        .round = round,
                        .cohort = N,
                        .count = DIMENSION,
                        .version = fplt__site_get_view(place->site).version,
                        .plan = place->hash};
    assert_ok(fplt__frame_make(&task, NULL, down, NULL, &bytes, &size, &error), error);
    memcpy(both + used, bytes, size);
    fplt__free(bytes);
    answer(place, 200, both, used + size);
}

static void no_session(struct place *place, const char *sentence)
{
    assert_int_equal(place->sent[FPLT__UPDATE], 0);
    assert_string_equal(place->word, "trouble");
    assert_non_null(strstr(place->sentence, sentence));
    assert_non_null(strstr(place->report, "\"word\":\"session\""));
}

/* Tasks without a session, with a list that is not the roster's, without all: nothing is computed, and the coordinator
 * hears the reason. */
static void test_false_sessions(void **state)
{
    (void)state;
    struct place place;
    uint8_t list[N * FPLT__SECAGG_ENTRY], other[N * FPLT__SECAGG_ENTRY];
    settle(&place, SECURE);
    make_list(&place, list);
    ask_masked(&place, list, 7, 0, FPLT__TRAIN, 0);
    no_session(&place, "without a session");
    ask_masked(&place, list, 3, 1, FPLT__TRAIN, 0);
    no_session(&place, "sums over all 3");
    memcpy(other, list, sizeof list);
    other[FPLT__SECAGG_ENTRY] ^= 1;
    ask_masked(&place, other, 7, 1, FPLT__TRAIN, 0);
    no_session(&place, "did not sign");
    memcpy(other, list, sizeof list);
    fplt__secagg_key_make(other, other + 40, other);
    ask_masked(&place, other, 7, 1, FPLT__TRAIN, 0);
    no_session(&place, "another key for this agent");
    ask_masked(&place, list, 7, 1, FPLT__TRAIN, 0);
    assert_int_equal(place.sent[FPLT__UPDATE], 1);
    leave(&place);
    settle(&place, PLAIN); /* and a session in a plain run */
    memset(list, 0, sizeof list);
    ask_masked(&place, list, 7, 1, FPLT__TRAIN, 0);
    assert_int_equal(place.sent[FPLT__UPDATE], 0);
    assert_string_equal(place.sentence, "a session, but the plan has no secure aggregation");
    leave(&place);
}

/* What leaves is masked, and a round is computed once: another broadcast for it is refused, the same one gets the same
 * bytes; questions after the state has changed are refused for a round that was asked about before. */
static void test_masked_once(void **state)
{
    (void)state;
    struct place place;
    fplt__frame frame;
    fplt_error error;
    uint8_t list[N * FPLT__SECAGG_ENTRY], first[4096];
    size_t size;
    settle(&place, SECURE);
    make_list(&place, list);
    ask_masked(&place, list, 7, 1, FPLT__TRAIN, 4);
    assert_int_equal(place.sent[FPLT__UPDATE], 1);
    assert_ok(fplt__frame_read(place.update, &frame, &error), error);
    assert_int_equal(frame.encoding, FPLT__BYTES);
    assert_int_equal(frame.payload, 32 + 16 * DIMENSION);
    size = FPLT__FRAME_HEAD + 32 + 16 * DIMENSION;
    memcpy(first, place.update, size);
    answer(&place, 202, NULL, 0);
    ask_masked(&place, list, 7, 1, FPLT__TRAIN, 4);
    assert_int_equal(place.sent[FPLT__UPDATE], 2);
    assert_memory_equal(first, place.update, size);
    answer(&place, 202, NULL, 0);
    place.shift = 1;
    ask_masked(&place, list, 7, 1, FPLT__TRAIN, 4);
    assert_int_equal(place.sent[FPLT__UPDATE], 2);
    assert_non_null(strstr(place.sentence, "was answered, and is asked again"));
    place.shift = 0;
    ask_masked(&place, list, 7, 1, FPLT__MEAN, 4);
    assert_int_equal(place.sent[FPLT__UPDATE], 3);
    answer(&place, 202, NULL, 0);
    ask(&place, (fplt__frame){.kind = FPLT__VERDICT, .round = 4, .cohort = 1, .version = 1});
    assert_int_equal(fplt__site_get_view(place.site).version, 1);
    ask_masked(&place, list, 7, 1, FPLT__MEAN, 4);
    assert_int_equal(place.sent[FPLT__UPDATE], 3);
    assert_non_null(strstr(place.sentence, "after the state has changed"));
    wait_and_poll(&place);
    ask_masked(&place, list, 7, 1, FPLT__MEAN, 5);
    assert_int_equal(place.sent[FPLT__UPDATE], 4);
    leave(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_private_measures),
        cmocka_unit_test(test_late_facts),
        cmocka_unit_test(test_small_cohort),
        cmocka_unit_test(test_not_for_this_agent),
        cmocka_unit_test(test_asked_again),
        cmocka_unit_test(test_false_verdicts),
        cmocka_unit_test(test_two_broadcasts),
        cmocka_unit_test(test_older_round),
        cmocka_unit_test(test_round_beyond_plan),
        cmocka_unit_test(test_receipt),
        cmocka_unit_test(test_begins_anew),
        cmocka_unit_test(test_adopted),
        cmocka_unit_test(test_cap_after_restart),
        cmocka_unit_test(test_cap_after_loss),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_other_exchange),
        cmocka_unit_test(test_other_incarnation),
        cmocka_unit_test(test_verdict_without_closing),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_other_refusal),
        cmocka_unit_test(test_false_sessions),
        cmocka_unit_test(test_masked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
