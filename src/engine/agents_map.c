#include "engine/agents_map.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/machine.h"
#include "engine/pool.h"
#include "engine/ranks.h"
#include "objective/objective.h"
#include "fedplt/algorithm.h"

struct survey {
    uint32_t count, portion;
    fplt_status (*ask)(void *, uint32_t, fplt_error *);
    void *context;
    atomic_uint next;
    atomic_int failed;
    pthread_mutex_t mutex;
    fplt_error failure;
    uint32_t failed_index;
};

static void report(struct survey *survey, uint32_t index, fplt_status status,
                   const fplt_error *error)
{
    pthread_mutex_lock(&survey->mutex);
    if (!atomic_load(&survey->failed) || index < survey->failed_index) {
        survey->failure = *error;
        survey->failure.status = status;
        survey->failed_index = index;
        atomic_store(&survey->failed, 1);
    }
    pthread_mutex_unlock(&survey->mutex);
}

/* A portion once taken is done up to its own failure, so that no earlier one is missed. */
static void ask_portions(void *context, unsigned number)
{
    struct survey *survey = context;
    (void)number;
    while (!atomic_load(&survey->failed)) {
        uint32_t first = atomic_fetch_add(&survey->next, survey->portion);
        if (first >= survey->count)
            return;
        for (uint32_t i = first; i < survey->count && i - first < survey->portion; i++) {
            fplt_error error = {0};
            fplt_status status = survey->ask(survey->context, i, &error);
            if (status) {
                report(survey, i, status, &error);
                return;
            }
        }
    }
}

fplt_status fplt__parallel_map(uint32_t count, unsigned threads,
                               fplt_status (*ask)(void *context, uint32_t index, fplt_error *error),
                               void *context, fplt_error *error)
{
    fplt__pool *pool;
    unsigned workers = fplt__cores(threads);
    workers = workers > count ? count : workers;
    fplt_status status = fplt__pool_create(workers ? workers : 1, &pool, error);
    if (status)
        return status;
    struct survey survey = {.count = count,
                            .portion = count / (8 * (workers ? workers : 1)) + 1,
                            .ask = ask,
                            .context = context};
    pthread_mutex_init(&survey.mutex, NULL);
    fplt__pool_run(pool, ask_portions, &survey);
    fplt__pool_destroy(pool);
    pthread_mutex_destroy(&survey.mutex);
    if (!atomic_load(&survey.failed))
        return FPLT_OK;
    if (error)
        *error = survey.failure;
    return survey.failure.status;
}

struct block {
    uint32_t first;
    fplt_status (*ask)(void *, uint32_t, fplt_error *);
    void *context;
};

static fplt_status ask_block(void *context, uint32_t index, fplt_error *error)
{
    const struct block *block = context;
    return block->ask(block->context, block->first + index, error);
}

fplt_status fplt__agents_map(fplt_ranks *ranks, uint32_t agents, unsigned threads,
                             fplt_status (*ask)(void *context, uint32_t agent, fplt_error *error),
                             void *context, void *items, size_t size, fplt_error *error)
{
    struct block block = {.ask = ask, .context = context};
    uint32_t end;
    fplt__ranks_block(ranks, agents, ranks ? ranks->number : 0, &block.first, &end);
    fplt_status status = fplt__parallel_map(end - block.first, fplt__ranks_threads(ranks, threads),
                                            ask_block, &block, error);
    status = fplt_ranks_agree(ranks, status, error);
    if (!status)
        fplt__ranks_gather(ranks, agents, items, size);
    return status;
}

/* Agents are asked in groups, which may go side by side. */
struct curving {
    const fplt_objective *objective;
    int how;
    fplt_curvature *curvatures;
    uint32_t first, end, group;
};

static fplt_status ask_curvatures(void *context, uint32_t index, fplt_error *error)
{
    const struct curving *curving = context;
    uint32_t first = curving->first + index * curving->group, left = curving->end - first;
    return fplt__objective_curvatures(curving->objective, first,
                                      left < curving->group ? left : curving->group, curving->how,
                                      curving->curvatures + first, error);
}

int fplt__run_looks(const fplt_run_settings *run)
{
    return run->algorithm->allows & FPLT_TRAINS_NOTHING && run->start != FPLT_START_PRIOR
               ? FPLT_CURVATURE_ROUGH
               : FPLT_CURVATURE_CLOSE;
}

fplt_status fplt__agents_map_curvature(fplt_ranks *ranks, const fplt_objective *objective, int how,
                                       unsigned threads, fplt_curvature *curvatures,
                                       fplt_error *error)
{
    struct curving curving = {.objective = objective,
                              .how = how,
                              .curvatures = curvatures,
                              .group = (uint32_t)fplt__objective_batched(objective)};
    uint32_t agents = fplt_objective_agents(objective);
    fplt__ranks_block(ranks, agents, ranks ? ranks->number : 0, &curving.first, &curving.end);
    uint32_t groups = (curving.end - curving.first + curving.group - 1) / curving.group;
    fplt_status status = fplt__parallel_map(groups, fplt__ranks_threads(ranks, threads),
                                            ask_curvatures, &curving, error);
    status = fplt_ranks_agree(ranks, status, error);
    if (!status)
        fplt__ranks_gather(ranks, agents, curvatures, sizeof *curvatures);
    return status;
}
