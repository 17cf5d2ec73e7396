#include "http/admission.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

enum {
    MAX_LINES = 20,     /* about single refusals, a minute */
    MAX_SUMMARIES = 10, /* about single addresses, a minute */
    MINUTE = 60
};

static const uint64_t mapped_prefix = UINT64_C(0xffff)
                                      << 32; /* ::ffff:0:0/96, an address of IPv4 */

struct fplt__admission {
    fplt__admission_settings settings;
    fplt__origin *origin; /* owned */
    fplt__bucket total, lines;
    double summed;  /* when the last summary began; 0: none yet */
    unsigned shown; /* addresses named in the summary at hand */
    size_t at;      /* where the summary goes on in the table */
    int is_summing;
    uint64_t dropped; /* refusals without a line from addresses that are no longer in the table */
    unsigned dropped_addresses;
};

fplt_status fplt__admission_create(const fplt__admission_settings *settings, fplt__admission **out,
                                   fplt_error *error)
{
    fplt__admission *admission;
    *out = NULL;
    fplt_status status =
        fplt__alloc_into(&admission, 1, sizeof *admission, "a table of addresses", error);
    if (status)
        return status;
    admission->settings = *settings;
    admission->total = (fplt__bucket){settings->total_burst, 0};
    admission->lines = (fplt__bucket){MAX_LINES, 0};
    status = fplt__alloc_into(&admission->origin, settings->addresses, sizeof *admission->origin,
                              "a table of addresses", error);
    if (status) {
        fplt__free(admission);
        return status;
    }
    *out = admission;
    return FPLT_OK;
}

void fplt__admission_destroy(fplt__admission *admission)
{
    if (!admission)
        return;
    fplt__free(admission->origin);
    fplt__free(admission);
}

/* The table */

static uint64_t bits_of(const uint8_t bytes[8])
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    return bits;
}

/* An address of IPv6 counts as its network of 64 bits. */
static fplt__origin key_of(const struct sockaddr *address)
{
    fplt__origin key = {.used = 1};
    if (address && address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        key.address[1] = mapped_prefix | ntohl(four.sin_addr.s_addr);
    } else if (address && address->sa_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, address, sizeof six);
        key.address[0] = bits_of(six.sin6_addr.s6_addr);
        uint64_t low = bits_of(six.sin6_addr.s6_addr + 8);
        key.address[1] = !key.address[0] && low >> 32 == mapped_prefix >> 32 ? low : 0;
    } else {
        key.is_local = 1;
    }
    return key;
}

static int is_before(const fplt__origin *a, const fplt__origin *b, double now)
{
    int member[2] = {fplt__admission_is_member(a, now), fplt__admission_is_member(b, now)};
    return member[0] != member[1] ? member[0] < member[1] : a->seen < b->seen;
}

fplt__origin *fplt__admission_find(fplt__admission *admission, const struct sockaddr *address,
                                   double now)
{
    fplt__origin key = key_of(address), *best = NULL;
    for (size_t i = 0; i < admission->settings.addresses; i++) {
        fplt__origin *origin = &admission->origin[i];
        if (!origin->used) { /* entries are taken in order, and none becomes unused */
            best = origin;
            break;
        }
        if (origin->address[0] == key.address[0] && origin->address[1] == key.address[1] &&
            origin->is_local == key.is_local) {
            FPLT__ASSERT(origin->unproven <= origin->open);
            origin->seen = now;
            return origin;
        }
        if (!origin->open && (!best || is_before(origin, best, now)))
            best = origin;
    }
    if (!best)
        return NULL;
    FPLT__ASSERT(!best->open && !best->unproven);
    FPLT__ASSERT(best->used || !best->hidden);
    admission->dropped += best->hidden;
    admission->dropped_addresses += best->hidden > 0;
    key.seen = now;
    key.reported = -MINUTE;
    key.bucket = (fplt__bucket){admission->settings.burst, now};
    *best = key;
    return best;
}

void fplt__admission_count(const fplt__admission *admission, size_t *open, size_t *unproven)
{
    *open = *unproven = 0;
    for (size_t i = 0; i < admission->settings.addresses && admission->origin[i].used; i++) {
        *open += admission->origin[i].open;
        *unproven += admission->origin[i].unproven;
    }
}

/* Tokens */

static int take(fplt__bucket *bucket, double rate, double burst, double now)
{
    bucket->tokens = fmin(burst, bucket->tokens + rate * fmax(0, now - bucket->since));
    FPLT__ASSERT(bucket->tokens >= 0 && bucket->tokens <= burst);
    bucket->since = now;
    if (bucket->tokens < 1)
        return 0;
    bucket->tokens--;
    return 1;
}

int fplt__admission_is_member(const fplt__origin *origin, double now)
{
    return origin->member_until > now;
}

int fplt__admission_take(fplt__admission *admission, fplt__origin *origin, double now)
{
    const fplt__admission_settings *settings = &admission->settings;
    int is_member = fplt__admission_is_member(origin, now);
    if (!settings->burst || origin->is_local)
        return 1;
    if (!take(&origin->bucket, is_member ? settings->member_rate : settings->rate, settings->burst,
              now))
        return 0;
    return is_member || take(&admission->total, settings->total_rate, settings->total_burst, now);
}

void fplt__admission_refund(fplt__admission *admission, fplt__origin *origin)
{
    const fplt__admission_settings *settings = &admission->settings;
    origin->bucket.tokens = fmin(settings->burst, origin->bucket.tokens + 1);
    admission->total.tokens = fmin(settings->total_burst, admission->total.tokens + 1);
    FPLT__ASSERT(origin->used && origin->bucket.tokens >= 0);
}

void fplt__admission_charge(fplt__admission *admission, fplt__origin *origin)
{
    origin->bucket.tokens = fmax(0, origin->bucket.tokens - 1);
    admission->total.tokens = fmax(0, admission->total.tokens - 1);
    FPLT__ASSERT(origin->used && origin->bucket.tokens <= admission->settings.burst);
    FPLT__ASSERT(admission->total.tokens <= admission->settings.total_burst);
}

void fplt__admission_trust(fplt__origin *origin, double now)
{
    FPLT__ASSERT(origin->used);
    FPLT__ASSERT(origin->member_until <=
                 now + FPLT__MEMBER_SECONDS); /* the clock does not go back */
    origin->member_until = now + FPLT__MEMBER_SECONDS;
}

/* Lines */

int fplt__admission_reports(fplt__admission *admission, fplt__origin *origin, double now)
{
    if (now - origin->reported >= MINUTE &&
        take(&admission->lines, (double)MAX_LINES / MINUTE, MAX_LINES, now)) {
        origin->reported = now;
        return 1;
    }
    FPLT__ASSERT(origin->used);
    if (!admission->summed)
        admission->summed = now;
    origin->hidden++;
    return 0;
}

static int sum_up_rest(fplt__admission *admission, char *sentence, size_t size)
{
    unsigned addresses = admission->dropped_addresses;
    uint64_t refusals = admission->dropped;
    admission->dropped = admission->dropped_addresses = 0;
    for (size_t i = 0; i < admission->settings.addresses && admission->origin[i].used; i++) {
        addresses += admission->origin[i].hidden > 0;
        refusals += admission->origin[i].hidden;
        admission->origin[i].hidden = 0;
    }
    if (refusals)
        snprintf(sentence, size, "%llu more refusals in the last minute from %u other addresses",
                 (unsigned long long)refusals, addresses);
    return refusals > 0;
}

int fplt__admission_summary(fplt__admission *admission, double now, char *sentence, size_t size)
{
    char name[FPLT__ADDRESS_TEXT];
    if (!admission->is_summing && (!admission->summed || now - admission->summed < MINUTE))
        return 0;
    if (!admission->is_summing) {
        admission->is_summing = 1;
        admission->at = admission->shown = 0;
    }
    FPLT__ASSERT(admission->at <= admission->settings.addresses);
    FPLT__ASSERT(admission->shown <= MAX_SUMMARIES);
    for (; admission->at < admission->settings.addresses && admission->shown < MAX_SUMMARIES;
         admission->at++) {
        fplt__origin *origin = &admission->origin[admission->at];
        if (!origin->used || !origin->hidden)
            continue;
        fplt__admission_name(origin, name);
        snprintf(sentence, size, "%u more refusals in the last minute from %s", origin->hidden,
                 name);
        origin->hidden = 0;
        admission->shown++;
        return 1;
    }
    admission->is_summing = 0;
    admission->summed = 0;
    return sum_up_rest(admission, sentence, size);
}

void fplt__admission_name(const fplt__origin *origin, char text[FPLT__ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "";
    if (origin->is_local) {
        snprintf(text, FPLT__ADDRESS_TEXT, "a local socket");
    } else if (!origin->address[0] && origin->address[1] >> 32 == mapped_prefix >> 32) {
        struct in_addr four = {htonl((uint32_t)origin->address[1])};
        inet_ntop(AF_INET, &four, host, sizeof host);
        snprintf(text, FPLT__ADDRESS_TEXT, "%s", host);
    } else {
        struct in6_addr six = {0};
        for (int i = 0; i < 8; i++)
            six.s6_addr[i] = (uint8_t)(origin->address[0] >> (56 - 8 * i));
        inet_ntop(AF_INET6, &six, host, sizeof host);
        snprintf(text, FPLT__ADDRESS_TEXT, "%s/64", host);
    }
}

fplt__origin *fplt__admission_named(fplt__admission *admission, const char *text, double now)
{
    char host[FPLT__ADDRESS_TEXT];
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    snprintf(host, sizeof host, "%.*s", (int)strcspn(text, "/"), text);
    if (inet_pton(AF_INET, host, &four.sin_addr) == 1)
        return fplt__admission_find(admission, (const struct sockaddr *)&four, now);
    if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1)
        return fplt__admission_find(admission, (const struct sockaddr *)&six, now);
    return NULL;
}
