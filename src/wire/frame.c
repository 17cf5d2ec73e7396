/* Frames. At byte: 0 magic, 4 format, 5 kind, 6 exchange, 7 encoding, 8 incarnation, 12 member_index, 16 round,
 * 24 cohort, 28 position, 32 version, 40 count, 48 payload, 56 scalars, 60 zero, 64 plan, 96 chain,
 * 128 task, 160 digest. */
#include "wire/frame.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/listed.h"
#include "base/memory.h"
#include "base/sum.h"

static const char magic[4] = "FPLT";
static const uint64_t most_numbers = UINT64_C(1) << 40;
static const uint32_t most_scalars = UINT32_C(1) << 28;
static const uint64_t listed_head = 16;                   /* bytes of an empty list */
static const uint64_t beside_numbers = UINT64_C(1) << 18; /* of bytes: keys, boxes, votes */

const char *fplt__frame_kind_name(unsigned kind)
{
    static const char *const names[FPLT__KINDS] = {
        [FPLT__TRAIN] = "train",
        [FPLT__VERDICT] = "verdict",
        [FPLT__ENROL] = "enrol",
        [FPLT__MEASURE] = "measure",
        [FPLT__SCORE] = "score",
        [FPLT__MEAN] = "mean",
        [FPLT__MOMENTS] = "moments",
        [FPLT__END] = "end",
        [FPLT__INFORMATION] = "information",
        [FPLT__CHECK] = "check",
        [FPLT__SESSION] = "session",
        [FPLT__MISSING] = "missing",
        [FPLT__PROPOSE] = "propose",
        [FPLT__FINAL] = "final",
    };
    return kind < FPLT__KINDS ? names[kind] : NULL;
}

void fplt__frame_write(const fplt__frame *frame, uint8_t head[FPLT__FRAME_HEAD])
{
    memset(head, 0, FPLT__FRAME_HEAD);
    memcpy(head, magic, sizeof magic);
    head[4] = FPLT__FRAME_FORMAT;
    head[5] = frame->kind;
    head[6] = frame->exchange;
    head[7] = frame->encoding;
    fplt__put32(head + 8, frame->incarnation);
    fplt__put32(head + 12, frame->member_index);
    fplt__put64(head + 16, frame->round);
    fplt__put32(head + 24, frame->cohort);
    fplt__put32(head + 28, frame->position);
    fplt__put64(head + 32, frame->version);
    fplt__put64(head + 40, frame->count);
    fplt__put64(head + 48, frame->payload);
    fplt__put32(head + 56, frame->scalars);
    memcpy(head + 64, &frame->plan, FPLT__HASH);
    memcpy(head + 96, &frame->chain, FPLT__HASH);
    memcpy(head + 128, &frame->task, FPLT__HASH);
    memcpy(head + 160, &frame->digest, FPLT__HASH);
}

static uint64_t blocks_of(uint64_t numbers)
{
    return (numbers + 63) / 64;
}

/* Whether so many bytes can hold so many numbers. */
static int sizes_agree(const fplt__frame *frame)
{
    if (frame->count > most_numbers || frame->scalars > most_scalars)
        return 0;
    if (frame->encoding == FPLT__DOUBLES)
        return frame->payload == 8 * frame->count;
    if (frame->encoding == FPLT__BYTES)
        return frame->payload <= 16 * frame->count + beside_numbers;
    if (frame->encoding == FPLT__LISTED)
        return frame->payload >= listed_head &&
               frame->payload <= 2 * blocks_of(frame->count) + 16 * frame->count;
    return frame->payload >= 2 * blocks_of(frame->count) &&
           frame->payload <= 2 * blocks_of(frame->count) + 16 * frame->count;
}

fplt_status fplt__frame_read(const uint8_t head[FPLT__FRAME_HEAD], fplt__frame *frame,
                             fplt_error *error)
{
    if (memcmp(head, magic, sizeof magic) != 0 || head[4] != FPLT__FRAME_FORMAT)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a frame must begin with FPLT and format %d, this one does not",
                              FPLT__FRAME_FORMAT);
    *frame = (fplt__frame){.kind = head[5],
                           .exchange = head[6],
                           .encoding = head[7],
                           .incarnation = fplt__get32(head + 8),
                           .member_index = fplt__get32(head + 12),
                           .round = fplt__get64(head + 16),
                           .cohort = fplt__get32(head + 24),
                           .position = fplt__get32(head + 28),
                           .version = fplt__get64(head + 32),
                           .count = fplt__get64(head + 40),
                           .payload = fplt__get64(head + 48),
                           .scalars = fplt__get32(head + 56)};
    memcpy(&frame->plan, head + 64, FPLT__HASH);
    memcpy(&frame->chain, head + 96, FPLT__HASH);
    memcpy(&frame->task, head + 128, FPLT__HASH);
    memcpy(&frame->digest, head + 160, FPLT__HASH);
    if (frame->kind == 0 || frame->kind >= FPLT__KINDS || frame->encoding > FPLT__LISTED ||
        fplt__get32(head + 60))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a frame of kind %u and encoding %u, but kinds are 1 to %d and "
                              "encodings 0 to 3",
                              frame->kind, frame->encoding, FPLT__KINDS - 1);
    if (!sizes_agree(frame))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a frame claims %llu numbers in %llu bytes and %u scalars, which "
                              "cannot be",
                              (unsigned long long)frame->count, (unsigned long long)frame->payload,
                              frame->scalars);
    return FPLT_OK;
}

fplt__digest fplt__frame_task(const uint8_t head[FPLT__FRAME_HEAD])
{
    const fplt__input inputs[] = {{head, 96}, {head + 160, FPLT__HASH}};
    return fplt__hash(inputs, 2);
}

uint64_t fplt__frame_body(const fplt__frame *frame)
{
    return 8 * (uint64_t)frame->scalars + frame->payload;
}

uint64_t fplt__frame_limit(uint64_t scalars, uint64_t numbers)
{
    return FPLT__FRAME_HEAD + 8 * scalars + 2 * blocks_of(numbers) + 16 * numbers;
}

fplt_status fplt__frame_check_digest(const fplt__frame *frame, const fplt__digest *digest,
                                     fplt_error *error)
{
    return fplt__same(digest, &frame->digest)
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_DATA,
                                "a frame whose content is not what its digest says");
}

fplt_status fplt__frame_check_body(const fplt__frame *frame, const void *body, size_t size,
                                   fplt_error *error)
{
    if (size != fplt__frame_body(frame))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a frame with %zu bytes behind its head, which says %llu", size,
                              (unsigned long long)fplt__frame_body(frame));
    fplt__digest digest = fplt__body_hash(body, size);
    return fplt__frame_check_digest(frame, &digest, error);
}

fplt_status fplt__frame_make(fplt__frame *frame, const double *scalars, const double *numbers,
                             const uint64_t *words, uint8_t **bytes, size_t *size,
                             fplt_error *error)
{
    size_t count = (size_t)frame->count, front = FPLT__FRAME_HEAD + 8 * (size_t)frame->scalars;
    frame->encoding = words ? FPLT__PACKED : FPLT__DOUBLES;
    frame->payload = words ? fplt__words_pack(words, count, NULL, 0) : 8 * count;
    *size = front + (size_t)frame->payload;
    fplt_status status = fplt__alloc_into(bytes, *size, 1, "a frame", error);
    if (status)
        return status;
    if (frame->scalars)
        fplt__put_reals(*bytes + FPLT__FRAME_HEAD, scalars, frame->scalars);
    if (words)
        fplt__words_pack(words, count, *bytes + front, (size_t)frame->payload);
    else if (count)
        fplt__put_reals(*bytes + front, numbers, count);
    frame->digest = fplt__body_hash(*bytes + FPLT__FRAME_HEAD, *size - FPLT__FRAME_HEAD);
    fplt__frame_write(frame, *bytes);
    return FPLT_OK;
}

fplt_status fplt__frame_list(fplt__frame *frame, const uint64_t *words,
                             const fplt__multiple *expected, uint8_t **bytes, size_t *size,
                             fplt_error *error)
{
    uint8_t *list;
    size_t listed, count = (size_t)frame->count, packed = fplt__words_pack(words, count, NULL, 0);
    if (frame->scalars || fplt__listed_pack(words, count, expected, packed, &list, &listed))
        return fplt__frame_make(frame, NULL, NULL, words, bytes, size, error);
    fplt_status status = fplt__frame_room(frame, listed, bytes, size, error);
    if (!status) {
        memcpy(*bytes + FPLT__FRAME_HEAD, list, listed);
        frame->encoding = FPLT__LISTED;
        fplt__frame_seal(frame, *bytes, *size);
    }
    fplt__free(list);
    return status;
}

fplt_status fplt__frame_room(fplt__frame *frame, size_t payload, uint8_t **bytes, size_t *size,
                             fplt_error *error)
{
    frame->encoding = FPLT__BYTES;
    frame->payload = payload;
    *size = FPLT__FRAME_HEAD + payload;
    return fplt__alloc_into(bytes, *size, 1, "a frame", error);
}

void fplt__frame_seal(fplt__frame *frame, uint8_t *bytes, size_t size)
{
    frame->digest = fplt__body_hash(bytes + FPLT__FRAME_HEAD, size - FPLT__FRAME_HEAD);
    fplt__frame_write(frame, bytes);
}

static fplt_status all_finite(const double *x, size_t count, fplt_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "number %zu of a frame is not finite, but all must be", i);
    return FPLT_OK;
}

fplt_status fplt__frame_scalars(const fplt__frame *frame, const void *body, double *scalars,
                                fplt_error *error)
{
    fplt__get_reals(body, scalars, frame->scalars);
    return all_finite(scalars, frame->scalars, error);
}

const void *fplt__frame_payload(const fplt__frame *frame, const void *body)
{
    return (const uint8_t *)body + 8 * (size_t)frame->scalars;
}

static fplt_status refuse_encoding(const fplt__frame *frame, fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA, "a frame of kind %s in encoding %u",
                          fplt__frame_kind_name(frame->kind), frame->encoding);
}

fplt_status fplt__frame_doubles(const fplt__frame *frame, const void *body, double *numbers,
                                fplt_error *error)
{
    if (frame->encoding != FPLT__DOUBLES)
        return refuse_encoding(frame, error);
    fplt__get_reals(fplt__frame_payload(frame, body), numbers, (size_t)frame->count);
    return all_finite(numbers, (size_t)frame->count, error);
}

fplt_status fplt__frame_words(const fplt__frame *frame, const void *body, uint64_t *words,
                              fplt_error *error)
{
    if (frame->encoding != FPLT__PACKED)
        return refuse_encoding(frame, error);
    return fplt__words_unpack(fplt__frame_payload(frame, body), (size_t)frame->payload, words,
                              (size_t)frame->count, error);
}

fplt_status fplt__frame_next(const uint8_t *bytes, size_t size, size_t *cursor, fplt__frame *frame,
                             const uint8_t **head, const uint8_t **body, fplt_error *error)
{
    size_t left = size - *cursor;
    frame->kind = 0;
    if (!left)
        return FPLT_OK;
    if (left < FPLT__FRAME_HEAD)
        return fplt_error_set(error, FPLT_BAD_DATA, "a frame is cut off after %zu bytes", left);
    *head = bytes + *cursor;
    *body = *head + FPLT__FRAME_HEAD;
    fplt_status status = fplt__frame_read(*head, frame, error);
    if (status)
        return status;
    uint64_t length = fplt__frame_body(frame);
    if (length > left - FPLT__FRAME_HEAD)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a frame is cut off: %zu bytes behind its head, which says %llu",
                              left - FPLT__FRAME_HEAD, (unsigned long long)length);
    *cursor += FPLT__FRAME_HEAD + (size_t)length;
    return fplt__frame_check_body(frame, *body, (size_t)length, error);
}
