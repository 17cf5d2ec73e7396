/* Any bytes as packed words: refused, or numbers that pack to the same bytes. The first two bytes are
 * how many numbers. */
#include "target.h"

#include <string.h>

#include "base/sum.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2)
        return 0;
    size_t count = bytes[0] + 256u * (bytes[1] & 7);
    fplt_error error = {FPLT_OK, ""};
    uint64_t *words = malloc(16 * count + 1);
    fplt_status status = fplt__words_unpack(bytes + 2, size - 2, words, count, &error);
    promise(!status || (status == FPLT_BAD_DATA && *error.text));
    if (!status) {
        uint8_t *again = malloc(size);
        promise(fplt__words_pack(words, count, again, size) == size - 2);
        promise(memcmp(again, bytes + 2, size - 2) == 0);
        free(again);
    }
    free(words);
    return 0;
}
