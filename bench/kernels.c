/* How fast a gradient of the logistic cost is, as ratios measured in one run: against two OpenBLAS
 * products with libm's exp between them, against a plain loop, and out of the cache against reading
 * the data once, and with rows kept as floats. Arguments: kernels to measure (default: all that the machine has). */
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fedplt/data.h"
#include "fedplt/objective.h"
#include "figure.h"
#include "linalg/kernel.h"
#include "timing.h"

enum { REPEATS = 31, THREADS = 2 };

struct bench {
    size_t rows, columns;
    double *a, *label, *x, *margins, *gradient; /* a row-major */
    fplt_objective *objective[4];
    const char *name[4];
    double bytes[4]; /* resident that each has taken */
    size_t kernels;
    double *scratch;
};

static uint64_t seed = 88172645463325252u;

/* xorshift: fast filling of 800 MB matters here, quality does not */
static double number(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(int64_t)seed * 0x1p-63;
}

static void *room(size_t count, size_t size)
{
    void *memory = aligned_alloc(64, (count * size + 63) / 64 * 64);
    if (!memory) {
        fprintf(stderr, "no memory for %zu x %zu bytes\n", count, size);
        exit(1);
    }
    return memory;
}

static void must(fplt_status status, const fplt_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static double resident(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    if (file)
        fclose(file);
    return 1024 * kilobytes;
}

/* `precisions`: one a kernel, or NULL. */
static void prepare(struct bench *b, size_t rows, size_t columns, uint32_t agents,
                    const char *const *names, const char *const *precisions, size_t kernels)
{
    fplt_error error;
    memset(b, 0, sizeof *b);
    b->rows = rows;
    b->columns = columns;
    b->a = room(rows * columns, sizeof(double));
    b->label = room(rows, sizeof(double));
    b->x = room(columns, sizeof(double));
    b->margins = room(rows, sizeof(double));
    b->gradient = room(columns * THREADS + 64, sizeof(double));
    for (size_t i = 0; i < rows * columns; i++)
        b->a[i] = number();
    for (size_t i = 0; i < rows; i++)
        b->label[i] = number() > 0 ? 1 : -1;
    for (size_t i = 0; i < columns; i++)
        b->x[i] = number();
    size_t share[THREADS] = {rows / agents, rows - rows / agents};
    if (agents == 1)
        share[0] = rows;
    fplt_rows view = {.count = rows, .features = columns, .dense = b->a, .label = b->label};
    fplt_dataset *data;
    must(fplt_dataset_from_rows(&view, FPLT_TASK_BINARY, share, agents, &data, &error), &error);
    size_t scratch = 1;
    for (size_t k = 0; k < kernels; k++) {
        fplt_objective_settings settings = fplt_objective_defaults();
        settings.kernel = names[k];
        settings.precision = precisions ? precisions[k] : NULL;
        double before = resident();
        must(fplt_objective_create(&settings, data, &b->objective[k], &error), &error);
        b->bytes[k] = resident() - before;
        b->name[k] = names[k];
        if (fplt_objective_scratch(b->objective[k]) > scratch)
            scratch = fplt_objective_scratch(b->objective[k]);
    }
    b->kernels = kernels;
    b->scratch = room(2 * scratch + 64, sizeof(double));
    fplt_dataset_destroy(data);
}

static void discard(struct bench *b)
{
    for (size_t k = 0; k < b->kernels; k++)
        fplt_objective_destroy(b->objective[k]);
    free(b->a);
    free(b->label);
    free(b->x);
    free(b->margins);
    free(b->gradient);
    free(b->scratch);
}

static void by_blas(struct bench *b)
{
    int rows = (int)b->rows, columns = (int)b->columns;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, 1, b->a, columns, b->x, 1, 0,
                b->margins, 1);
    for (size_t r = 0; r < b->rows; r++)
        b->margins[r] = -b->label[r] / (1 + exp(b->label[r] * b->margins[r]));
    memcpy(b->gradient, b->x, b->columns * sizeof *b->x);
    cblas_dgemv(CblasRowMajor, CblasTrans, rows, columns, 1.0 / (double)rows, b->a, columns,
                b->margins, 1, 0.5, b->gradient, 1);
}

static void by_loop(struct bench *b)
{
    memset(b->gradient, 0, b->columns * sizeof *b->gradient);
    for (size_t r = 0; r < b->rows; r++) {
        const double *row = b->a + r * b->columns;
        double margin = 0;
        for (size_t j = 0; j < b->columns; j++)
            margin += row[j] * b->x[j];
        double slope = -b->label[r] / (1 + exp(b->label[r] * margin));
        for (size_t j = 0; j < b->columns; j++)
            b->gradient[j] += slope * row[j];
    }
    for (size_t j = 0; j < b->columns; j++)
        b->gradient[j] = b->gradient[j] / (double)b->rows + 0.5 * b->x[j];
}

static void by_kernel(struct bench *b, size_t kernel)
{
    fplt_objective_gradient(b->objective[kernel], 0, b->x, b->gradient, b->scratch);
}

/* candidate 0: BLAS, 1: loop, 2 and on: kernels; seconds a call */
static double measure(struct bench *b, size_t candidate, size_t calls)
{
    double start = seconds();
    for (size_t i = 0; i < calls; i++) {
        if (candidate == 0)
            by_blas(b);
        else if (candidate == 1)
            by_loop(b);
        else
            by_kernel(b, candidate - 2);
    }
    return (seconds() - start) / (double)calls;
}

static void in_cache(size_t rows, size_t columns, const char *const *names, size_t kernels)
{
    struct bench b;
    prepare(&b, rows, columns, 1, names, NULL, kernels);
    size_t calls = 2 + 4000000 / (rows * (columns + 20));
    double times[6][REPEATS], typical[6] = {0};
    for (size_t t = 0; t < REPEATS; t++)
        for (size_t c = 0; c < kernels + 2; c++)
            times[c][t] = measure(&b, c, calls);
    for (size_t c = 0; c < kernels + 2; c++)
        typical[c] = median(times[c], REPEATS);
    printf("%9zu %5zu  %-10s %10.3f us\n", rows, columns, "blas", 1e6 * typical[0]);
    printf("%9zu %5zu  %-10s %10.3f us\n", rows, columns, "loop", 1e6 * typical[1]);
    for (size_t c = 2; c < kernels + 2; c++)
        printf("%9zu %5zu  %-10s %10.3f us  %6.2f times blas  %6.2f times the loop\n", rows,
               columns, names[c - 2], 1e6 * typical[c], typical[0] / typical[c],
               typical[1] / typical[c]);
    discard(&b);
}

/* Out of the cache, on all threads: the data is read once at the best possible speed. */

struct job {
    struct bench *bench;
    size_t thread, candidate; /* 0: read, plainly; 1: read, four streams by vectors; 2: gradient */
    const fplt__kernel *kernel;
    double sum;
};

static double read_all(const double *a, size_t count)
{
    double sum[32] = {0}, all = 0;
    size_t i = 0;
    for (; i + 32 <= count; i += 32)
        for (size_t k = 0; k < 32; k++)
            sum[k] += a[i + k];
    for (size_t k = 0; k < 32; k++)
        all += sum[k];
    return all;
}

/* Four places at once: more requests under way than one stream has. */
static double read_streams(const fplt__kernel *kernel, const double *a, size_t count)
{
    double sum = 0;
    size_t quarter = count / 4;
    for (size_t i = 0; i + 512 <= quarter; i += 512)
        for (size_t k = 0; k < 4; k++)
            sum += kernel->dot(a + k * quarter + i, a + k * quarter + i, 512);
    return sum;
}

static void *run_job(void *argument)
{
    struct job *job = argument;
    struct bench *b = job->bench;
    size_t half = b->rows / THREADS * b->columns;
    const double *own = b->a + job->thread * half;
    fplt_objective *o = b->objective[0];
    if (job->candidate == 0)
        job->sum = read_all(own, half);
    else if (job->candidate == 1)
        job->sum = read_streams(job->kernel, own, half);
    else
        fplt_objective_gradient(o, (uint32_t)job->thread, b->x,
                                b->gradient + job->thread * b->columns,
                                b->scratch + job->thread * fplt_objective_scratch(o));
    return NULL;
}

static double together(struct bench *b, size_t candidate, const fplt__kernel *kernel)
{
    pthread_t thread[THREADS];
    struct job job[THREADS];
    double start = seconds();
    for (size_t t = 0; t < THREADS; t++) {
        job[t] = (struct job){b, t, candidate, kernel, 0};
        pthread_create(&thread[t], NULL, run_job, &job[t]);
    }
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    return seconds() - start;
}

static void out_of_cache(size_t rows, size_t columns, const char *const *names, size_t kernels)
{
    enum { TURNS = 15 };
    for (size_t k = 0; k < kernels; k++) { /* one copy of the data at a time */
        struct bench b;
        fplt_error error;
        const fplt__kernel *kernel;
        double times[3][TURNS], typical[3], blas[3];
        must(fplt__kernel_choose(names[k], NULL, &kernel, &error), &error);
        prepare(&b, rows, columns, THREADS, names + k, NULL, 1);
        for (size_t t = 0; t < TURNS; t++)
            for (size_t c = 0; c < 3; c++)
                times[c][t] = together(&b, c, kernel);
        for (size_t t = 0; t < 3; t++)
            blas[t] = measure(&b, 0, 1);
        for (size_t c = 0; c < 3; c++)
            typical[c] = median(times[c], TURNS);
        double gigabytes = 8e-9 * (double)(rows * columns);
        printf("%9zu %5zu  %-10s %10.0f us  %6.2f times blas on one thread; %.2f of the time of "
               "reading once plainly (%.1f GB/s), %.2f by streams (%.1f GB/s)\n",
               rows, columns, names[k], 1e6 * typical[2], median(blas, 3) / typical[2],
               typical[2] / typical[0], gigabytes / typical[0], typical[2] / typical[1],
               gigabytes / typical[1]);
        char what[100];
        snprintf(what, sizeof what,
                 "logistic gradient out of the cache, n = %zu, %s, against reading", columns,
                 names[k]);
        if (k == 0) /* the kernel that is chosen here */
            figure(what, typical[2] / typical[1], "times", AT_MOST, 1.4);
        discard(&b);
    }
}

/* Rows kept as floats beside the same as doubles, on one thread, in turn. */
static void narrow_rows(size_t rows, size_t columns, const char *name)
{
    enum { TURNS = 15 };
    struct bench b;
    const char *const names[2] = {name, name}, *const precisions[2] = {"double", "float32"};
    double times[2][TURNS], typical[2];
    prepare(&b, rows, columns, 1, names, precisions, 2);
    for (size_t t = 0; t < TURNS; t++)
        for (size_t k = 0; k < 2; k++)
            times[k][t] = measure(&b, 2 + k, 1);
    for (size_t k = 0; k < 2; k++) {
        typical[k] = median(times[k], TURNS);
        printf("%9zu %5zu  %-10s %10.0f us  as %s, %.0f MB\n", rows, columns, name,
               1e6 * typical[k], precisions[k], 1e-6 * b.bytes[k]);
    }
    char what[100];
    snprintf(what, sizeof what, "logistic gradient out of the cache, n = %zu, %s, float32", columns,
             name);
    figure(what, typical[0] / typical[1], "times double's speed", AT_LEAST, 1.5);
    figure("memory of float32 rows with their labels", b.bytes[1] / b.bytes[0], "of double's",
           AT_MOST, 0.51);
    discard(&b);
}

int main(int count, char **arguments)
{
    const char *names[4];
    size_t kernels = 0;
    for (size_t i = 0; fplt__kernel_get(i); i++) {
        const fplt__kernel *kernel = fplt__kernel_get(i);
        int wanted = count < 2;
        for (int k = 1; k < count; k++)
            wanted |= strcmp(arguments[k], kernel->name) == 0;
        if (wanted && kernel->available())
            names[kernels++] = kernel->name;
    }
    printf("     rows cols  gradient by       time\n");
    in_cache(250, 5, names, kernels);
    in_cache(250, 100, names, kernels);
    in_cache(1000, 1000, names, kernels);
    out_of_cache(1000000, 100, names, kernels);
    if (kernels)
        narrow_rows(1000000, 100, names[0]); /* the kernel that is chosen here */
    return 0;
}
