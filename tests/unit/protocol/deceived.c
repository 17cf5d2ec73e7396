/* An agent before a coordinator that is false: what it is asked must not get out of it. */
#include "testing.h"

#include "base/memory.h"
#include "fedplt/objective.h"
#include "protocol/site.h"

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
    unsigned sent[FPLT__MODEL + 1], charges, gathers; /* requests by kind, actions */
    char word[FPLT__WORD], sentence[FPLT__SENTENCE];  /* what it said last */
    char report[4096];                                /* the last */
    int private;
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

static void settle(struct place *place, int private)
{
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
    place->plan = (fplt_plan){.algorithm = fplt_algorithm_find("fed-plt"),
                              .agents = N,
                              .dimension = DIMENSION,
                              .seed = 5};
    fplt_algorithm_defaults(place->plan.algorithm, place->plan.parameter);
    assert_ok(fplt_algorithm_resolve(place->plan.algorithm, &facts, place->plan.parameter, &error),
              error);
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

static void leave(struct place *place)
{
    fplt__site_destroy(place->site);
    fplt_objective_destroy(place->objective);
}

/* A frame of DIMENSION doubles, as `with` says, in answer to the poll. */
static void ask(struct place *place, fplt__frame with)
{
    fplt_error error;
    double down[DIMENSION] = {0.5, -0.25};
    uint8_t *bytes;
    size_t size;
    with.count = DIMENSION;
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

/* The same round asked again with other contents costs each time, up to the cap; the same contents
 * cost nothing. */
static void test_asked_again(void **state)
{
    (void)state;
    struct place place;
    settle(&place, 1);
    for (unsigned k = 0; k < CAP + 2; k++) {
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN, .position = k % N, .incarnation = 0});
        if (place.sent[FPLT__UPDATE] == k + 1)
            answer(&place, 202, NULL, 0);
    }
    assert_int_equal(place.charges, CAP);
    assert_int_equal(place.sent[FPLT__UPDATE], CAP);
    assert_string_equal(place.word, "trouble");
    assert_non_null(strstr(place.report, "\"word\":\"spent\""));
    leave(&place);
    settle(&place, 1);
    for (unsigned k = 0; k < 5; k++) {
        ask(&place, (fplt__frame){.kind = FPLT__TRAIN});
        answer(&place, 202, NULL, 0);
    }
    assert_int_equal(place.charges, 1);
    assert_int_equal(place.sent[FPLT__UPDATE], 5);
    leave(&place);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_private_measures), cmocka_unit_test(test_late_facts),
        cmocka_unit_test(test_small_cohort),     cmocka_unit_test(test_not_for_this_agent),
        cmocka_unit_test(test_asked_again),      cmocka_unit_test(test_false_verdicts),
        cmocka_unit_test(test_claims),           cmocka_unit_test(test_other_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
