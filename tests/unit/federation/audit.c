/* The audit log: every way to take out, change, move or forge an entry is found, up to the last signed head. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "testing.h"

#include "audit/audit.h"
#include "base/memory.h"
#include "base/file.h"
#include "federation/coordinator/statement.h"
#include "federation/plan/program.h"

enum { ENTRIES = 6, LINES = 9 };

static char path[] = "/tmp/fedplt-audit-XXXXXX";
static const uint8_t seed[32] = {7};

static fplt__audit_verdict verdict_of(void)
{
    fplt__audit_verdict verdict;
    fplt_error error;
    assert_ok(fplt__audit_read(path, NULL, NULL, &verdict, &error), error);
    return verdict;
}

/* As the agent keeps a signature of the coordinator. */
static void add_signature(fplt__audit *audit, const uint8_t *with)
{
    uint8_t key[FPLT__AUDIT_KEY], secret[FPLT__AUDIT_SECRET], signature[FPLT__AUDIT_SIGNATURE];
    char number[24], head_text[FPLT__HEX], key_text[2 * sizeof key + 1],
        text[2 * sizeof signature + 1];
    fplt__audit_head head = fplt__audit_get_head(audit);
    fplt_error error;
    fplt__audit_keys(with, key, secret);
    fplt__audit_sign(secret, "heart", "basel", &head, signature);
    snprintf(number, sizeof number, "%llu", (unsigned long long)head.number);
    fplt__hex(&head.digest, sizeof head.digest, head_text);
    fplt__hex(key, sizeof key, key_text);
    fplt__hex(signature, sizeof signature, text);
    const fplt__audit_field fields[] = {{"federation", "heart"},   {"member", "basel"},
                                        {"signed-number", number}, {"head", head_text},
                                        {"key", key_text},         {"signature", text}};
    assert_ok(fplt__audit_add(audit, FPLT__AUDIT_SIGNED, fields, 6, 1, &error), error);
}

static void write_log(void)
{
    fplt__audit *audit;
    fplt_error error;
    unlink(path);
    assert_ok(fplt__audit_open(path, &audit, &error), error);
    for (int i = 0; i < ENTRIES; i++) {
        char value[32];
        snprintf(value, sizeof value, "a \"value\" %d\n\t\xc3\xa4", i);
        const fplt__audit_field fields[] = {{"what", value}, {"nothing", NULL}};
        assert_ok(fplt__audit_add(audit, "answer", fields, 2, 0, &error), error);
        if (i % 2)
            add_signature(audit, seed);
    }
    fplt__audit_close(audit);
}

/* The lines of the file; `line[i]` ends with a newline. */
static size_t read_lines(char *line[LINES + 1])
{
    char *text;
    size_t size, count = 0;
    fplt_error error;
    assert_ok(fplt__file_read(path, 1 << 20, &text, &size, &error), error);
    for (char *at = text; at < text + size; count++) {
        char *end = strchr(at, '\n') + 1;
        line[count] = strndup(at, (size_t)(end - at));
        at = end;
    }
    fplt_free(text);
    return count;
}

static void write_lines(char *const *line, size_t count)
{
    FILE *file = fopen(path, "w");
    for (size_t i = 0; i < count; i++)
        if (line[i])
            fputs(line[i], file);
    fclose(file);
}

static void an_honest_log(void **state)
{
    (void)state;
    struct stat found;
    write_log();
    fplt__audit_verdict verdict = verdict_of();
    assert_int_equal(verdict.bad, 0);
    assert_int_equal(verdict.entries, LINES);
    assert_int_equal(verdict.signed_up_to, LINES - 1);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
}

static void what_was_done_to_it(void **state)
{
    (void)state;
    write_log();
    char *line[LINES + 1], *changed[LINES];
    assert_int_equal(read_lines(line), LINES);
    for (size_t i = 0; i < LINES; i++) {
        /* removed */
        memcpy(changed, line, sizeof changed);
        changed[i] = NULL;
        write_lines(changed, LINES);
        fplt__audit_verdict verdict = verdict_of();
        if (i + 1 < LINES)
            assert_int_equal(verdict.bad, i + 1);
        else
            assert_int_equal(verdict.signed_up_to,
                             5); /* the tail: what is left is signed up to there */
        /* changed in every place of the line */
        memcpy(changed, line, sizeof changed);
        for (size_t k = 0; k + 1 < strlen(line[i]); k += 7) {
            changed[i] = strdup(line[i]);
            changed[i][k] ^= 1;
            write_lines(changed, LINES);
            verdict = verdict_of();
            assert_int_equal(verdict.bad, i + 1);
            free(changed[i]);
        }
        /* moved */
        memcpy(changed, line, sizeof changed);
        changed[i] = line[(i + 1) % LINES];
        changed[(i + 1) % LINES] = line[i];
        write_lines(changed, LINES);
        assert_true(verdict_of().bad > 0);
    }
    for (size_t i = 0; i < LINES; i++)
        free(line[i]);
}

/* The owner of the file can make all digests anew, but not the signatures. */
static void a_forged_log(void **state)
{
    (void)state;
    static const uint8_t another[32] = {8};
    fplt__audit *audit;
    fplt_error error;
    char *line[LINES + 1];
    write_log();
    assert_int_equal(read_lines(line), LINES);
    unlink(path);
    assert_ok(fplt__audit_open(path, &audit, &error), error);
    const fplt__audit_field field = {"what", "something else"};
    for (int i = 0; i < 2; i++)
        assert_ok(fplt__audit_add(audit, "answer", &field, 1, 0, &error), error);
    fplt__audit_close(audit);
    FILE *file = fopen(path, "a");
    fputs(line[2], file); /* the signature over the first two */
    fclose(file);
    assert_int_equal(verdict_of().bad, 3);
    unlink(path);
    assert_ok(fplt__audit_open(path, &audit, &error), error);
    assert_ok(fplt__audit_add(audit, "answer", &field, 1, 0, &error), error);
    add_signature(
        audit,
        another); /* of another key, which the verdict names: whose it is, the coordinator says */
    uint8_t public_key[FPLT__AUDIT_KEY], secret[FPLT__AUDIT_SECRET];
    fplt__audit_keys(another, public_key, secret);
    fplt__audit_verdict forged = verdict_of();
    assert_int_equal(forged.signed_up_to, 1);
    assert_memory_equal(forged.key, public_key, sizeof public_key);
    assert_int_equal(forged.other_keys, 0);
    add_signature(audit, another);
    assert_int_equal(verdict_of().other_keys, 0);
    add_signature(audit, seed);
    fplt__audit_close(audit);
    fplt__audit_keys(seed, public_key, secret);
    forged = verdict_of();
    assert_int_equal(forged.bad, 0);
    assert_int_equal(forged.signed_up_to, 3);
    assert_memory_equal(forged.key, public_key, sizeof public_key);
    assert_int_equal(forged.other_keys, 1);
    for (size_t i = 0; i < LINES; i++)
        free(line[i]);
}

/* An entry with another content and a right digest and number: the one after it does not follow. */
static void a_replaced_entry(void **state)
{
    (void)state;
    char *line[LINES + 1], *other[LINES + 1];
    fplt__audit *audit;
    fplt_error error;
    const fplt__audit_field field = {"what", "something else"};
    write_log();
    assert_int_equal(read_lines(line), LINES);
    write_lines(line, 3);
    assert_ok(fplt__audit_open(path, &audit, &error), error);
    assert_ok(fplt__audit_add(audit, "answer", &field, 1, 0, &error), error);
    fplt__audit_close(audit);
    assert_int_equal(read_lines(other), 4);
    char *forged[] = {line[0], line[1], line[2], other[3], line[4]};
    write_lines(forged, 5);
    assert_int_equal(verdict_of().bad, 5);
    for (size_t i = 0; i < LINES; i++)
        free(line[i]);
    for (size_t i = 0; i < 4; i++)
        free(other[i]);
}

/* Two processes, and a crash in the middle of a line. */
static void it_goes_on(void **state)
{
    (void)state;
    fplt__audit *first, *second;
    fplt_error error;
    write_log();
    FILE *file = fopen(path, "a");
    fputs("{\"number\":10,\"ti", file);
    fclose(file);
    assert_ok(fplt__audit_open(path, &first, &error), error);
    assert_ok(fplt__audit_open(path, &second, &error), error);
    for (int i = 0; i < 4; i++)
        assert_ok(fplt__audit_add(i % 2 ? first : second, "answer", NULL, 0, 0, &error), error);
    fplt__audit_close(first);
    fplt__audit_close(second);
    assert_int_equal(verdict_of().bad, 0);
    assert_int_equal(verdict_of().entries, LINES + 4);
    file = fopen(path, "a");
    fputs("nonsense\n", file);
    fclose(file);
    assert_int_equal(fplt__audit_open(path, &first, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "the last line is no entry");
    assert_int_equal(verdict_of().bad, LINES + 5);
}

/* An entry of another time, with the digests that it would have. */
static void add_old(FILE *file, unsigned number, fplt__digest *previous)
{
    static const char label[] = "fedplt-audit-1\n";
    char body[512], before[FPLT__HEX], digest[FPLT__HEX];
    fplt__hex(previous, sizeof *previous, before);
    int length = snprintf(body, sizeof body,
                          "{\"number\":%u,\"time\":\"2021-0%u-01T00:00:00Z\",\"event\":\"answer\","
                          "\"previous\":\"%s\"",
                          number, number, before);
    const fplt__input inputs[] = {{label, sizeof label - 1}, {body, (size_t)length}};
    *previous = fplt__hash(inputs, 2);
    fplt__hex(previous, sizeof *previous, digest);
    fprintf(file, "%s,\"digest\":\"%s\"}\n", body, digest);
}

static void old_entries_leave(void **state)
{
    (void)state;
    const int64_t in_2025 = 1750000000;
    fplt__digest previous = {{0}};
    fplt__audit *audit;
    fplt_error error;
    unlink(path);
    FILE *file = fopen(path, "w");
    for (unsigned i = 1; i <= 4; i++)
        add_old(file, i, &previous);
    fclose(file);
    assert_ok(fplt__audit_open(path, &audit, &error), error);
    assert_ok(fplt__audit_add(audit, "started", NULL, 0, 1, &error), error);
    add_signature(audit, seed);
    assert_ok(fplt__audit_expire(path, 3650, in_2025, &error), error);
    assert_int_equal(verdict_of().expired, 0);
    assert_ok(fplt__audit_expire(path, 400, in_2025, &error), error);
    fplt__audit_verdict verdict = verdict_of();
    assert_int_equal(verdict.expired, 4);
    assert_int_equal(verdict.bad, 0);
    assert_int_equal(verdict.entries, 7);
    assert_int_equal(verdict.signed_up_to, 5);
    /* a process that had the file open goes on in the new one */
    assert_ok(fplt__audit_add(audit, "ended", NULL, 0, 1, &error), error);
    fplt__audit_close(audit);
    assert_int_equal(verdict_of().entries, 8);
    assert_int_equal(verdict_of().bad, 0);
}

/* Entries leave when they are old enough by the clock, with an entry that says so; a beginning that is cut off is noticed. */
static void entries_expire(void **state)
{
    (void)state;
    const int64_t day = 86400, now = (int64_t)time(NULL);
    fplt_error error;
    char *line[LINES + 1];
    write_log();
    assert_ok(fplt__audit_expire(path, 365, now + 364 * day, &error), error);
    assert_int_equal(verdict_of().entries, LINES);
    assert_int_equal(verdict_of().expired, 0);
    /* of a year and a day all but the last are old; what says so was written now, so it is not a year after: wrong */
    assert_ok(fplt__audit_expire(path, 365, now + 366 * day, &error), error);
    fplt__audit_verdict verdict = verdict_of();
    assert_int_equal(verdict.expired, LINES - 1);
    assert_int_equal(verdict.bad, LINES + 1);
    assert_non_null(strstr(verdict.sentence, "less than 365 days"));
    assert_int_equal(read_lines(line), 2);
    free(line[0]);
    free(line[1]);
    /* a beginning that nobody explains */
    write_log();
    assert_int_equal(read_lines(line), LINES);
    write_lines(line + 3, LINES - 3);
    verdict = verdict_of();
    assert_int_equal(verdict.bad, 1);
    assert_non_null(strstr(verdict.sentence, "no entry says that they expired"));
    for (size_t i = 0; i < LINES; i++)
        free(line[i]);
    assert_ok(fplt__audit_expire("/nowhere/at/all", 365, now, &error), error);
}

/* A statement that contradicts itself is refused, whoever signed it. */
static void verify_signed(const char *text, const char *words)
{
    const fplt__statement_beside nothing = {NULL, NULL, NULL, NULL};
    json_t *statement = json_loads(text, 0, NULL);
    fplt_error error = {FPLT_OK, ""};
    char *shown;
    assert_non_null(statement);
    assert_ok(fplt__statement_sign(seed, statement, &error), error);
    assert_int_equal(json_dump_file(statement, path, 0), 0);
    fplt_status status = fplt__federation_verify_statement(path, &nothing, &shown, &error);
    if (!words)
        assert_ok(status, error);
    else {
        assert_int_equal(status, FPLT_FAILED);
        assert_non_null(strstr(error.text, words));
    }
    fplt_free(shown);
    json_decref(statement);
}

#define ZEROS "00000000000000000000000000000000"
#define STATEMENT(member, old, run, rows)                                                        \
    "{\"federation\":\"heart\",\"member\":\"" member "\",\"replaced\":{\"model\":\"" ZEROS ZEROS \
    "\",\"run\":4,\"rows\":100},\"replacement\":{\"model\":\"" ZEROS old "\",\"run\":" run       \
    ",\"rows\":" rows "}}"
#define OTHER "11111111111111111111111111111111"

static void statements_that_contradict_themselves(void **state)
{
    (void)state;
    verify_signed(STATEMENT("basel", OTHER, "5", "98"), NULL);
    verify_signed(STATEMENT("basel", ZEROS, "5", "98"), "the model replaces itself");
    verify_signed(STATEMENT("basel", OTHER, "4", "98"), "of an earlier run");
    verify_signed(STATEMENT("basel", OTHER, "5", "100"), "no rows were taken out");
    verify_signed(STATEMENT("", OTHER, "5", "98"), "is missing");
    verify_signed(STATEMENT("basel", "11", "5", "98"), "is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_log),
        cmocka_unit_test(what_was_done_to_it),
        cmocka_unit_test(a_forged_log),
        cmocka_unit_test(a_replaced_entry),
        cmocka_unit_test(it_goes_on),
        cmocka_unit_test(entries_expire),
        cmocka_unit_test(old_entries_leave),
        cmocka_unit_test(statements_that_contradict_themselves),
    };
    int file = mkstemp(path);
    if (file < 0 || sodium_init() < 0)
        return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
