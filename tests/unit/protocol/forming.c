/* An agent while a run forms: what it must know after a restart, and where memory ends. */
#include "testing.h"

#include "base/memory.h"
#include "fedplt/memory.h"
#include "protocol/site.h"

enum { RECORDS = 40 };

static const char proposal[] = "a proposal";

static struct {
    fplt__site *site;
    fplt__site_action action; /* the last that was no word */
    fplt__site_record stored; /* the last committed */
    unsigned writes, gathers, asks, results;
    fplt__request_kind sent;
    char body[1024]; /* of what was sent */
    int starved;     /* no memory for actions */
} w;

static void *allocate(size_t bytes, void *context)
{
    (void)context;
    /* lists of actions begin with sixteen; nothing else here is as large */
    return w.starved && bytes >= 16 * sizeof(fplt__site_action) ? NULL : malloc(bytes);
}

static void release(void *memory, void *context)
{
    (void)context;
    free(memory);
}

static void take(const fplt__site_action *action)
{
    w.action = *action;
    w.gathers += action->kind == FPLT__SITE_GATHER;
    w.asks += action->kind == FPLT__SITE_ASK;
    w.results += action->kind == FPLT__SITE_RESULT;
    if (action->kind == FPLT__SITE_COMMIT) {
        w.stored = *action->record;
        w.writes++;
    }
    if (action->kind == FPLT__SITE_SEND) {
        w.sent = action->request.kind;
        snprintf(w.body, sizeof w.body, "%.*s", (int)action->request.size,
                 action->request.body ? (const char *)action->request.body : "");
    }
}

static fplt_status give(fplt__site_event event)
{
    const fplt__site_action *action;
    fplt_error error;
    fplt_status status = fplt__site_handle(w.site, &event, &error);
    int commits = 0;
    while ((action = fplt__site_action_take(w.site))) {
        commits |= action->kind == FPLT__SITE_COMMIT;
        if (action->kind != FPLT__SITE_LOG)
            take(action);
    }
    return commits ? give((fplt__site_event){.kind = FPLT__SITE_COMMITTED}) : status;
}

static fplt_status reply(const void *body, size_t size)
{
    return give(
        (fplt__site_event){.kind = FPLT__SITE_REPLY, .status = 200, .body = body, .size = size});
}

static fplt_status join(void)
{
    fplt_error error;
    char *text;
    fplt__joined joined = {.session = 7,
                           .document = fplt__document_hash(proposal, sizeof proposal)};
    assert_ok(fplt__joined_text(&joined, &text, &error), error);
    fplt_status status = reply(text, strlen(text));
    fplt__free(text);
    return status;
}

/* A process on `record`, NULL: the first. */
static void start(const fplt__site_record *record)
{
    const fplt__site_action *action;
    fplt__site_settings settings = {.allows = ~0u};
    fplt_error error;
    assert_ok(fplt__site_create(&settings, &w.site, &error), error);
    assert_ok(fplt__site_open(w.site, 0, record, 0, &error), error);
    while ((action = fplt__site_action_take(w.site)))
        take(action);
}

/* A question for facts in answer to the poll. */
static fplt_status ask_facts(void)
{
    double down[1] = {1};
    uint8_t *bytes;
    size_t size;
    fplt_error error;
    fplt__frame frame = {.kind = FPLT__MOMENTS,
                         .exchange = 2,
                         .count = 1,
                         .plan = fplt__document_hash(proposal, sizeof proposal)};
    assert_ok(fplt__frame_make(&frame, NULL, down, NULL, &bytes, &size, &error), error);
    fplt_status status = reply(bytes, size);
    fplt__free(bytes);
    return status;
}

static void agree(void)
{
    start(NULL);
    assert_int_equal(join(), FPLT_OK);
    assert_int_equal(w.sent, FPLT__DOCUMENT);
    assert_int_equal(reply(proposal, sizeof proposal), FPLT_OK);
    assert_int_equal(w.action.kind, FPLT__SITE_ASK);
    assert_int_equal(give((fplt__site_event){.kind = FPLT__SITE_AGREE, .records = RECORDS}),
                     FPLT_OK);
    assert_int_equal(w.sent, FPLT__CONSENT);
    assert_int_equal(w.writes, 1);
    assert_int_equal(w.stored.consented, 1);
}

/* A new process on what the last one stored. */
static void restart(void)
{
    fplt__site *before = w.site;
    fplt__site_record record = w.stored;
    start(&record);
    fplt__site_destroy(before);
}

static int leave(void **state)
{
    (void)state;
    fplt__site_destroy(w.site);
    fplt_allocator_set(NULL);
    memset(&w, 0, sizeof w);
    return 0;
}

/* Who agreed is not asked again, but finds with the question what it is about. */
static void test_restart(void **state)
{
    (void)state;
    agree();
    restart();
    assert_int_equal(join(), FPLT_OK);
    assert_int_equal(w.sent, FPLT__CONSENT);
    assert_int_equal(w.asks, 1);
    assert_int_equal(reply(NULL, 0), FPLT_OK);
    assert_int_equal(ask_facts(), FPLT_OK);
    fplt__digest hash = fplt__document_hash(proposal, sizeof proposal);
    assert_int_equal(w.action.kind, FPLT__SITE_GATHER);
    assert_int_equal(w.action.step, 2);
    assert_int_equal(w.action.records, RECORDS);
    assert_int_equal(w.action.planned, 0);
    assert_memory_equal(&w.action.hash, &hash, sizeof hash);
    assert_int_equal(w.action.document_size, sizeof proposal);
    assert_memory_equal(w.action.document, proposal, sizeof proposal);
}

/* An analysis ends while the run forms, without a model; an end with one is none. */
static void test_end_of_analysis(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t size;
    fplt_error error;
    double model[1] = {1};
    fplt__frame frame = {
        .kind = FPLT__END, .count = 1, .plan = fplt__document_hash(proposal, sizeof proposal)};
    agree();
    assert_int_equal(reply(NULL, 0), FPLT_OK);
    assert_ok(fplt__frame_make(&frame, NULL, model, NULL, &bytes, &size, &error), error);
    assert_int_equal(reply(bytes, size), FPLT_OK);
    fplt__free(bytes);
    assert_int_equal(w.results, 0);
    frame.count = 0;
    assert_int_equal(give((fplt__site_event){.kind = FPLT__SITE_TIME, .now = 1 << 20}), FPLT_OK);
    assert_int_equal(w.sent, FPLT__NEXT);
    assert_ok(fplt__frame_make(&frame, NULL, model, NULL, &bytes, &size, &error), error);
    assert_int_equal(reply(bytes, size), FPLT_OK);
    fplt__free(bytes);
    assert_int_equal(w.results, 1);
    assert_int_equal(w.sent, FPLT__NEXT); /* held until there is another run */
    assert_contains(w.body, FPLT__HAS_END);
}

/* A refusal of facts takes the stored consent back before it is sent: the next process asks anew. */
static void test_refusal(void **state)
{
    (void)state;
    agree();
    assert_int_equal(reply(NULL, 0), FPLT_OK);
    assert_int_equal(ask_facts(), FPLT_OK);
    assert_int_equal(give((fplt__site_event){.kind = FPLT__SITE_REFUSE, .sentence = "other data"}),
                     FPLT_OK);
    assert_int_equal(w.writes, 2);
    assert_int_equal(w.stored.consented, 0);
    assert_int_equal(w.sent, FPLT__CONSENT);
    assert_contains(w.body, "other data");
    restart();
    assert_int_equal(join(), FPLT_OK);
    assert_int_equal(w.asks, 2);
}

/* Without memory for actions an event fails, and nothing else. */
static void test_no_memory(void **state)
{
    (void)state;
    fplt_allocator starving = {allocate, release, NULL};
    fplt_allocator_set(&starving);
    agree();
    w.starved = 1;
    restart(); /* the request to join is lost with the list that it was to be in */
    assert_int_equal(join(), FPLT_NO_MEMORY);
    assert_int_equal(reply(NULL, 0), FPLT_NO_MEMORY);
    assert_int_equal(ask_facts(), FPLT_NO_MEMORY);
    assert_int_equal(w.gathers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_restart, leave),
        cmocka_unit_test_teardown(test_end_of_analysis, leave),
        cmocka_unit_test_teardown(test_refusal, leave),
        cmocka_unit_test_teardown(test_no_memory, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
