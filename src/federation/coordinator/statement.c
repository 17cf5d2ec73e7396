#include "federation/coordinator/statement.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "federation/plan/program.h"

enum { MAX_MODEL = 1 << 30, MAX_STATEMENT = 1 << 20 };

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* What is signed: the statement without key and signature, in one form. */
static fplt_status digest_statement(const json_t *statement, fplt__audit_head *head,
                                    fplt_error *error)
{
    json_t *bare = json_copy((json_t *)(uintptr_t)statement);
    json_object_del(bare, "key");
    json_object_del(bare, "signature");
    char *bytes = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(bare);
    if (!bytes)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the statement");
    *head = (fplt__audit_head){.number = 1, .digest = fplt__hash_bytes(bytes, strlen(bytes))};
    free(bytes);
    return FPLT_OK;
}

fplt_status fplt__statement_sign(const uint8_t seed[32], json_t *statement, fplt_error *error)
{
    uint8_t key[FPLT__AUDIT_KEY], secret[FPLT__AUDIT_SECRET], signature[FPLT__AUDIT_SIGNATURE];
    char key_text[2 * sizeof key + 1], text[2 * sizeof signature + 1];
    fplt__audit_head head;
    fplt_status status = digest_statement(statement, &head, error);
    if (status)
        return status;
    fplt__audit_keys(seed, key, secret);
    fplt__audit_sign(secret, text_of(statement, "federation"), text_of(statement, "member"), &head,
                     signature);
    sodium_memzero(secret, sizeof secret);
    fplt__hex(key, sizeof key, key_text);
    fplt__hex(signature, sizeof signature, text);
    json_object_set_new(statement, "key", json_string(key_text));
    json_object_set_new(statement, "signature", json_string(text));
    return FPLT_OK;
}

fplt_status fplt__statement_digest(const char *path, char digest[FPLT__HEX], char **text,
                                   size_t *size, fplt_error *error)
{
    fplt_status status = fplt__file_read(path, MAX_MODEL, text, size, error);
    if (status)
        return status;
    fplt__digest found = fplt__hash_bytes(*text, *size);
    fplt__hex(&found, sizeof found, digest);
    return FPLT_OK;
}

/* Verification */

static fplt_status refuse(const char *path, const char *sentence, fplt_error *error)
{
    return fplt_error_set(error, FPLT_FAILED, "%s: %s", path, sentence);
}

static fplt_status check_signature(const char *path, const json_t *statement, fplt_error *error)
{
    uint8_t key[FPLT__AUDIT_KEY], signature[FPLT__AUDIT_SIGNATURE];
    fplt__audit_head head;
    fplt_status status = digest_statement(statement, &head, error);
    if (status)
        return status;
    return fplt__unhex(text_of(statement, "key"), key, sizeof key) &&
                   fplt__unhex(text_of(statement, "signature"), signature, sizeof signature) &&
                   fplt__audit_is_signed(key, text_of(statement, "federation"),
                                         text_of(statement, "member"), &head, signature)
               ? FPLT_OK
               : refuse(path,
                        "the signature is not valid: the statement was changed after it was "
                        "signed",
                        error);
}

/* Rejects statements that no withdrawal can make, whatever their signature. */
static fplt_status check_claims(const char *path, const json_t *statement, fplt_error *error)
{
    const json_t *before = json_object_get(statement, "replaced"),
                 *after = json_object_get(statement, "replacement");
    fplt__digest digest;
    if (!*text_of(statement, "federation") || !*text_of(statement, "member") ||
        !fplt__unhex(text_of(before, "model"), &digest, sizeof digest) ||
        !fplt__unhex(text_of(after, "model"), &digest, sizeof digest))
        return refuse(path, "federation, member or a model's digest is missing", error);
    if (strcmp(text_of(before, "model"), text_of(after, "model")) == 0)
        return refuse(path, "the model replaces itself", error);
    if (json_integer_value(json_object_get(after, "run")) <=
        json_integer_value(json_object_get(before, "run")))
        return refuse(path, "the replacement is of an earlier run than the replaced model", error);
    if (json_integer_value(json_object_get(after, "rows")) >=
        json_integer_value(json_object_get(before, "rows")))
        return refuse(path, "no rows were taken out: the replacement has as many or more", error);
    return FPLT_OK;
}

static fplt_status check_model(const char *path, const char *model, const json_t *version,
                               const char *which, fplt_error *error)
{
    char digest[FPLT__HEX], *text;
    size_t size;
    if (!model)
        return FPLT_OK;
    fplt_status status = fplt__statement_digest(model, digest, &text, &size, error);
    if (status)
        return status;
    json_t *document = json_loadb(text, size, 0, NULL);
    const json_t *training = json_object_get(document, "training");
    int same_run = json_equal(json_object_get(json_object_get(training, "federation"), "run"),
                              json_object_get(version, "run")),
        same_rows = json_equal(json_object_get(json_object_get(training, "problem"), "rows"),
                               json_object_get(version, "rows"));
    json_decref(document);
    fplt_free(text);
    if (strcmp(digest, text_of(version, "model")) != 0)
        return fplt_error_set(error, FPLT_FAILED, "%s: %s is not the %s model: its digest is %s",
                              path, model, which, digest);
    return same_run && same_rows
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED,
                                "%s: the statement and %s give another run or number of rows", path,
                                model);
}

/* The keys that signed entries of the audit log of a site. */
struct keys {
    const char *wanted;
    size_t seen, equal;
};

static void compare_key(void *context, const char *line, size_t length)
{
    struct keys *keys = context;
    json_t *read = json_loadb(line, length, 0, NULL);
    if (read && strcmp(text_of(read, "event"), FPLT__AUDIT_SIGNED) == 0) {
        keys->seen++;
        keys->equal += strcmp(text_of(read, "key"), keys->wanted) == 0;
    }
    json_decref(read);
}

static fplt_status check_key(const char *path, const json_t *statement,
                             const fplt__statement_beside *beside, fplt_error *error)
{
    struct keys keys = {text_of(statement, "key"), 0, 0};
    fplt__audit_verdict verdict;
    char log[4200];
    if (beside->key && strcmp(beside->key, keys.wanted) != 0)
        return refuse(path, "another key signed it than the one that is given", error);
    if (!beside->folder)
        return FPLT_OK;
    snprintf(log, sizeof log, "%s/audit.jsonl", beside->folder);
    fplt_status status = fplt__audit_read(log, compare_key, &keys, &verdict, error);
    if (status)
        return status;
    if (verdict.bad)
        return fplt_error_set(error, FPLT_FAILED, "%s: entry %llu is wrong: %s", log,
                              (unsigned long long)verdict.bad, verdict.sentence);
    return keys.equal ? FPLT_OK
                      : refuse(path, "its key has signed no entry of the site's audit log", error);
}

fplt_status fplt__federation_verify_statement(const char *path,
                                              const fplt__statement_beside *beside,
                                              char **statement, fplt_error *error)
{
    char *text;
    size_t size;
    *statement = NULL;
    fplt_status status = fplt__file_read(path, MAX_STATEMENT, &text, &size, error);
    if (status)
        return status;
    json_t *read = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    fplt_free(text);
    if (!json_is_object(read) || !json_object_get(read, "signature"))
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s: this is no statement of `fedplt federation withdraw`", path);
    if (!status && !(status = check_signature(path, read, error)) &&
        !(status = check_claims(path, read, error)) &&
        !(status = check_key(path, read, beside, error)) &&
        !(status = check_model(path, beside->before, json_object_get(read, "replaced"), "replaced",
                               error)))
        status = check_model(path, beside->after, json_object_get(read, "replacement"), "replacing",
                             error);
    if (!status) {
        char *shown = json_dumps(read, JSON_COMPACT | JSON_REAL_PRECISION(17));
        *statement = shown ? fplt__strdup(shown) : NULL;
        free(shown);
        if (!*statement)
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the statement");
    }
    json_decref(read);
    return status;
}
