/* Entries that are older than they are kept leave the beginning of a log. An entry says which, and commits to the last of
 * them, so that a beginning that somebody cut off is still noticed. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/memory.h"

enum { MAX_LOG = 1 << 30, DAY = 86400 };

/* The entries that leave: bytes, and number and digest of the last one. */
struct expired {
    size_t bytes;
    fplt__audit_head last;
};

static int is_older(const json_t *entry, const char *limit)
{
    const char *when = json_string_value(json_object_get(entry, "time"));
    return when && strcmp(when, limit) < 0;
}

/* The last entry always stays. */
static struct expired find_expired(const char *text, size_t size, const char *limit)
{
    struct expired found = {0};
    for (size_t at = 0; at < size;) {
        const char *stop = memchr(text + at, '\n', size - at);
        size_t length = stop ? (size_t)(stop - text) - at : size - at;
        fplt__digest digest;
        json_t *entry = json_loadb(text + at, length, 0, NULL);
        int leaves = entry && stop && stop + 1 < text + size && is_older(entry, limit) &&
                     fplt__audit_digest(text + at, length, &digest);
        if (leaves) {
            found.bytes = at + length + 1;
            found.last =
                (fplt__audit_head){(uint64_t)json_integer_value(json_object_get(entry, "number")),
                                   digest};
        }
        json_decref(entry);
        if (!leaves)
            break;
        at += length + 1;
    }
    return found;
}

static fplt_status add_entry(const char *path, const struct expired *expired, const char *limit,
                             fplt_error *error)
{
    char number[24], digest[FPLT__HEX];
    fplt__audit *audit;
    snprintf(number, sizeof number, "%llu", (unsigned long long)expired->last.number);
    fplt__hex(&expired->last.digest, sizeof expired->last.digest, digest);
    const fplt__audit_field fields[] = {{"up-to", number}, {"last", digest}, {"before", limit}};
    fplt_status status = fplt__audit_open(path, &audit, error);
    if (!status)
        status = fplt__audit_add(audit, FPLT__AUDIT_EXPIRED, fields, 3, 1, error);
    fplt__audit_close(audit);
    return status;
}

fplt_status fplt__audit_expire(const char *path, uint32_t days, int64_t now, fplt_error *error)
{
    char limit[32], *text;
    size_t size;
    time_t oldest = (time_t)(now - (int64_t)days * DAY);
    struct tm broken;
    if (access(path, F_OK) != 0)
        return FPLT_OK;
    gmtime_r(&oldest, &broken);
    strftime(limit, sizeof limit, "%Y-%m-%dT%H:%M:%SZ", &broken);
    fplt_status status = fplt__file_read(path, MAX_LOG, &text, &size, error);
    if (status)
        return status;
    struct expired expired = find_expired(text, size, limit);
    fplt_free(text);
    if (!expired.bytes || (status = add_entry(path, &expired, limit, error)) ||
        (status = fplt__file_read(path, MAX_LOG, &text, &size, error)))
        return status;
    status = fplt__file_save(path, 0600, text + expired.bytes, size - expired.bytes, error);
    fplt_free(text);
    return status;
}
