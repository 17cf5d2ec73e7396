/* Synthetic data. Agent i draws from a stream of its own, so that its rows do not depend on how
 * many other agents there are. The formulas stand in fedplt/data.h. */
#include "base/random.h"
#include "data/dataset.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "fedplt/random.h"
#include "data/dataset_access.h"

/* Streams that belong to no single agent differ from theirs by the round. */
enum { OF_AGENT = 0, COMMON = 1, ROW_COUNTS = 2 };

static fplt_stream stream_for(const fplt_generate_settings *settings, uint64_t round,
                              uint64_t agent)
{
    return fplt_stream_make(settings->seed, settings->run, FPLT_FOR_DATA, round, agent, 0);
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/* b = +-1 evenly, a = b mean + N(0, I). */
static void two_clouds(fplt_stream *stream, const double *mean, size_t rows, size_t n,
                       double *dense, double *label)
{
    for (size_t r = 0; r < rows; r++) {
        double b = fplt__stream_bits(stream) >> 63 ? 1 : -1;
        label[r] = b;
        for (size_t j = 0; j < n; j++)
            dense[r * n + j] = b * mean[j] + fplt_stream_normal(stream);
    }
}

static void fill_paper(const fplt_generate_settings *settings, uint32_t agent, size_t rows,
                       double *dense, double *label, double *scratch)
{
    fplt_stream stream = stream_for(settings, OF_AGENT, agent);
    fplt__stream_normals(&stream, settings->spread, scratch, settings->features);
    two_clouds(&stream, scratch, rows, settings->features, dense, label);
}

static void fill_iid(const fplt_generate_settings *settings, uint32_t agent, size_t rows,
                     double *dense, double *label, double *scratch)
{
    fplt_stream common = stream_for(settings, COMMON, 0);
    fplt_stream stream = stream_for(settings, OF_AGENT, agent);
    fplt__stream_normals(&common, settings->spread, scratch, settings->features);
    two_clouds(&stream, scratch, rows, settings->features, dense, label);
}

static double logistic(fplt_stream *stream)
{
    double u = fplt_stream_uniform(stream);
    return log(u / (1 - u));
}

static double gumbel(fplt_stream *stream)
{
    return -log(-log(fplt_stream_uniform(stream)));
}

static double planted_label(const fplt_generate_settings *settings, const double *row,
                            const double *truth, fplt_stream *stream)
{
    size_t n = settings->features;
    if (settings->task == FPLT_TASK_REGRESSION)
        return dot(row, truth, n) + settings->noise * fplt_stream_normal(stream);
    if (settings->task == FPLT_TASK_BINARY)
        return dot(row, truth, n) + settings->noise * logistic(stream) >= 0 ? 1 : -1;
    uint32_t best = 0;
    double highest = -HUGE_VAL;
    for (uint32_t c = 0; c < settings->classes; c++) {
        double score = dot(row, truth + c * n, n) + settings->noise * gumbel(stream);
        if (score > highest) {
            highest = score;
            best = c;
        }
    }
    return best;
}

static uint32_t planted_vectors(const fplt_generate_settings *settings)
{
    return settings->task == FPLT_TASK_CLASSES ? settings->classes : 1;
}

static void fill_planted(const fplt_generate_settings *settings, uint32_t agent, size_t rows,
                         double *dense, double *label, double *scratch)
{
    size_t n = settings->features;
    fplt_stream common = stream_for(settings, COMMON, 0);
    fplt_stream stream = stream_for(settings, OF_AGENT, agent);
    fplt__stream_normals(&common, 1, scratch, n * planted_vectors(settings));
    for (size_t r = 0; r < rows; r++) {
        fplt__stream_normals(&stream, 1, dense + r * n, n);
        label[r] = planted_label(settings, dense + r * n, scratch, &stream);
    }
}

/* Orthonormal columns from normal ones: Gram-Schmidt, twice, which is enough for working precision
 * [Giraud, Langou, Rozloznik 2005]. Columns are `length` numbers each. */
static void orthonormal(fplt_stream *stream, double *columns, size_t count, size_t length)
{
    fplt__stream_normals(stream, 1, columns, count * length);
    for (size_t c = 0; c < count; c++) {
        double *column = columns + c * length;
        for (int pass = 0; pass < 2; pass++) {
            for (size_t before = 0; before < c; before++) {
                const double *other = columns + before * length;
                double part = dot(column, other, length);
                for (size_t j = 0; j < length; j++)
                    column[j] -= part * other[j];
            }
            double norm = sqrt(dot(column, column, length));
            for (size_t j = 0; j < length; j++)
                column[j] /= norm;
        }
    }
}

/* A = sqrt(q) U diag(sqrt(lambda)) V' with U, V orthonormal, so A'A/q = V diag(lambda) V'. The
 * inner eigenvalues are spread log-uniformly between the two ends. */
static void fill_quadratic(const fplt_generate_settings *settings, uint32_t agent, size_t rows,
                           double *dense, double *label, double *scratch)
{
    size_t n = settings->features;
    double *minimiser = scratch, *root = minimiser + n, *v = root + n, *u = v + n * n;
    double low = settings->lowest, high = settings->highest;
    fplt_stream stream = stream_for(settings, OF_AGENT, agent);
    fplt__stream_normals(&stream, settings->spread, minimiser, n);
    for (size_t k = 0; k < n; k++) {
        double inner = low > 0 ? low * pow(high / low, fplt_stream_uniform(&stream))
                               : high * fplt_stream_uniform(&stream);
        double lambda = k == 0 ? high : k == n - 1 ? low : inner;
        root[k] = sqrt(lambda) * sqrt((double)rows);
    }
    orthonormal(&stream, v, n, n);
    orthonormal(&stream, u, n, rows);
    for (size_t r = 0; r < rows; r++) {
        double *row = dense + r * n;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                row[j] += u[k * rows + r] * root[k] * v[k * n + j];
        label[r] = dot(row, minimiser, n) + settings->noise * fplt_stream_normal(&stream);
    }
}

struct generator {
    const char *name, *help;
    int any_task; /* as the settings say; else it is `task` */
    fplt_task task;
    int needs_tall; /* rows >= features */
    void (*fill)(const fplt_generate_settings *settings, uint32_t agent, size_t rows, double *dense,
                 double *label, double *scratch);
};

static const struct generator generators[] = {
    {"paper", "two clouds around +-mean, a mean for each agent", 0, FPLT_TASK_BINARY, 0,
     fill_paper},
    {"iid", "two clouds around +-mean, one mean common to all agents", 0, FPLT_TASK_BINARY, 0,
     fill_iid},
    {"planted", "labels from one true model with noise", 1, FPLT_TASK_BINARY, 0, fill_planted},
    {"quadratic", "least squares with a given spectrum and a minimiser for each agent", 0,
     FPLT_TASK_REGRESSION, 1, fill_quadratic},
};

enum { GENERATORS = sizeof generators / sizeof *generators };

const char *fplt__generator_list(size_t index, const char **help)
{
    if (index >= GENERATORS)
        return NULL;
    if (help)
        *help = generators[index].help;
    return generators[index].name;
}

fplt_generate_settings fplt_generate_defaults(void)
{
    return (fplt_generate_settings){
        .name = "paper",
        .agents = 100,
        .features = 5,
        .rows = 250,
        .spread = 1,
        .noise = 1,
        .lowest = 0.1,
        .highest = 10,
        .classes = 3,
        .task = FPLT_TASK_BINARY,
    };
}

static const struct generator *find_generator(const char *name)
{
    for (size_t i = 0; i < GENERATORS; i++)
        if (strcmp(name, generators[i].name) == 0)
            return &generators[i];
    return NULL;
}

static fplt_status check_numbers(const fplt_generate_settings *settings, fplt_error *error)
{
    if (settings->agents == 0 || settings->features == 0 || settings->rows == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%u agents, %zu features, %zu rows: each must be at least 1",
                              settings->agents, settings->features, settings->rows);
    if (settings->features > UINT32_MAX)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%zu features, but at most %u are legal",
                              settings->features, UINT32_MAX);
    if (!(settings->spread >= 0 && isfinite(settings->spread)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "spread is %g, but it must be at least 0",
                              settings->spread);
    if (!(settings->noise >= 0 && isfinite(settings->noise)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "noise is %g, but it must be at least 0",
                              settings->noise);
    if (!(settings->unequal >= 0 && settings->unequal < 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "unequal is %g, but it must be a number from 0 and below 1",
                              settings->unequal);
    if (settings->task != FPLT_TASK_BINARY && settings->task != FPLT_TASK_CLASSES &&
        settings->task != FPLT_TASK_REGRESSION)
        return fplt_error_set(error, FPLT_BAD_VALUE, "task is %d, which is none",
                              (int)settings->task);
    if (settings->task == FPLT_TASK_CLASSES &&
        !(settings->classes >= 3 && settings->classes <= FPLT__CLASSES_MAX))
        return fplt_error_set(error, FPLT_BAD_VALUE, "%u classes, but 3 to %d are legal",
                              settings->classes, FPLT__CLASSES_MAX);
    return FPLT_OK;
}

static fplt_status check_spectrum(const fplt_generate_settings *settings, fplt_error *error)
{
    double low = settings->lowest, high = settings->highest;
    if (!(low >= 0 && high >= low && high > 0 && isfinite(high)))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "lmin is %g and lmax is %g, but 0 <= lmin <= lmax and lmax > 0 must "
                              "hold",
                              low, high);
    if (settings->features == 1 && low != high)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "with one feature there is one eigenvalue: lmin (%g) must equal lmax "
                              "(%g)",
                              low, high);
    return FPLT_OK;
}

/* How many rows each agent has: given, equal, or uniform on rows (1 - unequal) .. rows (1 +
 * unequal). */
static fplt_status draw_row_counts(const fplt_generate_settings *settings,
                                   const struct generator *generator, size_t *counts,
                                   fplt_error *error)
{
    double low = ceil((double)settings->rows * (1 - settings->unequal));
    double high = floor((double)settings->rows * (1 + settings->unequal));
    for (uint32_t i = 0; i < settings->agents; i++) {
        fplt_stream stream = stream_for(settings, ROW_COUNTS, i);
        counts[i] = settings->rows;
        if (settings->agent_rows)
            counts[i] = settings->agent_rows[i];
        else if (settings->unequal > 0 && high > low)
            counts[i] =
                (size_t)low + (size_t)fplt_stream_below(&stream, (uint64_t)(high - low) + 1);
        if (counts[i] == 0)
            return fplt_error_set(error, FPLT_BAD_VALUE, "agent %u would have no rows", i);
        if (generator->needs_tall && counts[i] < settings->features)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "agent %u would have %zu rows, but the generator %s needs at "
                                  "least as many as features (%zu)",
                                  i, counts[i], generator->name, settings->features);
    }
    return FPLT_OK;
}

/* Of agents begin .. end - 1; the others have no rows. */
static fplt_status fill(const fplt_generate_settings *settings, const struct generator *generator,
                        const size_t *counts, uint32_t begin, uint32_t end, fplt_dataset *dataset,
                        fplt_error *error)
{
    size_t n = settings->features, most = 0;
    for (uint32_t i = 0; i < settings->agents; i++) {
        size_t rows = i >= begin && i < end ? counts[i] : 0;
        dataset->first[i + 1] = dataset->first[i] + rows;
        most = rows > most ? rows : most;
    }
    size_t vectors = generator->needs_tall ? 2 + n : planted_vectors(settings), numbers, more = 0;
    double *scratch = NULL;
    if (__builtin_mul_overflow(vectors, n, &numbers) ||
        (generator->needs_tall && __builtin_mul_overflow(most, n, &more)) ||
        __builtin_add_overflow(numbers, more, &numbers))
        numbers = SIZE_MAX;
    fplt_status status = fplt__alloc_into(&scratch, numbers, sizeof *scratch, "a generator", error);
    for (uint32_t i = begin; i < end && !status; i++)
        generator->fill(settings, i, counts[i], dataset->dense + dataset->first[i] * n,
                        dataset->label + dataset->first[i], scratch);
    fplt__free(scratch);
    return status;
}

/* Of every agent what it would have. */
static fplt_status take_census(const size_t *counts, fplt_dataset *dataset, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(&dataset->census, dataset->agents,
                                          sizeof *dataset->census, "agents", error);
    for (uint32_t i = 0; !status && i < dataset->agents; i++)
        dataset->census[i] = (fplt__census){counts[i], (double)counts[i]};
    return status;
}

fplt_status fplt_dataset_generate(const fplt_generate_settings *settings, fplt_dataset **dataset,
                                  fplt_error *error)
{
    return fplt__dataset_generate_part(settings, 0, settings->agents, dataset, error);
}

fplt_status fplt__dataset_generate_part(const fplt_generate_settings *settings, uint32_t first,
                                        uint32_t end, fplt_dataset **dataset, fplt_error *error)
{
    *dataset = NULL;
    const struct generator *generator = find_generator(settings->name);
    if (!generator)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "there is no generator '%.80s': paper, iid, planted and quadratic "
                              "are there",
                              settings->name);
    fplt_status status = check_numbers(settings, error);
    if (!status && generator->needs_tall)
        status = check_spectrum(settings, error);
    size_t *counts = NULL, rows = 0;
    if (!status)
        status = fplt__alloc_into(&counts, settings->agents, sizeof *counts, "agents", error);
    if (!status)
        status = draw_row_counts(settings, generator, counts, error);
    for (uint32_t i = first; i < end && !status; i++)
        if (__builtin_add_overflow(rows, counts[i], &rows))
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for so many rows");
    fplt_dataset *made = NULL;
    fplt_task task = generator->any_task ? settings->task : generator->task;
    if (!status)
        status = fplt__dataset_create(rows, settings->features, FPLT__DENSE, settings->agents, task,
                                      &made, error);
    if (!status)
        status = fill(settings, generator, counts, first, end, made, error);
    if (!status && end - first < settings->agents)
        status = take_census(counts, made, error);
    fplt__free(counts);
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    if (task == FPLT_TASK_CLASSES)
        made->outputs = settings->classes;
    *dataset = made;
    return FPLT_OK;
}
