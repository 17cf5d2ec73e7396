/* One model trained on some rows and measured on others. */
#include "lab/validate/fit.h"

#include "base/memory.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "promise/promise.h"

fplt_status fplt__rows_where(const fplt_dataset *dataset, const unsigned char *is_in,
                             fplt_dataset **chosen, fplt_error *error)
{
    size_t *order, *share, total = 0, first = 0;
    uint32_t agents = fplt_dataset_agents(dataset), kept = 0, *keep;
    fplt_dataset *all = NULL;
    *chosen = NULL;
    fplt_status status = fplt__alloc_into(&order, fplt_dataset_rows(dataset) + 2 * agents,
                                          sizeof *order, "the rows", error);
    if (status)
        return status;
    share = order + fplt_dataset_rows(dataset);
    keep = (uint32_t *)(share + agents);
    for (uint32_t i = 0; i < agents; i++) {
        size_t rows = fplt_dataset_shard(dataset, i).count;
        for (size_t r = first; r < first + rows; r++)
            if (is_in[r]) {
                order[total++] = r;
                share[i]++;
            }
        if (share[i])
            keep[kept++] = i;
        first += rows;
    }
    if (!kept)
        status = fplt_error_set(error, FPLT_BAD_DATA, "no rows are left to train or test on");
    if (!status)
        status = fplt__dataset_select(dataset, order, share, agents, 1, &all, error);
    if (!status)
        status = fplt__dataset_pick(all, keep, kept, chosen, error);
    fplt_dataset_destroy(all);
    fplt__free(order);
    return status;
}

int fplt__audience_notify(fplt__audience *audience)
{
    if (audience->watch && audience->watch(audience->context, audience->done, audience->total))
        audience->stopped = 1;
    return audience->stopped;
}

static int observe(void *context, const fplt_progress *progress)
{
    (void)progress;
    return fplt__audience_notify(context);
}

fplt_status fplt__fit(const fplt_settings *settings, fplt_dataset *training,
                      fplt__audience *audience, fplt_model **model, fplt_error *error)
{
    fplt_job_source source = {.dataset = training, .part = 1, .whole = 1};
    fplt_trainer *trainer;
    fplt_result result;
    *model = NULL;
    fplt_status status = fplt_trainer_create(settings, &source, &trainer, error);
    if (status)
        return status;
    status = fplt_trainer_run(trainer, observe, audience, &result, error);
    if (!status && result.outcome == FPLT_RUN_DIVERGED)
        status = fplt_error_set(error, FPLT_DIVERGED, "%s", result.sentence);
    if (!status && !audience->stopped)
        status = fplt_trainer_model(trainer, model, error);
    fplt_trainer_destroy(trainer);
    return status;
}

const char *fplt__quality_name(fplt_task task)
{
    static const char *const names[] = {[FPLT_TASK_BINARY] = "auc",
                                        [FPLT_TASK_CLASSES] = "accuracy",
                                        [FPLT_TASK_REGRESSION] = "rmse",
                                        [FPLT_TASK_SURVIVAL] = "concordance"};
    return names[task];
}

double fplt__quality_of(fplt_task task, const fplt_quality *quality)
{
    switch (task) {
    case FPLT_TASK_BINARY: return quality->auc;
    case FPLT_TASK_CLASSES: return quality->accuracy;
    case FPLT_TASK_REGRESSION: return quality->rmse;
    default: return quality->concordance;
    }
}

fplt_status fplt__refuse_private(const fplt_settings *settings, const char *what, fplt_error *error)
{
    if (!fplt__promise_wanted(settings))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s cannot be used with privacy: measures on records would be shown "
                          "without noise",
                          what);
}
