/* Whole sessions of secure aggregation against two other programs, byte by byte: tests/golden/secagg.py, and the ones
 * that made ../shared/vectors/secagg. */
#include "testing.h"

#include <jansson.h>
#include <sodium.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "secagg/mask.h"
#include "secagg/session.h"
#include "secagg/total.h"

enum { MOST = 16, ROOM = 8192 };

struct scene {
    const json_t *said;
    fplt__secagg_plan plan;
    uint8_t identities[MOST * 32], list[MOST * 96], cohort[2], digest[32],
        announce[32 + 2 + MOST * 96];
    size_t announce_size;
    fplt__secagg_task task;
    unsigned width;
    size_t count;
    fplt__secagg_agent *agent[MOST];
    fplt__secagg_total *total;
};

static size_t unhex(const json_t *value, uint8_t *bytes, size_t room)
{
    size_t size = 0;
    assert_non_null(value);
    assert_int_equal(sodium_hex2bin(bytes, room, json_string_value(value),
                                    json_string_length(value), NULL, &size, NULL),
                     0);
    return size;
}

static const json_t *at(const struct scene *scene, const char *name, uint32_t i)
{
    const json_t *value = json_object_get(scene->said, name);
    char key[12];
    snprintf(key, sizeof key, "%u", i);
    return json_is_array(value) ? json_array_get(value, i) : json_object_get(value, key);
}

static long long number(const struct scene *scene, const char *name)
{
    assert_true(json_is_integer(json_object_get(scene->said, name)));
    return json_integer_value(json_object_get(scene->said, name));
}

static void same(const struct scene *scene, const char *name, const json_t *value,
                 const uint8_t *bytes, size_t size)
{
    uint8_t wanted[ROOM];
    size_t length = unhex(value, wanted, sizeof wanted);
    if (length != size || memcmp(wanted, bytes, size) != 0)
        fail_msg("%s: %s differs (%zu bytes, wanted %zu)",
                 json_string_value(json_object_get(scene->said, "name")), name, size, length);
}

static int listed(const struct scene *scene, const char *name, uint32_t i)
{
    const json_t *list = json_object_get(scene->said, name);
    for (size_t k = 0; k < json_array_size(list); k++)
        if (json_integer_value(json_array_get(list, k)) == (long long)i)
            return 1;
    return 0;
}

/* A decimal number as two words. */
static void read_words(const char *text, uint64_t words[2])
{
    int negative = *text == '-';
    unsigned __int128 value = 0;
    for (text += negative; *text; text++)
        value = value * 10 + (unsigned)(*text - '0');
    value = negative ? -value : value;
    words[0] = (uint64_t)value;
    words[1] = (uint64_t)(value >> 64);
}

static void make_list(struct scene *scene)
{
    fplt_error error;
    uint8_t keys[32];
    for (uint32_t i = 0; i < scene->plan.members; i++)
        unhex(at(scene, "identities", i), scene->identities + 32 * i, 32);
    for (uint32_t i = 0; i < scene->plan.members; i++) {
        uint8_t seed[32], root[32], made[32], identity[64], secret[32], public_key[32];
        unhex(at(scene, "identity_seeds", i), seed, 32);
        unhex(at(scene, "roots", i), root, 32);
        crypto_sign_seed_keypair(made, identity, seed);
        assert_memory_equal(scene->identities + 32 * i, made, 32);
        fplt__secagg_key_make(root, secret, public_key);
        same(scene, "x25519_secret", at(scene, "x25519_secret", i), secret, 32);
        if (listed(scene, "absent", i))
            continue;
        same(scene, "x25519_public", at(scene, "x25519_public", i), public_key, 32);
        assert_ok(fplt__secagg_agent_create(&scene->plan, i, root, identity, &scene->agent[i],
                                            &error),
                  error);
        memcpy(scene->list + 96 * i, fplt__secagg_agent_entry(scene->agent[i]), 96);
        same(scene, "key_signatures", at(scene, "key_signatures", i), scene->list + 96 * i + 32,
             64);
    }
    assert_ok(fplt__secagg_list_check(&scene->plan, scene->list, &error), error);
    fplt__secagg_list_hash(&scene->plan, scene->list, keys);
    same(scene, "keys", json_object_get(scene->said, "keys"), keys, 32);
    memcpy(scene->announce, keys, 32);
}

static void open_scene(struct scene *scene, const json_t *said)
{
    memset(scene, 0, sizeof *scene);
    scene->said = said;
    scene->width = (unsigned)number(scene, "width");
    scene->count = (size_t)number(scene, "count");
    scene->plan.members = (uint32_t)number(scene, "agents");
    scene->plan.threshold = (uint32_t)number(scene, "threshold");
    scene->plan.most = (uint32_t)number(scene, "most");
    scene->plan.identity = scene->identities;
    assert_true(scene->plan.members <= MOST);
    unhex(json_object_get(said, "plan"), scene->plan.hash, 32);
    unhex(json_object_get(said, "down_digest"), scene->digest, 32);
    make_list(scene);
    for (uint32_t i = 0; i < scene->plan.members; i++)
        if (listed(scene, "cohort", i))
            fplt__set_add(scene->cohort, i);
    scene->task = (fplt__secagg_task){.kind = (unsigned)number(scene, "kind"),
                                      .exchange = (unsigned)number(scene, "exchange"),
                                      .incarnation = (uint32_t)number(scene, "leg"),
                                      .round = (uint64_t)number(scene, "round"),
                                      .cohort = scene->cohort,
                                      .digest = scene->digest};
    size_t set = fplt__set_bytes(scene->plan.members);
    memcpy(scene->announce + 32, scene->cohort, set);
    memcpy(scene->announce + 32 + set, scene->list, 96 * (size_t)scene->plan.members);
    scene->announce_size = 32 + set + 96 * (size_t)scene->plan.members;
}

static void close_scene(struct scene *scene)
{
    for (uint32_t i = 0; i < MOST; i++)
        fplt__secagg_agent_destroy(scene->agent[i]);
    fplt__secagg_total_destroy(scene->total);
}

/* The upload of member i, which the coordinator takes. */
static void upload(struct scene *scene, uint32_t i)
{
    fplt_error error;
    uint8_t payload[ROOM], session[32];
    uint64_t words[2 * 128];
    int question = scene->task.kind != 1;
    fplt__secagg_agent *agent = scene->agent[i];
    for (size_t k = 0; k < scene->count; k++)
        read_words(json_string_value(json_array_get(at(scene, "messages", i), k)), words + 2 * k);
    assert_ok(fplt__secagg_agent_announce(agent, scene->announce, scene->announce_size, &error),
              error);
    assert_true(fplt__secagg_agent_session(agent, &scene->task, session));
    same(scene, "session", json_object_get(scene->said, "session"), session, 32);
    assert_ok(question ? fplt__secagg_agent_question(agent, &scene->task, 3, &error)
                       : fplt__secagg_agent_train(agent, &scene->task, 2, &error),
              error);
    if (listed(scene, "gone", i))
        return;
    size_t size = fplt__secagg_agent_size(agent, question, scene->count, scene->width);
    assert_true(size <= sizeof payload);
    fplt__secagg_agent_upload(agent, question, words, scene->count, scene->width, payload);
    same(scene, "upload", at(scene, "upload", i), payload, size);
    assert_ok(fplt__secagg_total_upload(scene->total, i, payload, size, &error), error);
}

/* A stage: question to all that are left, and their answers. */
static void pass_stage(struct scene *scene, fplt__secagg_stage stage, const char *name)
{
    fplt_error error;
    uint8_t asked[ROOM], answer[ROOM];
    size_t size = fplt__secagg_total_question_size(scene->total, stage), length;
    int first = 1;
    assert_true(size <= sizeof asked);
    for (uint32_t i = 0; i < scene->plan.members; i++) {
        if (!listed(scene, "cohort", i) || listed(scene, "gone", i))
            continue;
        fplt__secagg_total_question(scene->total, stage, i, asked);
        if (first && stage == FPLT__SECAGG_FINAL)
            same(scene, "final_to_first", json_object_get(scene->said, "final_to_first"), asked,
                 size);
        first = 0;
        if (stage == FPLT__SECAGG_FINAL && listed(scene, "silent", i))
            continue;
        for (int again = 0; again < 2; again++) { /* the same question gets the same bytes */
            assert_ok(fplt__secagg_agent_answer(scene->agent[i], stage, asked, size, answer,
                                                &length, &error),
                      error);
            same(scene, name, at(scene, name, i), answer, length);
        }
        assert_int_equal(length, fplt__secagg_total_answer_size(scene->total, stage));
        assert_ok(fplt__secagg_total_answer(scene->total, stage, i, answer, length, &error), error);
    }
}

static void remove_missing(struct scene *scene)
{
    uint8_t left[2] = {scene->cohort[0], scene->cohort[1]};
    for (uint32_t i = 0; i < scene->plan.members; i++)
        if (listed(scene, "gone", i))
            left[i / 8] = (uint8_t)(left[i / 8] & ~(1u << i % 8));
    fplt__secagg_total_leave(scene->total, left);
    pass_stage(scene, FPLT__SECAGG_MISSING, "seeds");
    pass_stage(scene, FPLT__SECAGG_PROPOSE, "votes");
}

static void run_scene(const json_t *said)
{
    struct scene scene;
    fplt_error error;
    uint64_t words[2 * 128], wanted[2];
    uint32_t wrong = 0;
    open_scene(&scene, said);
    assert_ok(fplt__secagg_total_create(&scene.plan, &scene.total, &error), error);
    assert_ok(fplt__secagg_total_begin(scene.total, &scene.task, scene.list, scene.task.kind != 1,
                                       scene.count, scene.width, &error),
              error);
    same(&scene, "session", json_object_get(said, "session"),
         fplt__secagg_total_session(scene.total), 32);
    for (uint32_t i = 0; i < scene.plan.members; i++)
        if (listed(&scene, "cohort", i))
            upload(&scene, i);
    if (json_array_size(json_object_get(said, "gone")))
        remove_missing(&scene);
    if (scene.plan.threshold && scene.task.kind == 1) {
        assert_false(fplt__secagg_total_is_open(scene.total));
        pass_stage(&scene, FPLT__SECAGG_FINAL, "shares");
    }
    assert_true(fplt__secagg_total_is_open(scene.total));
    assert_ok(fplt__secagg_total_unmask(scene.total, &wrong, &error), error);
    fplt__secagg_total_words(scene.total, words);
    for (size_t k = 0; k < scene.count; k++) {
        read_words(json_string_value(json_array_get(json_object_get(said, "sum"), k)), wanted);
        assert_memory_equal(words + 2 * k, wanted, 16);
    }
    close_scene(&scene);
}

static void run_file(const char *path)
{
    json_error_t error;
    json_t *file = json_load_file(path, 0, &error);
    const json_t *sessions = json_object_get(file, "scenarios");
    assert_non_null(file);
    assert_true(json_array_size(sessions) > 0);
    for (size_t k = 0; k < json_array_size(sessions); k++)
        run_scene(json_array_get(sessions, k));
    json_decref(file);
}

static void own_vectors(void **state)
{
    (void)state;
    run_file(GOLDEN "/secagg.json");
}

static void other_vectors(void **state)
{
    const char *path = SHARED "/vectors/secagg/vectors.json";
    (void)state;
    if (access(path, R_OK)) {
        print_message("%s is not there\n", path);
        skip();
    }
    run_file(path);
}

/* Of many pieces, any width: masks of both signs cancel, and a stream is the one that libsodium makes at once. */
static void long_masks(void **state)
{
    enum { COUNT = 9001 };
    static uint64_t words[2 * COUNT], sum[2 * COUNT];
    static uint8_t up[16 * COUNT], down[16 * COUNT], stream[16 * COUNT];
    (void)state;
    fplt__mask mask[2] = {{{1, 2, 3}, 1}, {{4, 5}, -1}}, back[2] = {{{1, 2, 3}, -1}, {{4, 5}, 1}};
    uint8_t nonce[8] = {0};
    for (size_t k = 0; k < 2 * COUNT; k++)
        words[k] = k * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned width = 8; width <= 16; width += 8) {
        memset(sum, 0, sizeof sum);
        fplt__mask_words(mask, 2, words, COUNT, width, up);
        fplt__mask_words(back, 2, words, COUNT, width, down);
        fplt__mask_add(sum, up, COUNT, width);
        fplt__mask_add(sum, down, COUNT, width);
        for (size_t k = 0; k < COUNT; k++) {
            unsigned __int128 value = words[2 * k] | (unsigned __int128)words[2 * k + 1] << 64;
            unsigned __int128 made =
                width == 8 ? sum[k] : sum[2 * k] | (unsigned __int128)sum[2 * k + 1] << 64;
            value *= 2;
            assert_true(width == 8 ? (uint64_t)value == (uint64_t)made : value == made);
        }
        fplt__mask_sum(back, 1, sum, COUNT, width);
        fplt__mask_sum(mask, 1, sum, COUNT, width);
        memset(words, 0, sizeof words);
        fplt__mask_words(mask, 1, words, COUNT, width, up);
        crypto_stream_chacha20(stream, width * COUNT, nonce, mask[0].seed);
        assert_memory_equal(up, stream, width * COUNT);
        for (size_t k = 0; k < 2 * COUNT; k++)
            words[k] = k * UINT64_C(0x9e3779b97f4a7c15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_vectors),
                                       cmocka_unit_test(other_vectors),
                                       cmocka_unit_test(long_masks)};
    if (sodium_init() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
