/* Any bytes as packed words: refused, or numbers that pack to the same bytes. The first two bytes are
 * how many numbers. The same bytes as listed words: refused, with the sum as it was, or a sum whose list is not longer. */
#include "target.h"

#include <string.h>

#include "base/listed.h"
#include "base/memory.h"
#include "base/sum.h"

static void add_list(const uint8_t *bytes, size_t size, size_t count)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__sum *sum = NULL;
    uint64_t *words = calloc(2 * count + 1, sizeof *words);
    promise(words && !fplt__sum_create_words(count, FPLT_SUM_EXPONENT, &sum, &error));
    fplt_status status = fplt__sum_add_listed(sum, bytes, size, count, &error);
    fplt__sum_export(sum, 0, words, count);
    if (status) {
        promise(*error.text != 0);
        for (size_t i = 0; i < 2 * count; i++)
            promise(words[i] == 0);
    } else {
        const fplt__multiple nothing = {NULL, 0, 0};
        uint8_t *again;
        size_t length;
        if (!fplt__listed_pack(words, count, &nothing, SIZE_MAX, &again, &length)) {
            promise(length == size &&
                    memcmp(again + 8, bytes + 8, size - 8) == 0); /* but for the factor */
            fplt__free(again);
        }
    }
    fplt__sum_destroy(sum);
    free(words);
}

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
    if (size >= 18)
        add_list(bytes + 2, size - 2, count);
    return 0;
}
