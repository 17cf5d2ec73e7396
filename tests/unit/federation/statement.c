/* The signed statement of a withdrawal: any change of it is noticed, a valid signature does not excuse a contradiction, and
 * models, key and audit log beside it are compared. */
#include "federating.h"

#include <sodium.h>

#include "federation/coordinator/statement.h"
#include "federation/plan/program.h"

static char folder[300], path[400], before[400], after[400];
static const uint8_t seed[32] = {7};

/* A model file with its run and rows; `digest` as the statement has it. */
static void write_model(const char *name, int run, int rows, char file[400], char digest[FPLT__HEX])
{
    char *text;
    size_t size;
    uint8_t own[32];
    char hex[65];
    fplt_error error;
    federating_write(folder, name,
                     "{\"training\":{\"federation\":{\"name\":\"heart\",\"run\":%d},"
                     "\"problem\":{\"rows\":%d}},\"weights\":[%d]}",
                     run, rows, run);
    snprintf(file, 400, "%s/%s", folder, name);
    assert_ok(fplt__statement_digest(file, digest, &text, &size, &error), error);
    crypto_generichash(own, sizeof own, (const uint8_t *)text, size, NULL, 0); /* BLAKE2b-256 */
    assert_string_equal(sodium_bin2hex(hex, sizeof hex, own, sizeof own), digest);
    fplt_free(text);
}

static int begin(void **state)
{
    const char *place = getenv("TMPDIR");
    (void)state;
    assert_true(sodium_init() >= 0);
    snprintf(folder, sizeof folder, "%s/fedplt-statement-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/withdrawal-2.json", folder);
    return 0;
}

static int end(void **state)
{
    char command[400];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
    return 0;
}

/* A statement that is right, and not signed yet. */
static json_t *statement_of(void)
{
    char old[FPLT__HEX], new[FPLT__HEX];
    write_model("old.json", 1, 100, before, old);
    write_model("new.json", 2, 97, after, new);
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:i, s:i, s:f}, s:{s:s, s:i, s:i, s:f}, s:s}",
                     "federation", "heart", "member", "basel", "time", "2026-11-18T10:00:00Z",
                     "replaced", "model", old, "run", 1, "rows", 100, "criterion", 1e-7,
                     "replacement", "model", new, "run", 2, "rows", 97, "criterion", 0.1, "privacy",
                     "off");
}

static void save(const json_t *statement, size_t flags)
{
    assert_int_equal(json_dump_file(statement, path, flags | JSON_REAL_PRECISION(17)), 0);
}

static void sign(json_t *statement)
{
    fplt_error error;
    assert_ok(fplt__statement_sign(seed, statement, &error), error);
}

static fplt_status verify(const fplt__statement_beside *beside, fplt_error *error)
{
    static const fplt__statement_beside nothing = {NULL, NULL, NULL, NULL};
    char *text = NULL;
    fplt_status status =
        fplt__federation_verify_statement(path, beside ? beside : &nothing, &text, error);
    assert_int_equal(text == NULL, status != FPLT_OK);
    fplt_free(text);
    return status;
}

static void the_form_of_the_text_does_not_matter(void **state)
{
    (void)state;
    fplt_error error;
    json_t *statement = statement_of();
    sign(statement);
    static const size_t forms[] = {JSON_COMPACT, JSON_INDENT(2), JSON_SORT_KEYS};
    for (size_t i = 0; i < 3; i++) {
        save(statement, forms[i]);
        assert_ok(verify(NULL, &error), error);
    }
    json_decref(statement);
}

/* Each value, one after the other, those of the two models too; a key more and a key fewer. */
static void every_change_is_noticed(void **state)
{
    (void)state;
    static const char *const inside[] = {NULL, "replaced", "replacement"};
    size_t changes = 0;
    fplt_error error;
    json_t *statement = statement_of();
    sign(statement);
    for (size_t i = 0; i < 3; i++) {
        json_t *object = inside[i] ? json_object_get(statement, inside[i]) : statement, *value;
        const char *name;
        void *next;
        json_object_foreach_safe(object, next, name, value)
        {
            if (json_is_object(value))
                continue;
            json_t *kept = json_deep_copy(value);
            if (json_is_string(value)) {
                char text[200];
                snprintf(text, sizeof text, "%s", json_string_value(value));
                text[strlen(text) / 2] ^= 1; /* stays a digit, or a letter */
                json_object_set_new(object, name, json_string(text));
            } else {
                json_object_set_new(object, name,
                                    json_is_real(value)
                                        ? json_real(nextafter(json_real_value(value), 1))
                                        : json_integer(json_integer_value(value) - 1));
            }
            save(statement, 0);
            assert_int_equal(verify(NULL, &error), FPLT_FAILED);
            assert_contains(error.text, "the signature is not valid");
            json_object_set_new(object, name, kept);
            changes++;
        }
    }
    assert_int_equal(changes, 6 + 2 * 4);
    save(statement, 0);
    assert_ok(verify(NULL, &error), error);
    json_object_set_new(statement, "note", json_string(""));
    save(statement, 0);
    assert_int_equal(verify(NULL, &error), FPLT_FAILED);
    json_object_del(statement, "note");
    json_object_del(statement, "privacy");
    save(statement, 0);
    assert_int_equal(verify(NULL, &error), FPLT_FAILED);
    json_decref(statement);
}

/* Signed as they are, and wrong all the same. */
static void contradictions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *which, *name;
        int value; /* of run and rows; 0: the digest of the other model; -1: nothing there */
        const char *said;
    } cases[] = {
        {"replacement", "model", 0, "the model replaces itself"},
        {"replacement", "model", -1, "a model's digest is missing"},
        {"replaced", "model", -1, "a model's digest is missing"},
        {"replacement", "run", 1, "of an earlier run"},
        {"replaced", "run", 2, "of an earlier run"},
        {"replacement", "run", -1, "of an earlier run"},
        {"replacement", "rows", 100, "no rows were taken out"},
        {"replacement", "rows", 101, "no rows were taken out"},
        {"replaced", "rows", -1, "no rows were taken out"},
        {NULL, "federation", -1, "federation, member or"},
        {NULL, "member", -1, "federation, member or"},
    };
    fplt_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *statement = statement_of();
        json_t *object = cases[i].which ? json_object_get(statement, cases[i].which) : statement;
        if (cases[i].value < 0)
            json_object_del(object, cases[i].name);
        else if (!cases[i].value)
            json_object_set(object, cases[i].name,
                            json_object_get(json_object_get(statement, "replaced"), "model"));
        else
            json_object_set_new(object, cases[i].name, json_integer(cases[i].value));
        sign(statement);
        save(statement, 0);
        assert_int_equal(verify(NULL, &error), FPLT_FAILED);
        assert_contains(error.text, cases[i].said);
        json_decref(statement);
    }
    json_t *statement = statement_of(); /* the least that is legal */
    json_object_set_new(json_object_get(statement, "replacement"), "rows", json_integer(99));
    sign(statement);
    save(statement, 0);
    assert_ok(verify(NULL, &error), error);
    json_decref(statement);
}

static void texts_that_are_no_statement(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "{}", "{\"federation\":\"heart\"}", "3"};
    fplt_error error;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        federating_write(folder, "withdrawal-2.json", "%s", texts[i]);
        assert_int_equal(verify(NULL, &error), FPLT_BAD_DATA);
        assert_contains(error.text, "this is no statement");
    }
    json_t *statement = statement_of();
    sign(statement);
    save(statement, JSON_COMPACT);
    char *text = federating_read(folder, "withdrawal-2.json");
    /* what one reader takes from a key that is there twice, another does not */
    federating_write(folder, "withdrawal-2.json", "{\"member\":\"bern\",%s", text + 1);
    assert_int_equal(verify(NULL, &error), FPLT_BAD_DATA);
    free(text);
    json_decref(statement);
}

static void models_beside_it(void **state)
{
    (void)state;
    fplt_error error;
    json_t *statement = statement_of();
    sign(statement);
    save(statement, 0);
    fplt__statement_beside both = {NULL, NULL, before, after};
    assert_ok(verify(&both, &error), error);
    both = (fplt__statement_beside){NULL, NULL, after, NULL};
    assert_int_equal(verify(&both, &error), FPLT_FAILED);
    assert_contains(error.text, "is not the replaced model");
    both = (fplt__statement_beside){NULL, NULL, NULL, before};
    assert_int_equal(verify(&both, &error), FPLT_FAILED);
    assert_contains(error.text, "is not the replacing model");
    federating_write(folder, "new.json", "{}");
    both = (fplt__statement_beside){NULL, NULL, before, after};
    assert_int_equal(verify(&both, &error), FPLT_FAILED);
    json_decref(statement);
    /* the digest is right, but the statement gives other rows, or another run, than the file */
    for (int which = 0; which < 2; which++) {
        statement = statement_of();
        json_object_set_new(json_object_get(statement, "replacement"), which ? "run" : "rows",
                            json_integer(which ? 3 : 98));
        sign(statement);
        save(statement, 0);
        assert_ok(verify(NULL, &error), error);
        both = (fplt__statement_beside){NULL, NULL, before, after};
        assert_int_equal(verify(&both, &error), FPLT_FAILED);
        assert_contains(error.text, "give another run or number of rows");
        json_decref(statement);
    }
}

static void add_signed(const uint8_t of[32])
{
    uint8_t key[FPLT__AUDIT_KEY], secret[FPLT__AUDIT_SECRET], signature[FPLT__AUDIT_SIGNATURE];
    char key_text[65], head_text[FPLT__HEX], text[129], log[400], number[24];
    fplt__audit *audit;
    fplt_error error;
    snprintf(log, sizeof log, "%s/audit.jsonl", folder);
    assert_ok(fplt__audit_open(log, &audit, &error), error);
    assert_ok(fplt__audit_add(audit, "started", NULL, 0, 0, &error), error);
    fplt__audit_head head = fplt__audit_get_head(audit);
    fplt__audit_keys(of, key, secret);
    fplt__audit_sign(secret, "heart", "basel", &head, signature);
    fplt__hex(&head.digest, sizeof head.digest, head_text);
    snprintf(number, sizeof number, "%llu", (unsigned long long)head.number);
    const fplt__audit_field fields[] = {
        {"federation", "heart"},
        {"member", "basel"},
        {"signed-number", number},
        {"head", head_text},
        {"key", sodium_bin2hex(key_text, sizeof key_text, key, sizeof key)},
        {"signature", sodium_bin2hex(text, sizeof text, signature, sizeof signature)}};
    assert_ok(fplt__audit_add(audit, FPLT__AUDIT_SIGNED, fields, 6, 0, &error), error);
    fplt__audit_close(audit);
}

static void key_and_audit_log_beside_it(void **state)
{
    (void)state;
    static const uint8_t other[32] = {8};
    uint8_t key[FPLT__AUDIT_KEY], secret[FPLT__AUDIT_SECRET];
    char text[65];
    fplt_error error;
    json_t *statement = statement_of();
    sign(statement);
    save(statement, 0);
    fplt__audit_keys(seed, key, secret);
    fplt__statement_beside beside = {sodium_bin2hex(text, sizeof text, key, sizeof key), NULL, NULL,
                                     NULL};
    assert_ok(verify(&beside, &error), error);
    text[63] = text[63] == '0' ? '1' : '0';
    assert_int_equal(verify(&beside, &error), FPLT_FAILED);
    assert_contains(error.text, "another key signed it");
    /* a log that another coordinator signed, then one that this one signed too */
    beside = (fplt__statement_beside){NULL, folder, NULL, NULL};
    assert_int_equal(verify(&beside, &error), FPLT_IO);
    add_signed(other);
    assert_int_equal(verify(&beside, &error), FPLT_FAILED);
    assert_contains(error.text, "has signed no entry of the site's audit log");
    add_signed(seed);
    assert_ok(verify(&beside, &error), error);
    /* a log that was changed is worth nothing */
    char *log = federating_read(folder, "audit.jsonl");
    char *word = strstr(log, "started");
    memcpy(word, "stopped", 7);
    federating_write(folder, "audit.jsonl", "%s", log);
    assert_int_equal(verify(&beside, &error), FPLT_FAILED);
    assert_contains(error.text, "entry 1 is wrong");
    free(log);
    json_decref(statement);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_form_of_the_text_does_not_matter, begin, end),
        cmocka_unit_test_setup_teardown(every_change_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(contradictions_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(texts_that_are_no_statement, begin, end),
        cmocka_unit_test_setup_teardown(models_beside_it, begin, end),
        cmocka_unit_test_setup_teardown(key_and_audit_log_beside_it, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
