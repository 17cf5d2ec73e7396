/* Exact discrete Gaussian in integers: no number is rounded between the random bytes and the draw.
 *
 * A draw is X = deviation k + j with sign, k from exp(-k^2/2) by trials of exp(-1/2), j uniform
 * below the deviation, accepted with probability exp(-j (2 deviation k + j) / (2 deviation^2)): the
 * product of both is exp(-X^2 / (2 deviation^2)) [Karney, ACM TOMS 2016, algorithms D and N].
 * Trials of exp(-ratio) come from trials of ratios [Forsythe 1972; Canonne, Kamath and Steinke
 * 2020, algorithm 1], and a trial of a ratio compares it with a uniform number byte by byte until
 * they differ. The lattice and what it costs: [Theorem T on the lattice]. */
#include "base/noise.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sodium.h>

#include "base/memory.h"

enum { BLOCK = 8192 };

struct fplt_noise {
    fplt__noise_source source;
    void *context;  /* borrowed, of the source */
    uint64_t owner; /* of what is in the block */
    size_t used;
    unsigned char block[BLOCK];
};

/* A number that another process never shares: it lies in a page that the kernel wipes in the child of
 * a fork, whatever process numbers both have. Where the kernel cannot, a fork handler wipes it. */
static atomic_uint_fast64_t spare_mark, *mark = &spare_mark;
static pthread_once_t marked = PTHREAD_ONCE_INIT;

static void wipe_mark(void)
{
    atomic_store(mark, 0);
}

static void make_mark(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0)
        mark = page;
    else if (page != MAP_FAILED)
        munmap(page, size);
    pthread_atfork(NULL, NULL, wipe_mark);
}

uint64_t fplt__process_mark(void)
{
    uint_fast64_t found, fresh = 0;
    pthread_once(&marked, make_mark);
    if ((found = atomic_load(mark)))
        return found;
    while (!fresh)
        randombytes_buf(&fresh, sizeof fresh);
    return atomic_compare_exchange_strong(mark, &found, fresh) ? fresh : found;
}

static const double farthest = 0x1p52, widest = 0x1p28;

static void system_bytes(void *context, void *bytes, size_t count)
{
    (void)context;
    randombytes_buf(bytes, count);
}

fplt_status fplt__noise_create_from(fplt__noise_source source, void *context, fplt_noise **noise,
                                    fplt_error *error)
{
    if (!source && sodium_init() < 0) {
        *noise = NULL;
        return fplt_error_set(error, FPLT_FAILED, "libsodium could not be initialised");
    }
    fplt_status status = fplt__alloc_into(noise, 1, sizeof **noise, "the noise sampler", error);
    if (status)
        return status;
    if (!source)
        sodium_mlock(*noise,
                     sizeof **noise); /* where the limit allows it: never on a swap device */
    (*noise)->source = source ? source : system_bytes;
    (*noise)->context = context;
    (*noise)->owner = fplt__process_mark();
    (*noise)->used = BLOCK;
    return FPLT_OK;
}

fplt_status fplt_noise_create(fplt_noise **noise, fplt_error *error)
{
    return fplt__noise_create_from(NULL, NULL, noise, error);
}

void fplt_noise_destroy(fplt_noise *noise)
{
    if (!noise)
        return;
    sodium_munlock(noise, sizeof *noise); /* wipes */
    fplt__free(noise);
}

/* Bytes left over from before a fork are known to the other process as well. */
static void forget_after_fork(fplt_noise *noise)
{
    uint64_t now = fplt__process_mark();
    if (noise->owner != now) {
        sodium_memzero(noise->block, BLOCK);
        noise->used = BLOCK;
        noise->owner = now;
    }
}

static inline uint32_t take_byte(fplt_noise *noise)
{
    if (noise->used == BLOCK) {
        noise->source(noise->context, noise->block, BLOCK);
        noise->used = 0;
    }
    uint32_t byte = noise->block[noise->used];
    noise->block[noise->used++] = 0;
    return byte;
}

int fplt__noise_ratio(fplt_noise *noise, uint64_t numerator, uint64_t denominator)
{
    for (;;) {
        uint64_t scaled = numerator << 8, low = take_byte(noise) * denominator;
        if (low >= scaled)
            return 0;
        if (low + denominator <= scaled)
            return 1;
        numerator = scaled - low;
    }
}

/* ratio <= 1: the first k at which a trial of ratio/k fails is odd with probability exp(-ratio),
 * since P(k > j) = ratio^j / j!. A k that would leave the range of the product has a probability
 * below 2^-400000. */
static int small_exponential(fplt_noise *noise, uint64_t numerator, uint64_t denominator)
{
    uint64_t k = 1;
    while (fplt__noise_ratio(noise, numerator, denominator * k))
        k++;
    return (int)(k & 1);
}

int fplt__noise_exponential(fplt_noise *noise, uint64_t numerator, uint64_t denominator)
{
    for (; numerator > denominator; numerator -= denominator)
        if (!small_exponential(noise, 1, 1))
            return 0;
    return small_exponential(noise, numerator, denominator);
}

/* k >= 0 with weight exp(-k^2/2): k successes of exp(-1/2) before the first failure, kept with
 * probability exp(-k (k - 1) / 2). */
static int whole_part(fplt_noise *noise, uint64_t *k)
{
    uint64_t successes = 0;
    while (small_exponential(noise, 1, 2))
        successes++;
    *k = successes;
    for (uint64_t trial = successes * (successes - 1); trial > 0; trial--)
        if (!small_exponential(noise, 1, 2))
            return 0;
    return 1;
}

static int64_t draw(fplt_noise *noise, uint64_t deviation, uint64_t mask)
{
    for (;;) {
        uint64_t k, bits, j;
        if (!whole_part(noise, &k))
            continue;
        do {
            bits = take_byte(noise);
            bits = bits << 8 | take_byte(noise);
            bits = bits << 8 | take_byte(noise);
            j = bits & mask;
        } while (j >= deviation);
        if (!fplt__noise_exponential(noise, j * (2 * deviation * k + j), 2 * deviation * deviation))
            continue;
        int64_t size = (int64_t)(deviation * k + j);
        int negative = (int)(bits >> 23);
        if (negative && size == 0)
            continue; /* zero has one sign only */
        return negative ? -size : size;
    }
}

void fplt__noise_draw_deviation(fplt_noise *noise, uint32_t deviation, int64_t *out, size_t count)
{
    uint64_t mask = 0;
    while (mask + 1 < deviation)
        mask = mask << 1 | 1;
    forget_after_fork(noise);
    for (size_t i = 0; i < count; i++)
        out[i] = draw(noise, deviation, mask);
}

void fplt__noise_draw(fplt_noise *noise, int64_t *out, size_t count)
{
    fplt__noise_draw_deviation(noise, (uint32_t)FPLT_NOISE_SCALE, out, count);
}

double fplt__noise_spacing(double step, double noise_tau)
{
    return sqrt(2 * step) * noise_tau / FPLT_NOISE_SCALE;
}

static fplt_status legal_spacing(double step, double noise_tau, fplt_error *error)
{
    double spacing = fplt__noise_spacing(step, noise_tau);
    if (step > 0 && noise_tau > 0 && isnormal(spacing) && isfinite(spacing * farthest))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "step is %g and noise_tau %g, but both must be above 0 and finite, and "
                          "so must be sqrt(2 step) noise_tau / 2^20",
                          step, noise_tau);
}

fplt_status fplt__noise_add(fplt_noise *noise, double step, double noise_tau, const double *mean,
                            double *out, size_t count, fplt_error *error)
{
    fplt_status status = legal_spacing(step, noise_tau, error);
    if (status)
        return status;
    double spacing = fplt__noise_spacing(step, noise_tau);
    forget_after_fork(noise);
    for (size_t i = 0; i < count; i++) {
        if (isnan(mean[i]))
            return fplt_error_set(error, FPLT_DIVERGED,
                                  "coordinate %zu of the local step is not a number", i);
        double units = fmin(fmax(mean[i] / spacing, -farthest), farthest);
        int64_t x = draw(noise, (uint64_t)FPLT_NOISE_SCALE, (uint64_t)FPLT_NOISE_SCALE - 1);
        out[i] = spacing * (double)(llround(units) + x);
    }
    return FPLT_OK;
}

fplt_status fplt__noise_lattice_admit(double step, double noise_tau, const char *what,
                                      const double *vector, size_t count, fplt_error *error)
{
    fplt_status status = legal_spacing(step, noise_tau, error);
    if (status)
        return status;
    double limit = widest * sqrt(2 * step) * noise_tau;
    for (size_t i = 0; i < count; i++)
        if (!(fabs(vector[i]) <= limit))
            return fplt_error_set(error, FPLT_DIVERGED,
                                  "coordinate %zu of %s is %g; beyond %g the noise could not hide "
                                  "rounding errors",
                                  i, what, vector[i], limit);
    return FPLT_OK;
}
