/* Admission of connections by address: how many an address may open in a time, which addresses belong to members, and
 * which refusals get a log line of their own. Bookkeeping only, with neither sockets nor a clock: times are seconds of
 * any clock that does not go back.
 *
 * Every connection that is accepted costs its address a token, and an address that is no member's also costs one of a
 * budget for all such addresses. A connection that proves to be a member's gets its tokens back, so that only those of
 * strangers count. Without a token the connection is closed at once, before any work is done for it.
 *
 * The table is bounded. An address with open connections is never dropped; of the others, one that is no member's goes
 * before a member's, and the one that was seen the longest time ago goes first. */
#ifndef FPLT_FEDERATION_ADMISSION_H
#define FPLT_FEDERATION_ADMISSION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "fedplt/status.h"

enum { FPLT__ADDRESS_TEXT = 64, FPLT__MEMBER_SECONDS = 24 * 3600 };

/* Tokens that come back with time. */
typedef struct fplt__bucket {
    double tokens, since;
} fplt__bucket;

/* What is known of an address: one of IPv4, or the first 64 bits of one of IPv6. Its fields are read only outside. */
typedef struct fplt__origin {
    uint64_t address[2];
    int used, is_local;    /* is_local: no address of a network (a socket pair), never limited */
    unsigned open;         /* connections */
    unsigned unproven;     /* of them without a certificate so far */
    double member_until;   /* a member authenticated from here less than a day before this time */
    double seen, reported; /* reported: when the last line about it was written */
    unsigned hidden;       /* refusals since then without a line */
    fplt__bucket bucket;
} fplt__origin;

typedef struct fplt__admission fplt__admission;

typedef struct fplt__admission_settings {
    size_t
        addresses; /* in the table: more than connections can be open, or one of them may be missing */
    double burst;       /* connections that an address may open at once; 0: any number */
    double rate;        /* tokens a second of an address */
    double member_rate; /* of one from which a member authenticated */
    double total_burst, total_rate; /* of all addresses that are no member's */
} fplt__admission_settings;

fplt_status fplt__admission_create(const fplt__admission_settings *settings,
                                   fplt__admission **admission, fplt_error *error);
void fplt__admission_destroy(fplt__admission *admission);

/* The entry of an address, made where there is none. It stays valid while it has open connections. */
fplt__origin *fplt__admission_find(fplt__admission *admission, const struct sockaddr *address,
                                   double now);
/* Connections of all addresses, and those of them without a certificate. */
void fplt__admission_count(const fplt__admission *admission, size_t *open, size_t *unproven);
/* Whether another connection of it may be accepted now; the token is taken. */
int fplt__admission_take(fplt__admission *admission, fplt__origin *origin, double now);
/* Gives back what a connection cost that proved to be a member's, or takes the same again for a refused request. */
void fplt__admission_refund(fplt__admission *admission, fplt__origin *origin);
void fplt__admission_charge(fplt__admission *admission, fplt__origin *origin);
/* A member authenticated from there: its places are reserved for a day from now. */
void fplt__admission_trust(fplt__origin *origin, double now);
int fplt__admission_is_member(const fplt__origin *origin, double now);

/* Whether a refusal gets a line: one an address and minute, and no more than 20 a minute in all. The others are
 * counted for the summary. */
int fplt__admission_reports(fplt__admission *admission, fplt__origin *origin, double now);
/* A line of the summary, once a minute; call until it returns 0. */
int fplt__admission_summary(fplt__admission *admission, double now, char *sentence, size_t size);
/* 192.0.2.7, 2001:db8::/64, or `a local socket`. */
void fplt__admission_name(const fplt__origin *origin, char text[FPLT__ADDRESS_TEXT]);

/* As fplt__admission_find(), by such a text; NULL: it is no address of a network, or there is no room. */
fplt__origin *fplt__admission_named(fplt__admission *admission, const char *text, double now);

#endif
