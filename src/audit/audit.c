#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/memory.h"

enum { MAX_LINE = 64 << 10 };

#define DIGEST_KEY ",\"digest\":\""

struct fplt__audit {
    char *path; /* owned */
    int file;
    off_t size; /* of the file when the head was known */
    fplt__audit_head head;
};

static fplt_status io_error(const fplt__audit *audit, const char *what, fplt_error *error)
{
    return fplt_error_set(error, FPLT_IO, "%s: cannot %s: %s", audit->path, what, strerror(errno));
}

static fplt__digest digest_of(const char *text, size_t length)
{
    static const char label[] = "fedplt-audit-1\n";
    const fplt__input inputs[] = {{label, sizeof label - 1}, {text, length}};
    return fplt__hash(inputs, 2);
}

int fplt__audit_digest(const char *line, size_t length, fplt__digest *digest)
{
    /* ...,"digest":"64 digits"} */
    size_t tail = sizeof DIGEST_KEY - 1 + 2 * FPLT__HASH + 2;
    char text[FPLT__HEX];
    if (length <= tail || memcmp(line + length - tail, DIGEST_KEY, sizeof DIGEST_KEY - 1) != 0 ||
        memcmp(line + length - 2, "\"}", 2) != 0)
        return 0;
    memcpy(text, line + length - 2 - 2 * FPLT__HASH, 2 * FPLT__HASH);
    text[2 * FPLT__HASH] = 0;
    fplt__digest stated;
    *digest = digest_of(line, length - tail);
    return fplt__unhex(text, &stated, sizeof stated) && fplt__same(&stated, digest);
}

/* The last lines of the file, where a crash may have left half a line. */
static fplt_status take_last(fplt__audit *audit, const char *text, size_t size, off_t from,
                             fplt_error *error)
{
    size_t end = size;
    while (end && text[end - 1] != '\n')
        end--;
    if (end < size && ftruncate(audit->file, from + (off_t)end))
        return io_error(audit, "be shortened", error);
    audit->size = from + (off_t)end;
    audit->head = (fplt__audit_head){0};
    if (!end)
        return FPLT_OK;
    size_t start = end - 1;
    while (start && text[start - 1] != '\n')
        start--;
    json_t *entry = json_loadb(text + start, end - 1 - start, 0, NULL);
    json_t *number = entry ? json_object_get(entry, "number") : NULL;
    audit->head.number = (uint64_t)json_integer_value(number);
    int good = fplt__audit_digest(text + start, end - 1 - start, &audit->head.digest) &&
               audit->head.number > 0;
    json_decref(entry);
    return good
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_DATA,
                                "%s: the last line is no entry of the log; `fedplt agent log "
                                "--verify` says where it is wrong. Keep the file and begin another",
                                audit->path);
}

/* Finds the head anew where another process has written. */
static fplt_status find_head(fplt__audit *audit, fplt_error *error)
{
    struct stat found;
    char *text;
    if (fstat(audit->file, &found))
        return io_error(audit, "be read", error);
    if (found.st_size == audit->size)
        return FPLT_OK;
    size_t room = 2 * MAX_LINE;
    off_t from = found.st_size > (off_t)room ? found.st_size - (off_t)room : 0;
    fplt_status status = fplt__alloc_into(&text, room, 1, "the audit log", error);
    if (status)
        return status;
    ssize_t got = pread(audit->file, text, (size_t)(found.st_size - from), from);
    status = got == found.st_size - from ? take_last(audit, text, (size_t)got, from, error)
                                         : io_error(audit, "be read", error);
    fplt__free(text);
    return status;
}

fplt_status fplt__audit_open(const char *path, fplt__audit **out, fplt_error *error)
{
    fplt__audit *audit;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&audit, 1, sizeof *audit, "the audit log", error);
    if (status)
        return status;
    audit->size = -1;
    audit->path = fplt__strdup(path);
    audit->file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (!audit->path || audit->file < 0)
        status = fplt_error_set(error, FPLT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    else if (flock(audit->file, LOCK_EX))
        status = io_error(audit, "be locked", error);
    else
        status = find_head(audit, error);
    if (status) {
        fplt__audit_close(audit);
        return status;
    }
    flock(audit->file, LOCK_UN);
    *out = audit;
    return FPLT_OK;
}

void fplt__audit_close(fplt__audit *audit)
{
    if (!audit)
        return;
    if (audit->file >= 0)
        close(audit->file);
    fplt__free(audit->path);
    fplt__free(audit);
}

fplt__audit_head fplt__audit_get_head(const fplt__audit *audit)
{
    return audit->head;
}

/* The line without its digest and end. */
static char *make_body(const fplt__audit *audit, const char *event, const fplt__audit_field *fields,
                       size_t count)
{
    char now[32], previous[FPLT__HEX];
    time_t seconds = time(NULL);
    struct tm broken;
    gmtime_r(&seconds, &broken);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &broken);
    fplt__hex(&audit->head.digest, sizeof audit->head.digest, previous);
    json_t *entry = json_pack("{s:I, s:s, s:s}", "number", (json_int_t)(audit->head.number + 1),
                              "time", now, "event", event);
    for (size_t i = 0; entry && i < count; i++)
        if (fields[i].value)
            json_object_set_new(entry, fields[i].name,
                                json_stringn_nocheck(fields[i].value, strlen(fields[i].value)));
    if (entry)
        json_object_set_new(entry, "previous", json_string(previous));
    char *text = json_dumps(entry, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
    json_decref(entry);
    return text;
}

static fplt_status append_line(fplt__audit *audit, const fplt__buffer *line, int durable,
                               fplt_error *error)
{
    if (write(audit->file, line->text, line->length) != (ssize_t)line->length ||
        (durable && fdatasync(audit->file)))
        return io_error(audit, "be written", error);
    audit->size += (off_t)line->length;
    audit->head.number++;
    return FPLT_OK;
}

static fplt_status add_locked(fplt__audit *audit, const char *event,
                              const fplt__audit_field *fields, size_t count, int durable,
                              fplt_error *error)
{
    fplt__buffer line = {NULL, 0, 0, FPLT_OK};
    char digest[FPLT__HEX];
    fplt_status status = find_head(audit, error);
    if (status)
        return status;
    char *body = make_body(audit, event, fields, count);
    size_t length = body ? strlen(body) : 0;
    if (!body || length > MAX_LINE - 128) {
        free(body);
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: an entry is too long", audit->path);
    }
    fplt__digest head = digest_of(body, length - 1); /* without the last brace */
    fplt__hex(&head, sizeof head, digest);
    fplt__buffer_format(&line, "%.*s" DIGEST_KEY "%s\"}\n", (int)(length - 1), body, digest);
    free(body);
    status = line.status ? fplt_error_set(error, line.status, "no memory for the audit log")
                         : append_line(audit, &line, durable, error);
    if (!status)
        audit->head.digest = head;
    fplt__buffer_clear(&line);
    return status;
}

/* Locks the file, and opens it anew where another process has put a shorter one in its place. */
static fplt_status lock_file(fplt__audit *audit, fplt_error *error)
{
    struct stat own, there;
    for (;;) {
        if (flock(audit->file, LOCK_EX) || fstat(audit->file, &own))
            return io_error(audit, "be locked", error);
        if (stat(audit->path, &there) || own.st_ino == there.st_ino)
            return FPLT_OK;
        int file = open(audit->path, O_RDWR | O_APPEND | O_CLOEXEC);
        if (file < 0)
            return FPLT_OK;
        close(audit->file);
        audit->file = file;
        audit->size = -1;
    }
}

fplt_status fplt__audit_add(fplt__audit *audit, const char *event, const fplt__audit_field *fields,
                            size_t count, int durable, fplt_error *error)
{
    fplt_status status = lock_file(audit, error);
    if (status)
        return status;
    status = add_locked(audit, event, fields, count, durable, error);
    flock(audit->file, LOCK_UN);
    return status;
}

/* Signatures */

void fplt__audit_keys(const uint8_t seed[32], uint8_t public_key[FPLT__AUDIT_KEY],
                      uint8_t secret[FPLT__AUDIT_SECRET])
{
    static const char label[] = "fedplt-audit-key-1\n";
    uint8_t derived[32];
    crypto_generichash(derived, sizeof derived, (const uint8_t *)label, sizeof label - 1, seed, 32);
    crypto_sign_seed_keypair(public_key, secret, derived);
    sodium_memzero(derived, sizeof derived);
}

static fplt__digest signed_text(const char *federation, const char *member,
                                const fplt__audit_head *head)
{
    static const char label[] = "fedplt-audit-head-1\n";
    uint8_t number[8];
    fplt__put64(number, head->number);
    const fplt__input inputs[] = {{label, sizeof label - 1},
                                  {federation, strlen(federation) + 1},
                                  {member, strlen(member) + 1},
                                  {number, sizeof number},
                                  {&head->digest, sizeof head->digest}};
    return fplt__hash(inputs, 5);
}

void fplt__audit_sign(const uint8_t secret[FPLT__AUDIT_SECRET], const char *federation,
                      const char *member, const fplt__audit_head *head,
                      uint8_t signature[FPLT__AUDIT_SIGNATURE])
{
    fplt__digest text = signed_text(federation, member, head);
    crypto_sign_detached(signature, NULL, text.byte, sizeof text.byte, secret);
}

int fplt__audit_is_signed(const uint8_t public_key[FPLT__AUDIT_KEY], const char *federation,
                          const char *member, const fplt__audit_head *head,
                          const uint8_t signature[FPLT__AUDIT_SIGNATURE])
{
    fplt__digest text = signed_text(federation, member, head);
    return crypto_sign_verify_detached(signature, text.byte, sizeof text.byte, public_key) == 0;
}
