/* Numbers from the bytes of an input, and messages of the federation that are changed by them: a byte, the length, or one
 * field of a frame or a report, whose digest is then right again. */
#ifndef FPLT_TESTS_FUZZ_LIES_H
#define FPLT_TESTS_FUZZ_LIES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../simulator/disk.h"
#include "base/memory.h"
#include "wire/frame.h"
#include "wire/message.h"

enum { NUMBERS = 64 }; /* of a frame that is changed or made, at most */

static struct input {
    const uint8_t *at, *end;
} input;

static inline unsigned next(void)
{
    return input.at < input.end ? *input.at++ : 0;
}

/* Numbers at which things change, and small ones. */
static inline uint64_t number(void)
{
    static const uint64_t odd[] = {UINT64_C(1) << 31, UINT32_MAX,        UINT64_C(1) << 32,
                                   UINT64_C(1) << 40, UINT64_C(1) << 60, UINT64_C(1) << 62,
                                   UINT64_C(1) << 63, UINT64_MAX,        UINT64_MAX - 1,
                                   INT64_MAX,         UINT64_C(1) << 53};
    unsigned byte = next();
    return byte < 240 ? byte % 8 : odd[(byte - 240) % (sizeof odd / sizeof *odd)];
}

static inline double real(void)
{
    static const double odd[] = {0, 1, -0.25, 1e300, -1e300, 0x1p60, -0x1p62, 5e-324, 1e-9};
    unsigned byte = next();
    return byte == 255 ? NAN : byte == 254 ? INFINITY : odd[byte % (sizeof odd / sizeof *odd)];
}

/* A frame from `bytes` with one field changed and its digest right again; 0: it is as it was. */
static inline int change_frame(blob *body)
{
    fplt__frame frame;
    fplt_error error;
    uint64_t words[2 * NUMBERS] = {0};
    double scalars[NUMBERS] = {0}, numbers[NUMBERS] = {0};
    if (body->size < FPLT__FRAME_HEAD || fplt__frame_read(body->at, &frame, &error))
        return 0;
    const uint8_t *content = (const uint8_t *)body->at + FPLT__FRAME_HEAD;
    size_t whole = FPLT__FRAME_HEAD + (size_t)fplt__frame_body(&frame), made_size;
    int packed = frame.encoding == FPLT__PACKED;
    if (whole > body->size || frame.count > NUMBERS || frame.scalars > NUMBERS ||
        (packed ? fplt__frame_words(&frame, content, words, &error)
                : fplt__frame_doubles(&frame, content, numbers, &error)) ||
        fplt__frame_scalars(&frame, content, scalars, &error))
        return 0;
    switch (next() % 15) {
    case 0: frame.kind = (uint8_t)(next() % 16); break;
    case 1: frame.exchange = (uint8_t)number(); break;
    case 2: frame.incarnation = (uint32_t)number(); break;
    case 3: frame.member_index = (uint32_t)number(); break;
    case 4: frame.round = number(); break;
    case 5: frame.cohort = (uint32_t)number(); break;
    case 6: frame.position = (uint32_t)number(); break;
    case 7: frame.version = number(); break;
    case 8: frame.count = next() % (NUMBERS + 1); break;
    case 9: frame.scalars = next() % (NUMBERS + 1); break;
    case 10: frame.chain.byte[0] ^= (uint8_t)(1 + next()); break;
    case 11: frame.task.byte[1] ^= (uint8_t)(1 + next()); break;
    case 12: frame.plan.byte[2] ^= (uint8_t)(1 + next()); break;
    case 13: words[next() % (2 * NUMBERS)] = number(); break;
    default: numbers[next() % NUMBERS] = real();
    }
    uint8_t *made;
    if (fplt__frame_make(&frame, scalars, packed ? NULL : numbers, packed ? words : NULL, &made,
                         &made_size, &error))
        return 0;
    size_t behind = body->size - whole;
    blob changed = blob_copy(NULL, made_size + behind);
    memcpy(changed.at, made, made_size);
    memcpy((uint8_t *)changed.at + made_size, (const uint8_t *)body->at + whole, behind);
    fplt__free(made);
    free(body->at);
    *body = changed;
    return 1;
}

static inline int change_report(blob *body)
{
    fplt__report report;
    fplt_error error;
    char *text;
    if (fplt__report_read(body->at, body->size, &report, &error))
        return 0;
    switch (next() % 10) {
    case 0: report.incarnation = (uint32_t)number(); break;
    case 1: report.version = number(); break;
    case 2: report.chain.byte[3] ^= (uint8_t)(1 + next()); break;
    case 3: report.has_staged = !report.has_staged; break;
    case 4: report.staged.round = number(); break;
    case 5: report.staged.digest.byte[4] ^= (uint8_t)(1 + next()); break;
    case 6: report.has_enrolled = !report.has_enrolled; break;
    case 7: report.enrolled.incarnation = (uint32_t)number(); break;
    case 8: report.proof.round = number(); break;
    default:
        report.has_trouble = 1;
        report.trouble.round = number();
        snprintf(report.trouble.word, sizeof report.trouble.word, "%s",
                 (const char *[]){"diverged", "spent", "failed", FPLT__NO_ANSWER}[next() % 4]);
        snprintf(report.trouble.sentence, sizeof report.trouble.sentence, "trouble");
    }
    if (fplt__report_text(&report, &text, &error))
        return 0;
    blob_set(body, text, strlen(text));
    fplt__free(text);
    return 1;
}

static inline void change_byte(blob *body)
{
    if (body->size)
        ((uint8_t *)body->at)[(next() * 256 + next()) % body->size] = (uint8_t)next();
}

static inline void change(blob *body)
{
    unsigned how = next() % 4;
    if (how == 0)
        change_byte(body);
    else if (how == 1)
        body->size -= next() % (body->size + 1);
    else if (!change_frame(body) && !change_report(body))
        change_byte(body);
}

/* A frame with numbers of the input behind what is there. */
static inline void add_frame(blob *to, fplt__frame *frame)
{
    double numbers[NUMBERS], scalars[NUMBERS];
    fplt_error error;
    uint8_t *bytes;
    size_t size;
    for (unsigned k = 0; k < NUMBERS; k++)
        numbers[k] = real(), scalars[k] = real();
    if (fplt__frame_make(frame, scalars, numbers, NULL, &bytes, &size, &error))
        return;
    blob joined = blob_copy(NULL, to->size + size);
    if (to->size)
        memcpy(joined.at, to->at, to->size);
    memcpy((uint8_t *)joined.at + to->size, bytes, size);
    fplt__free(bytes);
    free(to->at);
    *to = joined;
}

#endif
