/* Frames: what carries vectors between coordinator and agents. A head of 192 bytes, little-endian,
 * then the scalars (doubles), then the payload: docs/federation.md has the table. Every check that
 * the head allows is made before anything is allocated. */
#ifndef FPLT_WIRE_FRAME_H
#define FPLT_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"
#include "wire/hash.h"

enum {
    FPLT__FRAME_HEAD = 192,
    FPLT__FRAME_FORMAT = 1,
    FPLT__PROTOCOL = 1, /* of the whole: version that GET /federation names */
};

enum fplt__frame_kind {
    FPLT__TRAIN = 1,
    FPLT__VERDICT,     /* down only */
    FPLT__ENROL,       /* the mirrored vectors as they are; down: the last model */
    FPLT__MEASURE,     /* gradient, value, hits, records, judges at a point */
    FPLT__SCORE,       /* value, hits, records of held-out rows at a point */
    FPLT__MEAN,        /* the agents' own models, summed */
    FPLT__MOMENTS,     /* a step of the facts, before the plan */
    FPLT__END,         /* down only */
    FPLT__INFORMATION, /* what standard errors are made from, at a point, summed */
    FPLT__CHECK,       /* the mirrored vectors as they are, only to be compared */
    FPLT__SESSION, /* down only, before a task or question of a secure plan: keys, cohort, list */
    FPLT__MISSING, /* members that are left in a session; up: seeds */
    FPLT__PROPOSE, /* the same; up: a vote */
    FPLT__FINAL,   /* the same, votes, boxes; up: shares */
    FPLT__KINDS
};

/* BYTES: of secure aggregation (secagg/session.h); `count` is the numbers in them, or 0. LISTED: of updates alone, where the
 * plan has `encoding: sparse` (base/listed.h). */
enum fplt__frame_encoding { FPLT__DOUBLES, FPLT__PACKED, FPLT__BYTES, FPLT__LISTED };

typedef struct fplt__frame {
    uint8_t kind, exchange, encoding;
    uint32_t incarnation, member_index;
    uint64_t round;
    uint32_t cohort; /* down: its size; verdict: 1 accepted, 0 refused; up: members in the sum, 1 */
    uint32_t position; /* in the cohort */
    uint64_t version;
    uint64_t count;   /* numbers in the payload */
    uint64_t payload; /* bytes */
    uint32_t scalars;
    fplt__digest plan;
    fplt__digest chain;  /* up only */
    fplt__digest task;   /* up only */
    fplt__digest digest; /* of scalars and payload as sent */
} fplt__frame;

const char *fplt__frame_kind_name(unsigned kind);

/* Writes the head. */
void fplt__frame_write(const fplt__frame *frame, uint8_t head[FPLT__FRAME_HEAD]);
/* Reads a head and checks all that needs no plan: magic, format, kind, encoding, zeros, and that
 * the sizes can belong together (no overflow, at most 2^40 numbers). */
fplt_status fplt__frame_read(const uint8_t head[FPLT__FRAME_HEAD], fplt__frame *frame,
                             fplt_error *error);
/* What an answer to this down frame is about: H of its bytes 0 .. 95 and 160 .. 191. */
fplt__digest fplt__frame_task(const uint8_t head[FPLT__FRAME_HEAD]);

/* Bytes behind the head. */
uint64_t fplt__frame_body(const fplt__frame *frame);
/* The longest frame with so many scalars and numbers: 192 + 8 scalars + 2 ceil(m/64) + 16 m. */
uint64_t fplt__frame_limit(uint64_t scalars, uint64_t numbers);
/* Whether this, the digest of what came, is the one that the head says. */
fplt_status fplt__frame_check_digest(const fplt__frame *frame, const fplt__digest *digest,
                                     fplt_error *error);
/* Whether `size` bytes of body have the digest that the head says. */
fplt_status fplt__frame_check_body(const fplt__frame *frame, const void *body, size_t size,
                                   fplt_error *error);

/* A whole frame in one piece, to be released with fplt__free: payload of doubles or of packed words
 * (two a number), one of them NULL; sizes, encoding and digest are filled into `frame`. */
fplt_status fplt__frame_make(fplt__frame *frame, const double *scalars, const double *numbers,
                             const uint64_t *words, uint8_t **bytes, size_t *size,
                             fplt_error *error);
/* The same of words, listed where that is shorter and otherwise packed. */
struct fplt__multiple;
fplt_status fplt__frame_list(fplt__frame *frame, const uint64_t *words,
                             const struct fplt__multiple *expected, uint8_t **bytes, size_t *size,
                             fplt_error *error);
/* The same of `payload` bytes that the caller then writes behind the head: fplt__frame_seal() fills in digest and head. */
fplt_status fplt__frame_room(fplt__frame *frame, size_t payload, uint8_t **bytes, size_t *size,
                             fplt_error *error);
void fplt__frame_seal(fplt__frame *frame, uint8_t *bytes, size_t size);
/* What a body says: `scalars` has room for frame->scalars; of numbers and words the one that suits
 * the encoding is filled, with room for frame->count numbers; a body of the other encoding is
 * refused. */
fplt_status fplt__frame_scalars(const fplt__frame *frame, const void *body, double *scalars,
                                fplt_error *error);
fplt_status fplt__frame_doubles(const fplt__frame *frame, const void *body, double *numbers,
                                fplt_error *error);
fplt_status fplt__frame_words(const fplt__frame *frame, const void *body, uint64_t *words,
                              fplt_error *error);

/* Where the payload begins, frame->payload bytes. */
const void *fplt__frame_payload(const fplt__frame *frame, const void *body);

/* Splits an answer of several frames: the frame at `*cursor`, its body, and the cursor moved behind
 * it; checks heads and digests. FPLT_OK with frame->kind 0 at the end. */
fplt_status fplt__frame_next(const uint8_t *bytes, size_t size, size_t *cursor, fplt__frame *frame,
                             const uint8_t **head, const uint8_t **body, fplt_error *error);

#endif
