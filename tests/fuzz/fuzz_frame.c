/* Any bytes as an answer of frames: refused with a sentence, or whole, and then written the same. */
#include "target.h"

#include <string.h>

#include "base/memory.h"
#include "wire/frame.h"

static void look(const fplt__frame *frame, const uint8_t *head, const uint8_t *body)
{
    fplt_error error = {FPLT_OK, ""};
    uint8_t again[FPLT__FRAME_HEAD];
    fplt__frame_write(frame, again);
    promise(memcmp(again, head, sizeof again) == 0);
    promise(FPLT__FRAME_HEAD + fplt__frame_body(frame) <=
            fplt__frame_limit(frame->scalars, frame->count));
    double *scalars = malloc(8 * (size_t)frame->scalars + 8);
    uint64_t *numbers = malloc(16 * (size_t)frame->count + 16);
    fplt_status status = fplt__frame_scalars(frame, body, scalars, &error);
    if (!status)
        status = frame->encoding == FPLT__PACKED
                     ? fplt__frame_words(frame, body, numbers, &error)
                     : fplt__frame_doubles(frame, body, (double *)(void *)numbers, &error);
    promise(!status || *error.text);
    free(scalars);
    free(numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__frame frame;
    const uint8_t *head, *body;
    size_t cursor = 0;
    /* random bytes have no right digest, so the first frame is given one */
    if (size >= FPLT__FRAME_HEAD && !fplt__frame_read(bytes, &frame, &error)) {
        uint8_t *copy = malloc(size);
        memcpy(copy, bytes, size);
        uint64_t length = fplt__frame_body(&frame);
        if (length <= size - FPLT__FRAME_HEAD) {
            frame.digest = fplt__body_hash(bytes + FPLT__FRAME_HEAD, (size_t)length);
            fplt__frame_write(&frame, copy);
        }
        while (cursor < size) {
            fplt_status status =
                fplt__frame_next(copy, size, &cursor, &frame, &head, &body, &error);
            promise(!status || *error.text);
            if (status)
                break;
            look(&frame, head, body);
        }
        free(copy);
    }
    return 0;
}
