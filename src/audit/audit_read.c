/* A log read from its beginning, and what is wrong with it. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "base/memory.h"
#include "base/file.h"

enum { MAX_LOG = 1 << 30 };

struct reading {
    fplt__audit_verdict *verdict;
    fplt__digest previous;
    fplt__digest *digest; /* owned: of every entry that is there, for signatures */
    size_t capacity;
    uint64_t base;      /* entries before the first that is there */
    fplt__digest first; /* what the first entry commits to */
    int explained;      /* an entry says that they expired */
};

static void find_bad(struct reading *reading, const char *format, ...) FPLT_PRINTF(2, 3);

/* The first thing that is wrong counts. */
static void find_bad(struct reading *reading, const char *format, ...)
{
    va_list arguments;
    if (reading->verdict->bad)
        return;
    reading->verdict->bad = reading->verdict->entries + 1;
    va_start(arguments, format);
    vsnprintf(reading->verdict->sentence, sizeof reading->verdict->sentence, format, arguments);
    va_end(arguments);
}

static const char *text_of(json_t *entry, const char *name)
{
    const char *text = json_string_value(json_object_get(entry, name));
    return text ? text : "";
}

static void take_signature(fplt__audit_verdict *verdict, uint64_t number,
                           const uint8_t key[FPLT__AUDIT_KEY])
{
    verdict->other_keys += verdict->signed_up_to && memcmp(verdict->key, key, FPLT__AUDIT_KEY) != 0;
    memcpy(verdict->key, key, FPLT__AUDIT_KEY);
    if (number > verdict->signed_up_to)
        verdict->signed_up_to = number;
}

static void check_signature(struct reading *reading, json_t *entry)
{
    fplt__audit_head head = {.number = strtoull(text_of(entry, "signed-number"), NULL, 10)};
    uint8_t key[FPLT__AUDIT_KEY], signature[FPLT__AUDIT_SIGNATURE];
    if (!fplt__unhex(text_of(entry, "head"), &head.digest, sizeof head.digest) ||
        !fplt__unhex(text_of(entry, "key"), key, sizeof key) ||
        !fplt__unhex(text_of(entry, "signature"), signature, sizeof signature) ||
        !fplt__audit_is_signed(key, text_of(entry, "federation"), text_of(entry, "member"), &head,
                               signature))
        find_bad(reading, "the signature in it is not valid");
    else if (!head.number || head.number > reading->verdict->entries ||
             (head.number > reading->base &&
              !fplt__same(&head.digest, &reading->digest[head.number - reading->base - 1])))
        find_bad(reading, "it signs entry %llu, which is another one now",
                 (unsigned long long)head.number);
    else if (!reading->verdict->bad)
        take_signature(reading->verdict, head.number, key);
}

/* Seconds since 1970; 0: no time. */
static time_t time_of(const char *text)
{
    struct tm broken = {0};
    return strptime(text, "%Y-%m-%dT%H:%M:%SZ", &broken) ? timegm(&broken) : 0;
}

static void check_expired(struct reading *reading, json_t *entry)
{
    fplt__digest last;
    time_t before = time_of(text_of(entry, "before")), now = time_of(text_of(entry, "time"));
    if (!fplt__unhex(text_of(entry, "last"), &last, sizeof last) || !before ||
        before + (time_t)FPLT__AUDIT_MIN_DAYS * 86400 > now)
        find_bad(reading, "entries left less than %d days after they were written",
                 FPLT__AUDIT_MIN_DAYS);
    else if (strtoull(text_of(entry, "up-to"), NULL, 10) == reading->base &&
             fplt__same(&last, &reading->first))
        reading->explained = 1;
}

/* The first entry that is there may follow others, which must have expired. */
static void take_beginning(struct reading *reading, json_t *entry)
{
    json_int_t number = json_integer_value(json_object_get(entry, "number"));
    if (reading->verdict->entries || number <= 1 ||
        !fplt__unhex(text_of(entry, "previous"), &reading->first, sizeof reading->first))
        return;
    reading->base = reading->verdict->entries = reading->verdict->expired = (uint64_t)number - 1;
    reading->previous = reading->first;
}

static fplt_status check_line(struct reading *reading, const char *line, size_t length,
                              fplt_error *error)
{
    fplt__digest digest, previous = {{0}};
    json_t *entry = json_loadb(line, length, 0, NULL);
    int whole = entry && fplt__audit_digest(line, length, &digest);
    if (whole)
        take_beginning(reading, entry);
    uint64_t expected = reading->verdict->entries + 1, place = expected - reading->base;
    fplt_status status = fplt__grow(&reading->digest, &reading->capacity, place,
                                    sizeof *reading->digest, "the audit log", error);
    if (status) {
        json_decref(entry);
        return status;
    }
    if (!whole) {
        memset(&digest, 0, sizeof digest);
        find_bad(reading, "it was changed: its digest is another one");
    } else if ((uint64_t)json_integer_value(json_object_get(entry, "number")) != expected ||
               !fplt__unhex(text_of(entry, "previous"), &previous, sizeof previous) ||
               !fplt__same(&previous, &reading->previous)) {
        find_bad(reading,
                 "it has number %lld and does not follow the entry before it: entries were "
                 "removed or moved",
                 (long long)json_integer_value(json_object_get(entry, "number")));
    } else if (strcmp(text_of(entry, "event"), FPLT__AUDIT_SIGNED) == 0) {
        check_signature(reading, entry);
    } else if (strcmp(text_of(entry, "event"), FPLT__AUDIT_EXPIRED) == 0) {
        check_expired(reading, entry);
    }
    reading->digest[place - 1] = reading->previous = digest;
    reading->verdict->entries = expected;
    json_decref(entry);
    return FPLT_OK;
}

fplt_status fplt__audit_read(const char *path,
                             void (*visitor)(void *context, const char *line, size_t length),
                             void *context, fplt__audit_verdict *verdict, fplt_error *error)
{
    struct reading reading = {.verdict = verdict};
    char *text;
    size_t size;
    *verdict = (fplt__audit_verdict){0};
    fplt_status status = fplt__file_read(path, MAX_LOG, &text, &size, error);
    if (status)
        return status;
    for (const char *at = text, *end = text + size; at < end && !status;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        if (visitor)
            visitor(context, at, length);
        status = check_line(&reading, at, length, error);
        at += length + 1;
    }
    if (reading.base && !reading.explained && !verdict->bad) {
        verdict->bad = 1;
        snprintf(verdict->sentence, sizeof verdict->sentence,
                 "entries up to %llu are missing, and no entry says that they expired",
                 (unsigned long long)reading.base);
    }
    fplt_free(text);
    fplt__free(reading.digest);
    return status;
}
