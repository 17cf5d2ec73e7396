/* Who gets which rows: partitioners, held-out rows, a choice of agents. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/dataset.h"
#include "fedplt/random.h"
#include "data/dataset_access.h"

/* Streams of FPLT_FOR_PARTITION, told apart by the round. */
enum { SHUFFLE = 0, SHARES = 1, HELD_OUT = 2 };

/* Shard of the k-th of `rows` rows when the first rows mod agents shards have one more. */
static uint32_t even_shard(size_t k, size_t rows, uint32_t agents)
{
    size_t small = rows / agents, large = rows % agents, border = large * (small + 1);
    return (uint32_t)(k < border ? k / (small + 1) : large + (k - border) / small);
}

static fplt_status own_contiguous(const fplt_dataset *dataset,
                                  const fplt_partition_settings *settings, uint32_t *owner,
                                  fplt_error *error)
{
    (void)error;
    for (size_t r = 0; r < dataset->rows; r++)
        owner[r] = even_shard(r, dataset->rows, settings->agents);
    return FPLT_OK;
}

static fplt_status own_shuffled(const fplt_dataset *dataset,
                                const fplt_partition_settings *settings, uint32_t *owner,
                                fplt_error *error)
{
    uint32_t *order;
    fplt_status status = fplt__alloc_into(&order, dataset->rows, sizeof *order, "rows", error);
    if (status)
        return status;
    fplt_stream stream = fplt_stream_make(settings->seed, 0, FPLT_FOR_PARTITION, SHUFFLE, 0, 0);
    for (size_t r = 0; r < dataset->rows; r++)
        order[r] = (uint32_t)r;
    fplt__stream_shuffle(&stream, order, dataset->rows);
    for (size_t k = 0; k < dataset->rows; k++)
        owner[order[k]] = even_shard(k, dataset->rows, settings->agents);
    fplt__free(order);
    return FPLT_OK;
}

static uint32_t class_of(const fplt_dataset *dataset, size_t row)
{
    double label = dataset->label[row];
    return dataset->task == FPLT_TASK_BINARY ? label > 0 : (uint32_t)label;
}

/* cumulative[i] = share of agents 0 .. i, of Dirichlet(alpha, ..., alpha). With a tiny alpha every
 * gamma can be 0 in double precision; the limit is then one agent that has all. */
static void draw_shares(fplt_stream *stream, double alpha, uint32_t agents, double *cumulative)
{
    double total = 0;
    for (uint32_t i = 0; i < agents; i++) {
        total += fplt__stream_gamma(stream, alpha);
        cumulative[i] = total;
    }
    if (!(total > 0)) {
        uint32_t chosen = (uint32_t)fplt_stream_below(stream, agents);
        for (uint32_t i = 0; i < agents; i++)
            cumulative[i] = i >= chosen;
        return;
    }
    for (uint32_t i = 0; i < agents; i++)
        cumulative[i] /= total;
}

static void share_class(const size_t *rows, size_t count, const double *cumulative, uint32_t agents,
                        uint32_t *owner)
{
    size_t next = 0;
    for (uint32_t i = 0; i < agents; i++) {
        size_t end = i + 1 == agents ? count : (size_t)(cumulative[i] * (double)count + 0.5);
        for (; next < end && next < count; next++)
            owner[rows[next]] = i;
    }
}

/* Largest level such that cutting all counts down to it frees at least `wanted` rows. */
static size_t water_level(const size_t *counts, uint32_t agents, size_t wanted, size_t rows)
{
    size_t low = 1, high = rows;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2, freed = 0;
        for (uint32_t i = 0; i < agents; i++)
            freed += counts[i] > middle ? counts[i] - middle : 0;
        if (freed >= wanted)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Every agent gets a row: the empty ones take from those that have most. */
static void feed_the_empty(size_t *counts, uint32_t agents, uint32_t *owner, size_t rows)
{
    size_t wanted = 0;
    uint32_t empty = 0;
    memset(counts, 0, agents * sizeof *counts);
    for (size_t r = 0; r < rows; r++)
        counts[owner[r]]++;
    for (uint32_t i = 0; i < agents; i++)
        wanted += counts[i] == 0;
    if (!wanted)
        return;
    size_t level = water_level(counts, agents, wanted, rows);
    for (size_t r = rows; r-- > 0 && wanted > 0;) {
        if (counts[owner[r]] <= level)
            continue;
        while (counts[empty])
            empty++;
        counts[owner[r]]--;
        owner[r] = empty;
        counts[empty] = 1;
        wanted--;
    }
}

static fplt_status own_skewed(const fplt_dataset *dataset, const fplt_partition_settings *settings,
                              uint32_t *owner, fplt_error *error)
{
    uint32_t agents = settings->agents, classes = dataset->outputs;
    size_t *first = NULL, *order = NULL, *counts = NULL;
    uint32_t *class_numbers = NULL;
    double *cumulative = NULL;
    if (!fplt__task_classifies(dataset->task))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the partition skewed is by class, but this is a regression");
    fplt_status status =
        fplt__alloc_into(&first, (size_t)classes + 1, sizeof *first, "classes", error);
    if (!status)
        status = fplt__alloc_into(&order, dataset->rows, sizeof *order, "rows", error);
    if (!status)
        status =
            fplt__alloc_into(&class_numbers, dataset->rows, sizeof *class_numbers, "rows", error);
    if (!status)
        status = fplt__alloc_into(&cumulative, agents, sizeof *cumulative, "shares", error);
    if (!status)
        status = fplt__alloc_into(&counts, agents, sizeof *counts, "agents", error);
    if (!status) {
        for (size_t r = 0; r < dataset->rows; r++)
            class_numbers[r] = class_of(dataset, r);
        fplt__group_rows(first, classes, class_numbers, sizeof *class_numbers, dataset->rows,
                         order);
        for (uint32_t c = 0; c < classes; c++) {
            fplt_stream stream =
                fplt_stream_make(settings->seed, 0, FPLT_FOR_PARTITION, SHARES, 0, c);
            size_t *rows = order + first[c], count = first[c + 1] - first[c];
            draw_shares(&stream, settings->alpha, agents, cumulative);
            for (size_t k = count; k > 1; k--) {
                size_t j = (size_t)fplt_stream_below(&stream, k), held = rows[k - 1];
                rows[k - 1] = rows[j];
                rows[j] = held;
            }
            share_class(rows, count, cumulative, agents, owner);
        }
        feed_the_empty(counts, agents, owner, dataset->rows);
    }
    fplt__free(first);
    fplt__free(order);
    fplt__free(class_numbers);
    fplt__free(cumulative);
    fplt__free(counts);
    return status;
}

static const struct partitioner {
    const char *name, *help;
    fplt_status (*own)(const fplt_dataset *dataset, const fplt_partition_settings *settings,
                       uint32_t *owner, fplt_error *error);
} partitioners[] = {
    {"contiguous", "consecutive rows, sizes as equal as can be", own_contiguous},
    {"shuffled", "rows at random, sizes as equal as can be", own_shuffled},
    {"skewed", "shares of each class are Dirichlet(alpha)", own_skewed},
};

enum { PARTITIONERS = sizeof partitioners / sizeof *partitioners };

const char *fplt__partition_list(size_t index, const char **help)
{
    if (index >= PARTITIONERS)
        return NULL;
    if (help)
        *help = partitioners[index].help;
    return partitioners[index].name;
}

fplt_partition_settings fplt_partition_defaults(void)
{
    return (fplt_partition_settings){.name = "contiguous", .agents = 10, .alpha = 0.5};
}

static fplt_status check_partition(const fplt_dataset *dataset,
                                   const fplt_partition_settings *settings,
                                   const struct partitioner **found, fplt_error *error)
{
    *found = NULL;
    for (size_t i = 0; i < PARTITIONERS; i++)
        if (strcmp(settings->name, partitioners[i].name) == 0)
            *found = &partitioners[i];
    if (!*found)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "there is no partition '%.80s': contiguous, shuffled and skewed are "
                              "there",
                              settings->name);
    if (settings->agents == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE, "agents is 0, but it must be at least 1");
    if (settings->agents > dataset->rows)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%u agents, but there are only %zu rows: each agent needs one",
                              settings->agents, dataset->rows);
    if (dataset->rows > UINT32_MAX)
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%zu rows, but at most %u are divided",
                              dataset->rows, UINT32_MAX);
    if (!(settings->alpha > 0 && isfinite(settings->alpha)))
        return fplt_error_set(error, FPLT_BAD_VALUE, "alpha is %g, but it must be above 0",
                              settings->alpha);
    return FPLT_OK;
}

/* agent_rows and order from the owner of each row. */
static fplt_status select_by_owner(const fplt_dataset *dataset, const uint32_t *owner,
                                   uint32_t agents, fplt_dataset **made, fplt_error *error)
{
    size_t *first = NULL, *order = NULL;
    fplt_status status =
        fplt__alloc_into(&first, (size_t)agents + 1, sizeof *first, "agents", error);
    if (!status)
        status = fplt__alloc_into(&order, dataset->rows, sizeof *order, "rows", error);
    if (!status) {
        fplt__group_rows(first, agents, owner, sizeof *owner, dataset->rows, order);
        for (uint32_t i = 0; i < agents; i++)
            first[i] = first[i + 1] - first[i];
        status = fplt__dataset_select(dataset, order, first, agents, 0, made, error);
    }
    fplt__free(first);
    fplt__free(order);
    return status;
}

fplt_status fplt_dataset_partition(const fplt_dataset *dataset,
                                   const fplt_partition_settings *settings,
                                   fplt_dataset **partitioned, fplt_error *error)
{
    const struct partitioner *partitioner;
    uint32_t *owner;
    *partitioned = NULL;
    fplt_status status = check_partition(dataset, settings, &partitioner, error);
    if (!status)
        status = fplt__alloc_into(&owner, dataset->rows, sizeof *owner, "rows", error);
    if (status)
        return status;
    status = partitioner->own(dataset, settings, owner, error);
    if (!status)
        status = select_by_owner(dataset, owner, settings->agents, partitioned, error);
    fplt__free(owner);
    return status;
}

/* Rows keep their order: only where an agent's begin is new. */
static fplt_status cut_anew(fplt_dataset *dataset, uint32_t agents, fplt_error *error)
{
    size_t *first;
    fplt_status status =
        fplt__alloc_into(&first, (size_t)agents + 1, sizeof *first, "agents", error);
    if (status)
        return status;
    for (size_t r = 0; r < dataset->rows; r++)
        first[even_shard(r, dataset->rows, agents) + 1] = r + 1;
    fplt__free(dataset->first);
    dataset->first = first;
    dataset->agents = agents;
    dataset->left_out_count = 0; /* known of a data set as it was read */
    fplt__names_clear(&dataset->agent_names);
    return FPLT_OK;
}

fplt_status fplt__dataset_divide(fplt_dataset **dataset, const fplt_partition_settings *settings,
                                 fplt_error *error)
{
    const struct partitioner *found;
    fplt_dataset *divided;
    fplt_status status = check_partition(*dataset, settings, &found, error);
    if (status)
        return status;
    if (found->own == own_contiguous)
        return cut_anew(*dataset, settings->agents, error);
    if (!(status = fplt_dataset_partition(*dataset, settings, &divided, error))) {
        fplt_dataset_destroy(*dataset);
        *dataset = divided;
    }
    return status;
}

fplt_status fplt__dataset_pick(const fplt_dataset *dataset, const uint32_t *agents, uint32_t count,
                               fplt_dataset **picked, fplt_error *error)
{
    size_t rows = 0, *agent_rows = NULL, *order = NULL;
    fplt__span *names = NULL;
    fplt_dataset *made = NULL;
    *picked = NULL;
    if (count == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE, "a data set needs at least one agent");
    for (uint32_t i = 0; i < count; i++) {
        if (agents[i] >= dataset->agents)
            return fplt_error_set(error, FPLT_BAD_VALUE, "agent %u, but there are %u agents",
                                  agents[i], dataset->agents);
        rows += dataset->first[agents[i] + 1] - dataset->first[agents[i]];
    }
    fplt_status status = fplt__alloc_into(&agent_rows, count, sizeof *agent_rows, "agents", error);
    if (!status)
        status = fplt__alloc_into(&order, rows, sizeof *order, "rows", error);
    if (!status)
        status = fplt__alloc_into(&names, count, sizeof *names, "names", error);
    size_t next = 0;
    for (uint32_t i = 0; i < count && !status; i++) {
        const char *name = fplt_dataset_agent_name(dataset, agents[i]);
        agent_rows[i] = dataset->first[agents[i] + 1] - dataset->first[agents[i]];
        for (size_t r = 0; r < agent_rows[i]; r++)
            order[next++] = dataset->first[agents[i]] + r;
        if (name)
            names[i] = (fplt__span){name, strlen(name)};
    }
    if (!status)
        status = fplt__dataset_select(dataset, order, agent_rows, count, 0, &made, error);
    if (!status && dataset->agent_names.count)
        status = fplt__names_make(names, count, &made->agent_names, error);
    fplt__free(agent_rows);
    fplt__free(order);
    fplt__free(names);
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    *picked = made;
    return FPLT_OK;
}

/* One side of a split: the rows with held[r] == side; agents without any are left out. */
static fplt_status take_side(const fplt_dataset *dataset, const unsigned char *held, int side,
                             fplt_dataset **made, fplt_error *error)
{
    size_t *agent_rows = NULL, *order = NULL, next = 0;
    fplt__span *names = NULL;
    uint32_t agents = 0;
    *made = NULL;
    fplt_status status =
        fplt__alloc_into(&agent_rows, dataset->agents, sizeof *agent_rows, "agents", error);
    if (!status)
        status = fplt__alloc_into(&order, dataset->rows, sizeof *order, "rows", error);
    if (!status)
        status = fplt__alloc_into(&names, dataset->agents, sizeof *names, "names", error);
    for (uint32_t i = 0; i < dataset->agents && !status; i++) {
        size_t before = next;
        for (size_t r = dataset->first[i]; r < dataset->first[i + 1]; r++)
            if (held[r] == side)
                order[next++] = r;
        if (next == before)
            continue;
        const char *name = fplt_dataset_agent_name(dataset, i);
        names[agents] = name ? (fplt__span){name, strlen(name)} : (fplt__span){NULL, 0};
        agent_rows[agents++] = next - before;
    }
    if (!status)
        status = fplt__dataset_select(dataset, order, agent_rows, agents, 0, made, error);
    if (!status && dataset->agent_names.count)
        status = fplt__names_make(names, agents, &(*made)->agent_names, error);
    fplt__free(agent_rows);
    fplt__free(order);
    fplt__free(names);
    return status;
}

static fplt_status hold_out(const fplt_dataset *dataset, uint32_t identity, double fraction,
                            uint64_t seed, unsigned char *held, size_t *total, fplt_error *error)
{
    uint32_t *chosen;
    size_t most = 0;
    for (uint32_t i = 0; i < dataset->agents; i++) {
        size_t rows = dataset->first[i + 1] - dataset->first[i];
        most = rows > most ? rows : most;
    }
    fplt_status status = fplt__alloc_into(&chosen, most, sizeof *chosen, "held-out rows", error);
    for (uint32_t i = 0; i < dataset->agents && !status; i++) {
        size_t rows = dataset->first[i + 1] - dataset->first[i];
        size_t count = (size_t)(fraction * (double)rows + 0.5);
        count = count < rows ? count : rows - 1;
        fplt_stream stream =
            fplt_stream_make(seed, 0, FPLT_FOR_PARTITION, HELD_OUT, identity + i, 0);
        fplt__stream_choose(&stream, (uint32_t)count, (uint32_t)rows, chosen);
        for (size_t k = 0; k < count; k++)
            held[dataset->first[i] + chosen[k]] = 1;
        *total += count;
    }
    fplt__free(chosen);
    return status;
}

fplt_status fplt_dataset_split(const fplt_dataset *dataset, double fraction, uint64_t seed,
                               fplt_dataset **train, fplt_dataset **test, fplt_error *error)
{
    return fplt__dataset_split_from(dataset, 0, fraction, seed, train, test, error);
}

fplt_status fplt__dataset_split_from(const fplt_dataset *dataset, uint32_t first, double fraction,
                                     uint64_t seed, fplt_dataset **train, fplt_dataset **test,
                                     fplt_error *error)
{
    unsigned char *held;
    size_t total = 0;
    *train = *test = NULL;
    if (!(fraction > 0 && fraction < 1))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "the fraction to hold out is %g, but it must be above 0 and below 1",
                              fraction);
    if (dataset->rows > UINT32_MAX)
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%zu rows, but at most %u are divided",
                              dataset->rows, UINT32_MAX);
    fplt_status status = fplt__alloc_into(&held, dataset->rows, 1, "held-out rows", error);
    if (status)
        return status;
    status = hold_out(dataset, first, fraction, seed, held, &total, error);
    if (!status && total == 0)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "holding out %g of each agent's rows leaves no row to test on",
                                fraction);
    if (!status)
        status = take_side(dataset, held, 0, train, error);
    if (!status)
        status = take_side(dataset, held, 1, test, error);
    fplt__free(held);
    if (status) {
        fplt_dataset_destroy(*train);
        fplt_dataset_destroy(*test);
        *train = *test = NULL;
    }
    return status;
}

void fplt__deal_folds(size_t rows, uint32_t agent, uint32_t folds, uint64_t seed, uint32_t *fold)
{
    fplt_stream stream = fplt_stream_make(seed, 0, FPLT_FOR_PARTITION, folds, agent, 1);
    for (size_t r = 0; r < rows; r++)
        fold[r] = (uint32_t)(r % folds);
    for (size_t r = rows; r > 1; r--) {
        size_t other = (size_t)fplt_stream_below(&stream, r);
        uint32_t kept = fold[r - 1];
        fold[r - 1] = fold[other];
        fold[other] = kept;
    }
}

fplt_status fplt__dataset_balance_by(fplt_dataset *dataset, const uint64_t *rows, fplt_error *error)
{
    int given = dataset->weight != NULL;
    uint64_t all = 0;
    fplt_status status = fplt__dataset_own_weights(dataset, error);
    for (uint32_t k = 0; k < dataset->outputs; k++)
        all += rows[k];
    for (size_t r = 0; !status && r < dataset->rows; r++) {
        uint64_t alike = rows[class_of(dataset, r)];
        double factor = (double)all / ((double)dataset->outputs * (double)alike);
        if (!alike)
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "row %zu is of a class that is said to have no rows", r + 1);
        dataset->weight[r] = given ? dataset->weight[r] * factor : factor;
    }
    return status;
}

fplt_status fplt__dataset_count_classes(const fplt_dataset *dataset, uint64_t *rows,
                                        fplt_error *error)
{
    if (!fplt__task_classifies(dataset->task))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "classes are balanced, but the task is %s: there are none",
                              fplt_task_name(dataset->task));
    memset(rows, 0, dataset->outputs * sizeof *rows);
    for (size_t r = 0; r < dataset->rows; r++)
        rows[class_of(dataset, r)]++;
    return FPLT_OK;
}

fplt_status fplt__dataset_balance(fplt_dataset *dataset, fplt_error *error)
{
    uint64_t *rows;
    fplt_status status = fplt__alloc_into(&rows, dataset->outputs, sizeof *rows, "classes", error);
    if (!status && !(status = fplt__dataset_count_classes(dataset, rows, error)))
        status = fplt__dataset_balance_by(dataset, rows, error);
    fplt__free(rows);
    return status;
}
