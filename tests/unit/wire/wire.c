/* Frames, messages and documents: what is written is read, and nothing else is. */
#include "plans.h"
#include "testing.h"

#include "base/random.h"
#include "base/sum.h"
#include "wire/dictionary.h"
#include "wire/json.h"

#include <sodium.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "fedplt/random.h"
#include "lent.h"
#include "wire/document.h"
#include "wire/frame.h"
#include "wire/json.h"
#include "wire/lanes.h"

static fplt__frame some_frame(fplt_stream *stream)
{
    fplt__frame frame = {.kind = (uint8_t)(1 + fplt_stream_below(stream, FPLT__KINDS - 1)),
                         .exchange = (uint8_t)fplt_stream_below(stream, 2),
                         .incarnation = (uint32_t)fplt__stream_bits(stream),
                         .member_index = (uint32_t)fplt__stream_bits(stream),
                         .round = fplt__stream_bits(stream),
                         .cohort = (uint32_t)fplt__stream_bits(stream),
                         .position = (uint32_t)fplt__stream_bits(stream),
                         .version = fplt__stream_bits(stream),
                         .count = fplt_stream_below(stream, 130),
                         .scalars = (uint32_t)fplt_stream_below(stream, 5)};
    for (int i = 0; i < FPLT__HASH; i++) {
        frame.plan.byte[i] = (uint8_t)fplt__stream_bits(stream);
        frame.chain.byte[i] = (uint8_t)fplt__stream_bits(stream);
        frame.task.byte[i] = (uint8_t)fplt__stream_bits(stream);
    }
    return frame;
}

/* Every number of a receipt, each different. */
static void receipts_come_back(void **state)
{
    (void)state;
    fplt__receipt receipt = {.rounds = UINT64_MAX - 5}, back;
    uint8_t bytes[FPLT__RECEIPT_BYTES + 1];
    for (unsigned k = 0; k < FPLT_ADVERSARIES; k++) {
        receipt.spent.against[k] = 1.5 + k;
        receipt.of_run.against[k] = -100.25 - k;
    }
    for (unsigned k = 0; k < sizeof receipt.run; k++)
        receipt.run[k] = (uint8_t)(200 - k);
    memset(bytes, 0xa5, sizeof bytes);
    fplt__receipt_put(&receipt, bytes);
    assert_int_equal(bytes[FPLT__RECEIPT_BYTES], 0xa5);
    memset(&back, 0, sizeof back);
    fplt__receipt_get(bytes, &back);
    assert_memory_equal(&back, &receipt, sizeof receipt);
}

/* Reals are strings, in one way only. */
/* Every octet of a digest counts. */
static void digests_are_compared_whole(void **state)
{
    (void)state;
    const fplt__digest one = fplt__hash_bytes("one", 3);
    assert_true(fplt__same(&one, &one));
    for (size_t i = 0; i < sizeof one; i++) {
        fplt__digest other = one;
        other.byte[i] ^= 1;
        assert_false(fplt__same(&one, &other));
    }
}

static void reals_are_texts(void **state)
{
    (void)state;
    char text[FPLT__REAL_TEXT], longer[200];
    double real;
    fplt__real_text(-0.1, text);
    memset(longer, '0', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    const struct {
        json_t *value;
        int is_real;
    } cases[] = {{json_string(text), 1},   {json_integer(3), 0}, {json_null(), 0},
                 {json_string(longer), 0}, {json_string(""), 0}, {json_string("0.1"), 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_int_equal(fplt__real_read(cases[k].value, &real), cases[k].is_real);
        if (cases[k].is_real)
            assert_true(real == -0.1);
        json_decref(cases[k].value);
    }
}

/* Counts are not negative and not too large; kinds of columns are the three that there are. */
static void counts_and_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *records;
        int is_legal;
    } counts[] = {{"0", 1}, {"9223372036854775807", 1}, {"-1", 0}, {"\"3\"", 0}};
    static const char *const kinds[] = {"any", "number", "category", "categorx", ""};
    fplt_error error;
    char text[400], hash[FPLT__HEX];
    fplt__digest document = {{3}};
    fplt__hex(&document, sizeof document, hash);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        fplt__consent consent;
        char *good;
        fplt__consent with = {.document = document, .agreed = 1, .records = 4711};
        assert_ok(fplt__consent_text(&with, &good, &error), error);
        const char *at = strstr(good, "4711");
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, counts[k].records, at + 4);
        fplt__free(good);
        assert_int_equal(fplt__consent_read(text, strlen(text), &consent, &error) == FPLT_OK,
                         counts[k].is_legal);
        if (!counts[k].is_legal)
            assert_contains(error.text, "records");
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        fplt__dictionary dictionary;
        snprintf(text, sizeof text,
                 "{\"columns\":[{\"kind\":\"%s\",\"levels\":[],\"name\":\"age\"}],\"drop\":false,"
                 "\"label\":{\"kind\":\"any\",\"levels\":[],\"name\":null},\"positions\":0,"
                 "\"whole\":true}",
                 kinds[k]);
        fplt_status status = fplt__dictionary_read(text, strlen(text), &dictionary, &error);
        if (k < 3) {
            assert_ok(status, error);
            assert_int_equal(dictionary.column[0].kind, k);
            fplt__dictionary_clear(&dictionary);
        } else {
            assert_int_equal(status, FPLT_BAD_DATA);
            assert_contains(error.text, "any, number or category");
        }
    }
}

/* 192 + 8 scalars + 2 ceil(m/64) + 16 m, which numbers without common zeros reach. */
static void the_longest_frame(void **state)
{
    (void)state;
    static const uint64_t sizes[][3] = {{0, 0, 192},   {1, 0, 200},   {0, 1, 210},
                                        {3, 64, 1242}, {0, 65, 1236}, {2, 128, 2260}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        assert_int_equal(fplt__frame_limit(sizes[k][0], sizes[k][1]), sizes[k][2]);
    uint64_t words[2 * 65];
    for (size_t i = 0; i < 65; i++) {
        words[2 * i] = 1;
        words[2 * i + 1] = UINT64_C(1) << 63;
    }
    assert_int_equal(fplt__words_pack(words, 65, NULL, 0), fplt__frame_limit(0, 65) - 192);
}

static void frames_come_back(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int trial = 0; trial < 500; trial++) {
        fplt_error error;
        fplt__frame frame = some_frame(&stream), back;
        double scalars[5], numbers[130], read[130];
        uint64_t words[260] = {0}, again[260];
        for (size_t i = 0; i < 130; i++) {
            numbers[i] = fplt_stream_normal(&stream);
            words[2 * i] = fplt__stream_bits(&stream) << 20;
        }
        memcpy(scalars, numbers, sizeof scalars);
        uint8_t *bytes;
        const uint8_t *head, *body;
        size_t size, cursor = 0;
        int packed = trial % 2;
        assert_ok(fplt__frame_make(&frame, scalars, numbers, packed ? words : NULL, &bytes, &size,
                                   &error),
                  error);
        assert_true(size <= fplt__frame_limit(frame.scalars, frame.count));
        assert_ok(fplt__frame_next(bytes, size, &cursor, &back, &head, &body, &error), error);
        assert_int_equal(cursor, size);
        uint8_t written[2][FPLT__FRAME_HEAD]; /* every field, and no padding */
        fplt__frame_write(&frame, written[0]);
        fplt__frame_write(&back, written[1]);
        assert_memory_equal(written[0], written[1], sizeof written[0]);
        assert_ok(fplt__frame_scalars(&back, body, read, &error), error);
        assert_memory_equal(read, scalars, frame.scalars * sizeof *read);
        if (packed) {
            assert_ok(fplt__frame_words(&back, body, again, &error), error);
            assert_memory_equal(again, words, 16 * frame.count);
        } else {
            assert_ok(fplt__frame_doubles(&back, body, read, &error), error);
            assert_memory_equal(read, numbers, 8 * frame.count);
        }
        assert_int_equal(packed ? fplt__frame_doubles(&back, body, read, &error)
                                : fplt__frame_words(&back, body, again, &error),
                         FPLT_BAD_DATA);
        /* any other byte of head or body is another frame, or none */
        size_t at = (size_t)fplt_stream_below(&stream, size);
        bytes[at] ^= (uint8_t)(1 + fplt_stream_below(&stream, 255));
        cursor = 0;
        if (!fplt__frame_next(bytes, size, &cursor, &back, &head, &body, &error))
            assert_memory_not_equal(&back, &frame, sizeof frame);
        fplt__free(bytes);
    }
}

/* 2^60 numbers are refused by the head alone. */
static void impossible_heads_are_refused(void **state)
{
    (void)state;
    fplt_error error;
    fplt__frame frame = {.kind = FPLT__TRAIN, .encoding = FPLT__PACKED}, back;
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__frame_write(&frame, head);
    assert_ok(fplt__frame_read(head, &back, &error), error);
    const struct {
        uint64_t count, payload;
        uint8_t encoding;
    } bad[] = {{UINT64_C(1) << 60, UINT64_C(1) << 60, 1},
               {UINT64_C(1) << 61, UINT64_C(1) << 63, 0},
               {10, 81, 0},
               {10, 1, 1},
               {10, 163, 1},
               {UINT64_MAX, UINT64_MAX, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        frame.count = bad[i].count;
        frame.payload = bad[i].payload;
        frame.encoding = bad[i].encoding;
        fplt__frame_write(&frame, head);
        assert_int_equal(fplt__frame_read(head, &back, &error), FPLT_BAD_DATA);
    }
    frame = (fplt__frame){.kind = FPLT__TRAIN};
    for (size_t at = 0; at < 64; at++) {
        fplt__frame_write(&frame, head);
        head[at] = 0xff;
        if (at < 5 || (at > 4 && at < 8 && at != 6) || at >= 60)
            assert_int_equal(fplt__frame_read(head, &back, &error), FPLT_BAD_DATA);
    }
}

/* Which bytes of a down frame make its task: all but chain and task themselves. */
static void a_task_is_the_whole_question(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(4, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt__frame frame = some_frame(&stream);
    uint8_t head[FPLT__FRAME_HEAD];
    fplt__frame_write(&frame, head);
    fplt__digest task = fplt__frame_task(head);
    for (size_t at = 0; at < FPLT__FRAME_HEAD; at++) {
        head[at] ^= 1;
        fplt__digest other = fplt__frame_task(head);
        head[at] ^= 1;
        assert_int_equal(fplt__same(&task, &other), at >= 96 && at < 160);
    }
}

/* Four lanes at once against libsodium, one message after the other. */
static void lanes_are_blake2b(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    uint8_t bytes[4 * 24 * FPLT__LANE_BLOCK], digests[4 * FPLT__HASH], one[FPLT__HASH];
    if (!fplt__lanes_there())
        skip();
    for (size_t size = FPLT__LANE_BLOCK; size <= 24 * FPLT__LANE_BLOCK; size += FPLT__LANE_BLOCK) {
        for (size_t i = 0; i < 4 * size; i++)
            bytes[i] = (uint8_t)fplt__stream_bits(&stream);
        size_t count = 1 + size / FPLT__LANE_BLOCK % 4;
        memset(digests, 0, sizeof digests);
        fplt__lanes_hash(bytes, size, count, digests);
        for (size_t lane = 0; lane < 4; lane++) {
            crypto_generichash(one, sizeof one, bytes + lane * size, size, NULL, 0);
            memset(one, 0, lane < count ? 0 : sizeof one); /* nothing is written behind */
            assert_memory_equal(one, digests + lane * FPLT__HASH, sizeof one);
        }
    }
}

/* By the letter of its definition. */
static fplt__digest body_slowly(const uint8_t *bytes, size_t size)
{
    fplt__digest digest;
    uint8_t *text;
    fplt_error error;
    size_t used = 22;
    assert_ok(fplt__alloc_into(&text, 22 + 32 * (size / 2048 + 1), 1, "text", &error), error);
    memcpy(text, "fedplt-body-1\n", 14);
    fplt__put64(text + 14, size);
    for (size_t at = 0; at < size; at += 2048, used += 32)
        crypto_generichash(text + used, 32, bytes + at, size - at < 2048 ? size - at : 2048, NULL,
                           0);
    crypto_generichash(digest.byte, 32, text, used, NULL, 0);
    fplt__free(text);
    return digest;
}

/* Any length, alone and with help; and as Python's hashlib says. */
static void a_body_has_its_digest(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *digest;
    } known[] = {{0, "86d4df3a2fdfdbab7be7b8617c0409b461da74a9d3de733f00846d81642d4e68"},
                 {1, "480294b1d41b421f6a59e97ddeed48f607999bc9e9acb76c2e29fe7e6ac528fc"},
                 {2048, "b63af2ea2787e0bff54a1bcf393905a151d6418c66e65cb65db10c768c6dbb70"},
                 {10000, "a18e4373c662f9d9a94b3e83c59eb7a9767431b85e7952baff0501358ecd36bd"}};
    const size_t sizes[] = {2047,   2049,   8191,    8192,        8193,        65536,
                            262143, 262144, 1048576, 1048576 + 1, 1048576 - 1, 3 * 1048576 + 5000};
    enum { MAX = 4 << 20 };
    uint8_t *bytes;
    char text[FPLT__HEX];
    fplt_error error;
    struct lent lent;
    assert_ok(fplt__alloc_into(&bytes, MAX, 1, "bytes", &error), error);
    for (size_t i = 0; i < MAX; i++)
        bytes[i] = (uint8_t)((7 * i + 3) % 251);
    lent_begin(&lent);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        fplt__digest digest = fplt__body_hash(bytes, known[k].size);
        fplt__hex(&digest, sizeof digest, text);
        assert_string_equal(text, known[k].digest);
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int helped = 0; helped < 2; helped++) {
            fplt__parallel_set(helped ? &lent.hands : NULL);
            fplt__digest digest = fplt__body_hash(bytes, sizes[k]);
            fplt__digest slow = body_slowly(bytes, sizes[k]);
            assert_true(fplt__same(&digest, &slow));
        }
    lent_end(&lent);
    fplt__free(bytes);
}

static void reals_are_those_of_printf(void **state)
{
    (void)state;
    fplt_stream stream = fplt_stream_make(2, 0, FPLT_FOR_TEST, 0, 0, 0);
    const double edges[] = {0,
                            -0.0,
                            1,
                            -1,
                            0.1,
                            0x1p-1074,
                            -0x1.8p-1073,
                            0x1.fffffffffffffp1023,
                            0x1p-1022,
                            0x0.fffffffffffffp-1022};
    for (int trial = 0; trial < 5000; trial++) {
        uint64_t bits = fplt__stream_bits(&stream);
        double x, back;
        char text[FPLT__REAL_TEXT], expected[40];
        memcpy(&x, &bits, sizeof x);
        x = trial < 10 ? edges[trial] : x;
        if (!isfinite(x))
            continue;
        fplt__real_text(x, text);
        snprintf(expected, sizeof expected, "%a", x);
        assert_string_equal(text, expected);
        json_t *json = json_string(text);
        assert_true(fplt__real_read(json, &back));
        assert_memory_equal(&x, &back, sizeof x);
        json_decref(json);
    }
    const char *const bad[] = {"",        "1",       "0x1",       "0x1p0",  "0x1p+00", "0x1.0p+0",
                               "0x2p+0",  "0X1p+0",  "0x1p+1024", "nan",    "inf",     "+0x1p+0",
                               "0x1.p+0", "0x1p+0 ", " 0x1p+0",   "0x1P+0", "0x1.Ap+0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double back;
        json_t *json = json_string(bad[i]);
        assert_false(fplt__real_read(json, &back));
        json_decref(json);
    }
}

static void proofs_hold_for_what_they_say_only(void **state)
{
    (void)state;
    uint8_t key[32] = {1, 2, 3};
    fplt__digest plan = fplt__hash_bytes("plan", 4);
    fplt__proof proof, back; /* as bytes they are compared, padding too */
    memset(&proof, 0, sizeof proof);
    memset(&back, 0, sizeof back);
    proof.incarnation = 3;
    proof.round = 77;
    proof.version = UINT64_MAX;
    proof.chain.byte[0] = 9;
    fplt__proof_sign(&proof, &plan, 5, key);
    char text[FPLT__PROOF_TEXT];
    fplt__proof_text(&proof, text);
    assert_true(fplt__proof_read(text, &back));
    assert_memory_equal(&back, &proof, sizeof back);
    assert_true(fplt__proof_valid(&back, &plan, 5, key));
    assert_false(fplt__proof_valid(&back, &plan, 4, key));
    back.round++;
    assert_false(fplt__proof_valid(&back, &plan, 5, key));
    key[31] = 1;
    assert_false(fplt__proof_valid(&proof, &plan, 5, key));
    for (size_t cut = 0; cut < strlen(text); cut++) {
        char less[FPLT__PROOF_TEXT];
        strcpy(less, text);
        less[cut] = 0;
        assert_false(fplt__proof_read(less, &back));
    }
}

static fplt__report full_report(void)
{
    fplt__report report = {
        .incarnation = 2,
        .version = 9,
        .chain = {{7}},
        .has_staged = 1,
        .has_enrolled = 1,
        .has_proof = 1,
        .has_trouble = 1,
        .has_charged = 1,
        .staged = {UINT64_MAX, {{1}}},
        .enrolled = {3, {{2}}},
        .trouble = {4, "failed", "he said \"no\", in UTF-8: \xc3\xa9"},
        .has_secure = 1,
        .secure = {.entry = {8, 9}, .has_keys = 1, .keys = {{6}}},
        .charged = {.receipt = {.spent = {{0.1, 0.1, 0.1, 0.1, INFINITY}}, .rounds = 3},
                    .mac = {{5}}}};
    report.proof = (fplt__proof){.incarnation = 1, .round = 2, .version = 3};
    return report;
}

static int is_canonical(const char *text)
{
    json_t *object = NULL;
    fplt_error error;
    int legal = !fplt__json_read("a report", text, strlen(text), 1 << 16, &object, &error);
    json_decref(object);
    return legal;
}

/* Whatever single byte is changed, or left out, or doubled: what is still read is canonical in jansson's eyes and says
 * what the text says. And that happens, with other digits. */
static int changes_are_seen(const char *text)
{
    static const char other[] = "09af\"{}:,n\x01-G";
    size_t size = strlen(text), legal = 0, kinds = sizeof other - 1;
    char *changed = calloc(size + 2, 1), *again;
    fplt__report back;
    fplt_error error;
    int good = is_canonical(text);
    for (size_t k = 0; good && k < size * (kinds + 2); k++) {
        size_t at = k % size, kind = k / size;
        if (!drawn_takes(k))
            continue;
        memcpy(changed, text, size + 1);
        if (kind < kinds)
            changed[at] = other[kind];
        else if (kind == kinds)
            memcpy(changed + at, text + at + 1, size - at);
        else
            memcpy(changed + at + 1, text + at, size + 1 - at);
        if (fplt__report_read(changed, strlen(changed), &back, &error))
            continue;
        assert_ok(fplt__report_text(&back, &again, &error), error);
        good = is_canonical(changed) && strcmp(changed, again) == 0;
        fplt__free(again);
        legal++;
    }
    free(changed);
    return good && legal > 64 && legal < 13 * size;
}

static void messages_come_back(void **state)
{
    (void)state;
    fplt_error error;
    char *text;
    for (unsigned parts = 0; parts < 64; parts++) {
        fplt__report report = full_report(), empty = {0}, back;
        report.has_staged = parts & 1;
        report.has_enrolled = parts >> 1 & 1;
        report.has_proof = parts >> 2 & 1;
        report.has_trouble = parts >> 3 & 1;
        report.has_charged = parts >> 4 & 1;
        report.has_secure = parts >> 5 & 1;
        report.secure.has_keys = report.has_secure && parts & 1;
        if (!report.secure.has_keys)
            memset(&report.secure.keys, 0, sizeof report.secure.keys);
        if (!report.has_secure)
            memset(report.secure.entry, 0, sizeof report.secure.entry);
        if (!report.has_staged)
            memcpy(&report.staged, &empty.staged, sizeof report.staged);
        if (!report.has_enrolled)
            memcpy(&report.enrolled, &empty.enrolled, sizeof report.enrolled);
        if (!report.has_proof)
            memcpy(&report.proof, &empty.proof, sizeof report.proof);
        if (!report.has_trouble)
            memcpy(&report.trouble, &empty.trouble, sizeof report.trouble);
        if (!report.has_charged)
            memcpy(&report.charged, &empty.charged, sizeof report.charged);
        assert_ok(fplt__report_text(&report, &text, &error), error);
        assert_ok(fplt__report_read(text, strlen(text), &back, &error), error);
        assert_memory_equal(&back.staged, &report.staged, sizeof back.staged);
        assert_true(back.has_secure == report.has_secure &&
                    back.secure.has_keys == report.secure.has_keys);
        assert_memory_equal(back.secure.entry, report.secure.entry, sizeof back.secure.entry);
        assert_true(fplt__same(&back.secure.keys, &report.secure.keys));
        assert_true(back.trouble.round == report.trouble.round &&
                    back.incarnation == report.incarnation);
        assert_string_equal(back.trouble.sentence, report.trouble.sentence);
        assert_memory_equal(&back.charged, &report.charged, sizeof back.charged);
        char *again;
        assert_ok(fplt__report_text(&back, &again, &error), error);
        assert_string_equal(text, again);
        for (size_t cut = 0; cut < strlen(text); cut += 7)
            assert_int_equal(fplt__report_read(text, cut, &back, &error), FPLT_BAD_DATA);
        if (parts % 21 == 0) /* with and without each part */
            assert_true(changes_are_seen(text));
        fplt__free(text);
        fplt__free(again);
    }
    fplt__report nothing;
    assert_int_equal(fplt__report_read(NULL, 0, &nothing, &error), FPLT_BAD_DATA);
    fplt__joined joined = {.session = UINT64_MAX, .member_index = 4, .planned = 1}, other;
    assert_ok(fplt__joined_text(&joined, &text, &error), error);
    assert_ok(fplt__joined_read(text, strlen(text), &other, &error), error);
    assert_true(other.session == joined.session && other.member_index == joined.member_index);
    assert_true(fplt__same(&other.document, &joined.document));
    assert_true(other.planned == joined.planned && other.has_charged == joined.has_charged);
    assert_memory_equal(&other.charged, &joined.charged, sizeof joined.charged);
    fplt__free(text);
    fplt__consent consent = {.agreed = 1, .records = 12, .sentence = "yes"}, answer;
    assert_ok(fplt__consent_text(&consent, &text, &error), error);
    assert_ok(fplt__consent_read(text, strlen(text), &answer, &error), error);
    assert_true(answer.agreed && answer.records == 12 && answer.hessian == FPLT__HESSIAN_UNSAID);
    assert_null(strstr(text, "hessian"));
    fplt__free(text);
    for (consent.hessian = FPLT__HESSIAN_NO; consent.hessian <= FPLT__HESSIAN_YES;
         consent.hessian++) {
        assert_ok(fplt__consent_text(&consent, &text, &error), error);
        assert_ok(fplt__consent_read(text, strlen(text), &answer, &error), error);
        assert_int_equal(answer.hessian, consent.hessian);
        fplt__free(text);
    }
    fplt__fault fault = {"old", 0, "again"}, seen;
    assert_ok(fplt__fault_text(&fault, &text, &error), error);
    assert_string_equal(text, "{\"error\":\"old\",\"final\":false,\"sentence\":\"again\"}");
    assert_ok(fplt__fault_read(text, strlen(text), &seen, &error), error);
    fplt__free(text);
}

static fplt__agreement some_agreement(void)
{
    static char roster[2][FPLT__NAME] = {"basel", "bern"};
    static fplt__pair setting[] = {{(char *)"algorithm", (char *)"fed-plt"},
                                   {(char *)"eps", (char *)"0.01"}};
    static uint64_t records[] = {10, 20};
    static double tau[] = {0.5, 0.25}, rate[] = {0.125, 0.1}, shift[] = {1, 2, 3},
                  scale[] = {1, 1, 4};
    fplt__agreement a = {.proposal = {.federation = "heart",
                                      .run = 1,
                                      .nonce = {1, 2},
                                      .members = 2,
                                      .roster = roster,
                                      .settings = 2,
                                      .setting = setting,
                                      .columns = 3,
                                      .schema = (char *)"{\"a\":[1,2]}"},
                         .plan = {.algorithm = fplt_algorithm_find("fed-plt"),
                                  .parameter = {0.1},
                                  .agents = 2,
                                  .dimension = 4,
                                  .seed = UINT64_MAX,
                                  .step = 0.3},
                         .resolves = 1,
                         .resolved = setting + 1,
                         .records = records,
                         .curvature = {0.01, 2},
                         .rounds = 100,
                         .private = 1,
                         .cap = 105,
                         .tau = tau,
                         .rate = rate,
                         .shifts = 3,
                         .shift = shift,
                         .scale = scale,
                         .kernel = "reference",
                         .dictionary = (char *)"{\"columns\":[]}"};
    return a;
}

static void documents_come_back(void **state)
{
    (void)state;
    fplt_error error;
    fplt__agreement a = some_agreement(), back;
    char *text, *again;
    assert_ok(fplt__agreement_text(&a, &text, &error), error);
    assert_ok(fplt__agreement_read(text, strlen(text), &back, &error), error);
    assert_same_plan(&back.plan, &a.plan);
    assert_string_equal(back.proposal.roster[1], "bern");
    assert_string_equal(fplt__pair_find(back.proposal.setting, 2, "eps"), "0.01");
    assert_string_equal(back.dictionary, "{\"columns\":[]}");
    assert_null(back.proposal.dictionary);
    assert_true(back.cap == 105 && back.tau[1] == 0.25 && back.scale[2] == 4);
    assert_ok(fplt__agreement_text(&back, &again, &error), error);
    assert_string_equal(text, again);
    fplt__free(again);
    fplt__proposal proposal;
    assert_ok(fplt__proposal_text(&a.proposal, &again, &error), error);
    assert_ok(fplt__proposal_read(again, strlen(again), &proposal, &error), error);
    fplt__proposal_clear(&proposal);
    fplt__agreement_clear(&back);
    fplt__free(again);
    fplt__free(text);
}

static void refuse_plan(const char *text, const char *from, const char *to, const char *sentence)
{
    fplt_error error = {0};
    fplt__agreement back;
    char *changed = malloc(strlen(text) + strlen(to) + 1);
    const char *at = strstr(text, from);
    assert_non_null(at);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_not_equal(fplt__agreement_read(changed, strlen(changed), &back, &error), FPLT_OK);
    assert_contains(error.text, sentence);
    free(changed);
}

/* The keys of what preparation found are there where something was, and a plan without it has the bytes that it had. */
static void prepared_documents_come_back(void **state)
{
    (void)state;
    fplt_error error;
    double fill[] = {0.1, 0, 1};
    uint64_t class_rows[] = {7, 23};
    fplt__agreement a = some_agreement(), back;
    char *text, *again;
    assert_ok(fplt__agreement_text(&a, &text, &error), error);
    assert_true(!strstr(text, "\"fill\"") && !strstr(text, "class-rows"));
    fplt__free(text);
    a.fills = 3;
    a.fill = fill;
    a.balances = 2;
    a.class_rows = class_rows;
    assert_ok(fplt__agreement_text(&a, &text, &error), error);
    assert_ok(fplt__agreement_read(text, strlen(text), &back, &error), error);
    assert_true(back.fills == 3 && back.fill[0] == 0.1 && back.fill[2] == 1 && back.balances == 2 &&
                back.class_rows[1] == 23);
    assert_ok(fplt__agreement_text(&back, &again, &error), error);
    assert_string_equal(text, again);
    fplt__agreement_clear(&back);
    fplt__free(again);
    refuse_plan(text, "\"class-rows\":[7,23]", "\"class-rows\":[]", "class-rows");
    refuse_plan(text, "\"class-rows\":[7,23]", "\"class-rows\":[7,-1]", "class-rows");
    refuse_plan(text, "\"class-rows\":[7,23]", "\"class-rows\":7", "class-rows");
    refuse_plan(text, "\"0x0p+0\",\"0x1p+0\"]", "\"nan\"]", "fill");
    fplt__free(text);
}

/* The keys of secure aggregation are there where it is on, and a plan without it has the bytes that it had. */
static void secure_documents_come_back(void **state)
{
    (void)state;
    fplt_error error;
    uint8_t identities[64] = {1, [63] = 2};
    fplt__agreement a = some_agreement(), back;
    char *text, *again;
    assert_ok(fplt__agreement_text(&a, &text, &error), error);
    assert_true(!strstr(text, "aggregate") && !strstr(text, "colluders") &&
                !strstr(text, "secure"));
    fplt__free(text);
    a.proposal.secure = 1;
    a.proposal.colluders = 1;
    a.most = 2;
    a.width = 16;
    a.identities = identities;
    assert_ok(fplt__agreement_text(&a, &text, &error), error);
    assert_ok(fplt__agreement_read(text, strlen(text), &back, &error), error);
    assert_true(back.proposal.secure && back.proposal.colluders == 1 && back.most == 2 &&
                back.width == 16 && !back.threshold);
    assert_memory_equal(back.identities, identities, sizeof identities);
    assert_ok(fplt__agreement_text(&back, &again, &error), error);
    assert_string_equal(text, again);
    fplt__agreement_clear(&back);
    fplt__free(again);
    static const char *const changes[][3] = {
        {"\"aggregate\":\"secure\"", "\"aggregate\":\"masked\"", "aggregate"},
        {"\"width\":16", "\"width\":12", "width"},
        {"\"width\":16", "\"width\":8", "unit"},
        {"\"most\":2", "\"most\":3", "most"},
        {"0000000002\"]", "0000000002\",\"00\"]", "identities"}};
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        const char *at = strstr(text, changes[k][0]);
        size_t room = strlen(text) + 64, front = at ? (size_t)(at - text) : 0;
        char *changed = calloc(room, 1);
        assert_non_null(at);
        snprintf(changed, room, "%.*s%s%s", (int)front, text, changes[k][1],
                 at + strlen(changes[k][0]));
        assert_int_equal(fplt__agreement_read(changed, strlen(changed), &back, &error),
                         FPLT_BAD_DATA);
        assert_non_null(strstr(error.text, changes[k][2]));
        free(changed);
    }
    fplt__free(text);
}

static void other_documents_are_refused(void **state)
{
    (void)state;
    fplt_error error;
    fplt__agreement a = some_agreement();
    char *text;
    assert_ok(fplt__agreement_text(&a, &text, &error), error);
    refuse_plan(text, "\"kernel\":", "\"kernek\":", "kernel");
    refuse_plan(text, "\"kernel\":\"reference\"", "\"kernel\":\"reference\",\"knob\":1", "known");
    refuse_plan(text, "\"kernel\":\"reference\"", "\"kernel\":\"a\",\"kernel\":\"b\"", "not JSON");
    refuse_plan(text, "\"kernel\":", " \"kernel\":", "canonical");
    refuse_plan(text, "\"records\":[10,20]", "\"records\":[10]", "records");
    refuse_plan(text, "\"cap\":105", "\"cap\":0", "cap");
    refuse_plan(text, "\"fed-plt\",\"dimension\"", "\"fed-plx\",\"dimension\"", "algorithm");
    refuse_plan(text, "\"bern\"", "\"Bern\"", "names");
    refuse_plan(text, "\"relative\":false", "\"relative\":0", "relative");
    refuse_plan(text, "\"protocol\":1", "\"protocol\":2", "protocol");
    refuse_plan(text, "\"change\":\"0x0p+0\"", "\"change\":\"0x1p+0\"", "nothing is measured");
    refuse_plan(text, "\"parameters\":[\"0x1.999999999999ap-4\"]", "\"parameters\":[\"-0x1p+0\"]",
                "rho");
    refuse_plan(text, "\"records\":[10,20]", "\"records\":[[[[[[[[1]]]]]]]]", "deep");
    refuse_plan(text, "\"schema\":\"{\\\"a\\\":[1,2]}\"", "\"schema\":[1,2]", "schema");
    refuse_plan(text, "\"schema\":\"{\\\"a\\\":[1,2]}\"", "\"schema\":\"\\u0000\"", "JSON");
    refuse_plan(text, "\"shift\":[\"0x1p+0\",", "\"shift\":[", "shift");
    refuse_plan(text, "\"dictionary\":\"{\\\"columns\\\":[]}\"", "\"dictionary\":{}", "dictionary");
    for (size_t cut = 0; cut < strlen(text); cut += 13) {
        fplt__agreement back;
        assert_int_equal(fplt__agreement_read(text, cut, &back, &error), FPLT_BAD_DATA);
    }
    fplt__free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_compared_whole),
        cmocka_unit_test(reals_are_texts),
        cmocka_unit_test(counts_and_kinds),
        cmocka_unit_test(the_longest_frame),
        cmocka_unit_test(receipts_come_back),
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(impossible_heads_are_refused),
        cmocka_unit_test(a_task_is_the_whole_question),
        cmocka_unit_test(lanes_are_blake2b),
        cmocka_unit_test(a_body_has_its_digest),
        cmocka_unit_test(reals_are_those_of_printf),
        cmocka_unit_test(proofs_hold_for_what_they_say_only),
        cmocka_unit_test(messages_come_back),
        cmocka_unit_test(documents_come_back),
        cmocka_unit_test(secure_documents_come_back),
        cmocka_unit_test(prepared_documents_come_back),
        cmocka_unit_test(other_documents_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
