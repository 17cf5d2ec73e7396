/* What masks cost. The agent: the masked upload of n numbers with N - 1 masks, beside a copy of as many bytes. The
 * coordinator: adding one masked upload, beside adding one plain (packed) update of the same numbers; without network. The
 * least of several repetitions. Numbers are those of a model: normal, so packed ones take about 8 bytes.
 *
 *     secagg [MEMBERSxNUMBERS ...] */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "secagg/mask.h"
#include "timing.h"

enum { REPEATS = 7 };

static double least(double before, double took)
{
    return took < before ? took : before;
}

static void *room(size_t size)
{
    void *at = calloc(size + 1, 1);
    if (!at)
        exit(2);
    return at;
}

struct costs {
    double masked, added, packed, copied; /* seconds */
    size_t plain;                         /* bytes of a packed update */
};

/* Words of normal numbers. */
static void make_words(uint64_t *words, size_t count)
{
    fplt__sum *sum;
    double *x = room(count * sizeof *x);
    uint64_t state = 1;
    if (fplt__sum_create(count, FPLT_SUM_EXPONENT, &sum, NULL))
        exit(2);
    for (size_t k = 0; k < count; k++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        x[k] = ldexp((double)(int64_t)state, -63);
    }
    if (fplt__sum_add(sum, 0, x, count))
        exit(2);
    fplt__sum_export(sum, 0, words, count);
    fplt__sum_destroy(sum);
    free(x);
}

static struct costs measure(uint32_t members, size_t count, unsigned width)
{
    struct costs costs = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL, 0};
    uint64_t *words = room(16 * count), *total = room(16 * count);
    uint8_t *payload = room(width * count), *packed = room(fplt__words_most(count));
    fplt__mask *mask = room(members * sizeof *mask);
    fplt__sum *sum;
    make_words(words, count);
    costs.plain = fplt__words_pack(words, count, packed, fplt__words_most(count));
    if (fplt__sum_create_words(count, FPLT_SUM_EXPONENT, &sum, NULL))
        exit(2);
    for (uint32_t m = 0; m < members; m++) {
        memcpy(mask[m].seed, &m, sizeof m);
        mask[m].sign = m % 2 ? 1 : -1;
    }
    for (int k = 0; k < REPEATS; k++) {
        double start = seconds();
        fplt__mask_words(mask, members - 1, words, count, width, payload);
        costs.masked = least(costs.masked, seconds() - start);
        start = seconds();
        fplt__mask_add(total, payload, count, width);
        costs.added = least(costs.added, seconds() - start);
        start = seconds();
        if (fplt__sum_add_packed(sum, 0, packed, costs.plain, count, NULL))
            exit(2);
        costs.packed = least(costs.packed, seconds() - start);
        start = seconds();
        memcpy(total, payload, width * count);
        costs.copied = least(costs.copied, seconds() - start);
    }
    fplt__sum_destroy(sum);
    free(words);
    free(total);
    free(payload);
    free(packed);
    free(mask);
    return costs;
}

static void show(uint32_t members, size_t count)
{
    for (unsigned width = 8; width <= 16; width += 8) {
        struct costs costs = measure(members, count, width);
        printf("%u members, %zu numbers of %u bytes: agent %.3f ms (%.2f ns a number and mask), "
               "coordinator %.3f ms an upload, plain %.3f ms; %zu bytes up, plain %zu\n",
               members, count, width, 1e3 * costs.masked,
               1e9 * costs.masked / ((double)(members - 1) * (double)count), 1e3 * costs.added,
               1e3 * costs.packed, width * count, costs.plain);
    }
}

int main(int count, char **arguments)
{
    static const char *const usual[] = {"4x10000", "100x10000", "100x1000000", "1000x10000"};
    if (sodium_init() < 0)
        return 1;
    for (int k = 0; k < (count > 1 ? count - 1 : 4); k++) {
        unsigned members;
        size_t numbers;
        const char *wanted = count > 1 ? arguments[k + 1] : usual[k];
        if (sscanf(wanted, "%ux%zu", &members, &numbers) != 2 || members < 2 || !numbers) {
            fprintf(stderr, "secagg: '%s' is not MEMBERSxNUMBERS, such as 100x10000\n", wanted);
            return 2;
        }
        show(members, numbers);
    }
    return 0;
}
