/* Listed words (listed.h). */
#include "base/listed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/words.h"

typedef fplt__wide wide;
__extension__ typedef unsigned __int128 unsigned_wide;

enum { HEAD = 16, BLOCK = 256, MAX_STEP = 5 /* bytes of 32 bits */, SHARE = 4 };

/* Of an expected number: 2^32 senders of them stay within the range of a sum. */
static const double most_expected = 0x1p28;

/* The grid's integer, low word first. */
static void words_of(double on_grid, uint64_t words[2])
{
    double units = ldexp(1, -FPLT_SUM_EXPONENT) * on_grid;
    wide value = fabs(units) < 0x1p62 ? (wide)(int64_t)units : (wide)units;
    words[0] = (uint64_t)value;
    words[1] = (uint64_t)((unsigned_wide)value >> 64);
}

static wide value_of(const uint64_t *words)
{
    return (wide)((unsigned_wide)words[1] << 64 | words[0]);
}

/* Writes factor x like[first ...] on the grid. */
static void multiply(const double *like, double factor, size_t count, double *product)
{
    for (size_t i = 0; i < count; i++)
        product[i] = factor * like[i];
    fplt__grid_round(product, count);
}

/* The expected numbers from `first` on, as integers; 0: one is too large. */
static int expect(const fplt__multiple *expected, size_t first, size_t count, uint64_t *words)
{
    double product[BLOCK];
    size_t known = first < expected->length ? expected->length - first : 0;
    known = known < count ? known : count;
    if (known) {
        multiply(expected->like + first, expected->factor, known, product);
        if (!fplt__all_below(product, known, most_expected))
            return 0;
    }
    for (size_t i = 0; i < known; i++)
        words_of(product[i], words + 2 * i);
    memset(words + 2 * known, 0, 2 * (count - known) * sizeof *words);
    return 1;
}

/* A list in the making: at most a quarter of the numbers. */
struct list {
    uint32_t *at;
    uint64_t *words; /* differences */
    size_t count, room;
};

static int list_block(const uint64_t *words, const uint64_t *expected, size_t first, size_t count,
                      struct list *list)
{
    for (size_t i = 0; i < count; i++) {
        if (words[2 * i] == expected[2 * i] && words[2 * i + 1] == expected[2 * i + 1])
            continue;
        if (list->count == list->room)
            return 0;
        wide difference = value_of(words + 2 * i) - value_of(expected + 2 * i);
        list->at[list->count] = (uint32_t)(first + i);
        list->words[2 * list->count] = (uint64_t)difference;
        list->words[2 * list->count + 1] = (uint64_t)((unsigned_wide)difference >> 64);
        list->count++;
    }
    return 1;
}

static size_t write_steps(const struct list *list, uint8_t *to)
{
    size_t used = 0;
    uint32_t next = 0;
    for (size_t k = 0; k < list->count; k++) {
        uint32_t step = list->at[k] - next;
        for (; step >= 128; step >>= 7, used++)
            if (to)
                to[used] = (uint8_t)(step | 128);
        if (to)
            to[used] = (uint8_t)step;
        used++;
        next = list->at[k] + 1;
    }
    return used;
}

static fplt_status write_list(const struct list *list, double factor, size_t packed,
                              uint8_t **bytes, size_t *size)
{
    size_t steps = write_steps(list, NULL);
    size_t numbers = fplt__words_pack(list->words, list->count, NULL, 0);
    *size = HEAD + steps + numbers;
    if (*size >= packed)
        return FPLT_UNSUPPORTED;
    fplt_status status = fplt__alloc_into(bytes, *size, 1, "a list", NULL);
    if (status)
        return status;
    fplt__put_reals(*bytes, &factor, 1);
    fplt__put64(*bytes + 8, list->count);
    write_steps(list, *bytes + HEAD);
    fplt__words_pack(list->words, list->count, *bytes + HEAD + steps, numbers);
    return FPLT_OK;
}

fplt_status fplt__listed_pack(const uint64_t *words, size_t count, const fplt__multiple *expected,
                              size_t packed, uint8_t **bytes, size_t *size)
{
    struct list list = {.room = count / SHARE};
    uint64_t block[2 * BLOCK];
    *bytes = NULL;
    if (count > UINT32_MAX || !isfinite(expected->factor))
        return FPLT_UNSUPPORTED;
    fplt_status status = fplt__alloc_into(&list.at, list.room, sizeof *list.at, "a list", NULL);
    if (!status)
        status = fplt__alloc_into(&list.words, 2 * list.room, sizeof *list.words, "a list", NULL);
    for (size_t first = 0; first < count && !status; first += BLOCK) {
        size_t some = count - first < BLOCK ? count - first : BLOCK;
        if (!expect(expected, first, some, block) ||
            !list_block(words + 2 * first, block, first, some, &list))
            status = FPLT_UNSUPPORTED;
    }
    if (!status)
        status = write_list(&list, expected->factor, packed, bytes, size);
    fplt__free(list.at);
    fplt__free(list.words);
    return status;
}

/* A list that is read: the places and the differences, each up to where it was read. */
struct reading {
    const uint8_t *bytes;
    size_t size, count; /* of all numbers */
    size_t listed;
    size_t step;        /* where the next place is */
    size_t differences; /* where they begin */
    size_t used;        /* where the next of them is */
    uint64_t next;      /* the place behind the last one */
};

static void begin_reading(struct reading *reading)
{
    reading->step = HEAD;
    reading->used = reading->differences;
    reading->next = 0;
}

/* The next place; 0: there is none below `count`, or the step is not in its shortest form. */
static int read_place(struct reading *reading, size_t *place)
{
    uint64_t step = 0;
    unsigned length = 0;
    uint8_t byte = 128;
    for (; byte & 128; length++) {
        if (length == MAX_STEP || reading->step == reading->size)
            return 0;
        byte = reading->bytes[reading->step++];
        step |= (uint64_t)(byte & 127) << (7 * length);
    }
    if ((length > 1 && !byte) || reading->next + step >= reading->count)
        return 0;
    *place = (size_t)(reading->next + step);
    reading->next = *place + 1;
    return 1;
}

fplt_status fplt__listed_factor(const void *bytes, size_t size, double *factor, fplt_error *error)
{
    if (size < HEAD)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "listed numbers: %zu bytes, but their head has %d", size, HEAD);
    fplt__get_reals(bytes, factor, 1);
    return FPLT_OK;
}

/* Whether all places are legal, and where the differences begin. */
static fplt_status open_list(struct reading *reading, fplt_error *error)
{
    uint64_t listed = reading->size >= HEAD ? fplt__get64(reading->bytes + 8) : UINT64_MAX;
    int legal = listed <= reading->count;
    size_t place;
    reading->listed = legal ? (size_t)listed : 0;
    reading->step = HEAD;
    reading->next = 0;
    for (size_t k = 0; k < reading->listed && legal; k++)
        legal = read_place(reading, &place);
    if (!legal)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "listed numbers: their places are cut off, not in their shortest "
                              "form or not below %zu",
                              reading->count);
    reading->differences = reading->step;
    return FPLT_OK;
}

static fplt_status add_difference(fplt__sum *sum, size_t place, const uint64_t *words, int sign,
                                  fplt_error *error)
{
    wide difference = sign * value_of(words);
    const uint64_t change[2] = {(uint64_t)difference, (uint64_t)((unsigned_wide)difference >> 64)};
    if (!difference)
        return fplt_error_set(error, FPLT_BAD_DATA, "listed numbers: one of them is as expected");
    fplt_status status = fplt__sum_add_words(sum, place, change, 1);
    return status ? fplt_error_set(error, status,
                                   "listed numbers: one of them or a total is out of range")
                  : FPLT_OK;
}

/* Adds the first `limit` differences, or takes them back. *done counts them. */
static fplt_status add_differences(struct reading *reading, fplt__sum *sum, size_t limit, int sign,
                                   size_t *done, fplt_error *error)
{
    uint64_t words[2 * FPLT__WORDS_BLOCK];
    fplt_status status = FPLT_OK;
    size_t place = 0, left = reading->listed;
    begin_reading(reading);
    for (*done = 0; *done < limit && !status;) {
        size_t some = left < FPLT__WORDS_BLOCK ? left : FPLT__WORDS_BLOCK;
        status =
            fplt__words_block(reading->bytes, reading->size, some, &reading->used, words, error);
        for (size_t i = 0; i < some && *done < limit && !status; i++) {
            read_place(reading, &place);
            status = add_difference(sum, place, words + 2 * i, sign, error);
            *done += !status;
        }
        left -= some;
    }
    return status;
}

fplt_status fplt__sum_add_listed(fplt__sum *sum, const void *bytes, size_t size, size_t count,
                                 fplt_error *error)
{
    struct reading reading = {.bytes = bytes, .size = size, .count = count};
    size_t done, undone;
    FPLT__ASSERT(count <= fplt__sum_length(sum));
    fplt_status status = open_list(&reading, error);
    if (status)
        return status;
    status = add_differences(&reading, sum, reading.listed, 1, &done, error);
    FPLT__ASSERT(status || done == reading.listed);
    if (!status)
        status = fplt__words_end(reading.used, size, reading.listed, error);
    if (status)
        add_differences(&reading, sum, done, -1, &undone, NULL);
    return status;
}

/* --- expected numbers --- */

struct fplt__multiples {
    size_t length, senders, count;
    double *like, *factor; /* owned */
    double most;           /* magnitude in `like` */
    fplt__sum *ones, *one; /* of a block: those of single senders, and one that several have */
};

fplt_status fplt__multiples_create(size_t length, size_t senders, fplt__multiples **out,
                                   fplt_error *error)
{
    const char *what = "expected numbers";
    fplt__multiples *multiples;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&multiples, 1, sizeof *multiples, what, error);
    if (status)
        return status;
    multiples->length = length;
    multiples->senders = senders;
    if ((status = fplt__alloc_into(&multiples->like, length, sizeof(double), what, error)) ||
        (status = fplt__alloc_into(&multiples->factor, senders, sizeof(double), what, error)) ||
        (status = fplt__sum_create(BLOCK, FPLT_SUM_EXPONENT, &multiples->ones, error)) ||
        (status = fplt__sum_create(BLOCK, FPLT_SUM_EXPONENT, &multiples->one, error))) {
        fplt__multiples_destroy(multiples);
        return status;
    }
    *out = multiples;
    return FPLT_OK;
}

void fplt__multiples_destroy(fplt__multiples *multiples)
{
    if (!multiples)
        return;
    fplt__free(multiples->like);
    fplt__free(multiples->factor);
    fplt__sum_destroy(multiples->ones);
    fplt__sum_destroy(multiples->one);
    fplt__free(multiples);
}

void fplt__multiples_clear(fplt__multiples *multiples)
{
    multiples->count = 0;
}

void fplt__multiples_begin(fplt__multiples *multiples, const double *like)
{
    multiples->count = 0;
    multiples->most = 0;
    for (size_t i = 0; i < multiples->length; i++) {
        multiples->like[i] = like ? like[i] : 0;
        multiples->most = fmax(multiples->most, fabs(multiples->like[i]));
    }
}

int fplt__multiples_fits(const fplt__multiples *multiples, double factor)
{
    return isfinite(factor) && fabs(factor) * multiples->most < most_expected &&
           multiples->count < multiples->senders;
}

void fplt__multiples_take(fplt__multiples *multiples, double factor)
{
    FPLT__ASSERT(fplt__multiples_fits(multiples, factor));
    multiples->factor[multiples->count++] = factor;
}

fplt_status fplt__multiples_receive(fplt__multiples *multiples, fplt__sum *sum, const void *bytes,
                                    size_t size, size_t count, fplt_error *error)
{
    double factor;
    fplt_status status = fplt__listed_factor(bytes, size, &factor, error);
    if (status)
        return status;
    if (!fplt__multiples_fits(multiples, factor))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "listed numbers: the expected ones are %g times the model, which is "
                              "too much",
                              factor);
    status = fplt__sum_add_listed(sum, bytes, size, count, error);
    if (!status)
        fplt__multiples_take(multiples, factor);
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Adds `times` the numbers of a block. */
static fplt_status add_times(const fplt__sum *block, size_t first, size_t count, size_t times,
                             fplt__sum *sum)
{
    uint64_t words[2 * BLOCK];
    fplt__sum_export(block, 0, words, count);
    for (size_t i = 0; i < count && times != 1; i++) {
        wide value = value_of(words + 2 * i) * (wide)times;
        words[2 * i] = (uint64_t)value;
        words[2 * i + 1] = (uint64_t)((unsigned_wide)value >> 64);
    }
    return fplt__sum_add_words(sum, first, words, count);
}

/* Factors are sorted. Those that several senders have are added by themselves. */
static fplt_status add_block_of(fplt__multiples *multiples, size_t first, size_t count,
                                fplt__sum *sum)
{
    double product[BLOCK];
    fplt_status status = FPLT_OK;
    fplt__sum_clear(multiples->ones);
    for (size_t k = 0, times; k < multiples->count && !status; k += times) {
        double factor = multiples->factor[k];
        for (times = 1; k + times < multiples->count && multiples->factor[k + times] == factor;)
            times++;
        for (size_t i = 0; i < count; i++)
            product[i] = factor * multiples->like[first + i];
        if (times > 1)
            fplt__sum_clear(multiples->one);
        status = fplt__sum_add(times > 1 ? multiples->one : multiples->ones, 0, product, count);
        if (!status && times > 1)
            status = add_times(multiples->one, first, count, times, sum);
    }
    return status ? status : add_times(multiples->ones, first, count, 1, sum);
}

fplt_status fplt__multiples_add(fplt__multiples *multiples, fplt__sum *sum)
{
    fplt_status status = FPLT_OK;
    FPLT__ASSERT(multiples->length <= fplt__sum_length(sum));
    qsort(multiples->factor, multiples->count, sizeof(double), compare);
    for (size_t first = 0; multiples->count && first < multiples->length && !status;
         first += BLOCK) {
        size_t left = multiples->length - first;
        status = add_block_of(multiples, first, left < BLOCK ? left : BLOCK, sum);
    }
    multiples->count = 0;
    return status;
}
