/* Evaluating rows that are there, and the rows of a long file block by block. Of a block only scores, labels and the losses of its
 * chunks are kept, so that every measure has the bits of all rows at once. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/text.h"
#include "linalg/kernel.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "report/answers.h"
#include "report/model.h"
#include "report/model_access.h"

/* Rows that are there */

/* Mean losses of the agents, by the objective itself without its regulariser. */
static fplt_status find_losses(const fplt_model *model, const fplt_dataset *dataset, double *losses,
                               fplt_error *error)
{
    fplt_objective_settings settings = fplt__model_cost(model);
    fplt_objective *objective;
    double *scratch = NULL;
    fplt_status status = fplt_objective_create(&settings, dataset, &objective, error);
    if (status)
        return status;
    status = fplt__alloc_into(&scratch, fplt_objective_scratch(objective), sizeof *scratch,
                              "the objective", error);
    for (uint32_t i = 0; !status && i < fplt_objective_agents(objective); i++)
        if ((status = fplt_objective_value(objective, i, model->info.weights, &losses[i], scratch)))
            fplt_error_set(error, status, "the loss cannot be computed");
    fplt__free(scratch);
    fplt_objective_destroy(objective);
    return status;
}

/* Answers and measures of all rows; the answers are the caller's to clear in any case. */
static fplt_status evaluate(fplt__answers *answers, const fplt_dataset *dataset, fplt_quality *each,
                            fplt_quality *all, fplt_error *error)
{
    fplt_rows rows = fplt_dataset_all(dataset);
    double *losses = NULL;
    fplt_status status;
    answers->weight = rows.weight;
    if (!(status = fplt__answers_check(answers->model, dataset, answers->threshold, error)) &&
        !(status = fplt__answers_add(answers, &rows, error)) &&
        !(status =
              fplt__alloc_into(&losses, dataset->agents, sizeof *losses, "the losses", error)) &&
        !(status = find_losses(answers->model, dataset, losses, error)))
        status = fplt__answers_measure(answers, dataset->first, dataset->agents, losses, each, all,
                                       error);
    fplt__free(losses);
    return status;
}

static fplt_status assess(const fplt_model *model, const fplt_dataset *dataset, double threshold,
                          int curve, fplt_quality *each, fplt_assessment *made, fplt_error *error)
{
    fplt__answers answers = {.model = model, .threshold = threshold};
    *made = (fplt_assessment){.threshold = threshold};
    fplt_status status = evaluate(&answers, dataset, each, &made->all, error);
    if (!status)
        status = fplt__answers_look_closer(&answers, curve, made, error);
    fplt__answers_clear(&answers);
    if (status)
        fplt_assessment_clear(made);
    return status;
}

fplt_status fplt_model_assess(const fplt_model *model, const fplt_dataset *dataset,
                              double threshold, fplt_quality *each, fplt_assessment *made,
                              fplt_error *error)
{
    return assess(model, dataset, threshold, 1, each, made, error);
}

fplt_status fplt_model_evaluate(const fplt_model *model, const fplt_dataset *dataset,
                                fplt_quality *each, fplt_quality *all, fplt_error *error)
{
    fplt__answers answers = {.model = model, .threshold = NAN};
    fplt_status status = evaluate(&answers, dataset, each, all, error);
    fplt__answers_clear(&answers);
    return status;
}

/* Block by block */

/* Of one site: the losses of its whole chunks, and the rows behind the last. */
struct site {
    double *dense, *label, *offset; /* owned; rows whose losses are not known yet */
    size_t waiting, dense_capacity, label_capacity, offset_capacity;
    size_t records;
    double *losses; /* owned: one a chunk */
    size_t chunks, losses_capacity;
    size_t *filled; /* owned: values of each feature that were filled in; NULL: none */
};

struct reading {
    fplt__answers answers;
    fplt_objective_settings cost;
    fplt_dataset *sites; /* owned: features, classes and names; no rows */
    fplt__lookup names;
    struct site *site; /* owned */
    size_t site_capacity;
    uint32_t count;
    uint32_t file, files; /* the one at hand, of so many: of several each is one site */
    uint32_t *owner;      /* owned: the site of each row; NULL: there is one */
    size_t owner_capacity;
    const char *kernel;
    size_t chunk; /* rows of one; 0: not known yet */
};

static void clear_site(struct site *site)
{
    fplt__free(site->dense);
    fplt__free(site->label);
    fplt__free(site->offset);
    fplt__free(site->losses);
    fplt__free(site->filled);
}

static void clear_reading(struct reading *reading)
{
    fplt__answers_clear(&reading->answers);
    fplt_dataset_destroy(reading->sites);
    fplt__lookup_clear(&reading->names);
    for (uint32_t i = 0; i < reading->count; i++)
        clear_site(&reading->site[i]);
    fplt__free(reading->site);
    fplt__free(reading->owner);
}

static fplt_status not_in_blocks(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNSUPPORTED, "the rows are not evaluated in blocks");
}

/* Rows wait until there is a whole chunk of them. */
static fplt_status append_rows(struct site *site, const fplt_rows *rows, fplt_error *error)
{
    size_t width = rows->features, count = site->waiting + rows->count;
    const char *what = "rows of a site";
    fplt_status status;
    if ((status = fplt__grow(&site->dense, &site->dense_capacity, count * width,
                             sizeof *site->dense, what, error)) ||
        (status = fplt__grow(&site->label, &site->label_capacity, count, sizeof *site->label, what,
                             error)) ||
        (rows->offset && (status = fplt__grow(&site->offset, &site->offset_capacity, count,
                                              sizeof *site->offset, what, error))))
        return status;
    memcpy(site->dense + site->waiting * width, rows->dense,
           rows->count * width * sizeof *site->dense);
    memcpy(site->label + site->waiting, rows->label, rows->count * sizeof *site->label);
    if (rows->offset)
        memcpy(site->offset + site->waiting, rows->offset, rows->count * sizeof *site->offset);
    site->waiting = count;
    site->records += rows->count;
    return FPLT_OK;
}

/* The objective over the rows of a site that wait. */
static fplt_status waiting_cost(const struct reading *reading, const struct site *site,
                                fplt_objective **objective, fplt_error *error)
{
    const fplt_rows rows = {.count = site->waiting,
                            .features = reading->sites->features,
                            .dense = site->dense,
                            .label = site->label,
                            .offset = site->offset};
    fplt_dataset *dataset;
    fplt_status status = fplt_dataset_borrow(&rows, reading->sites->task, &rows.count, 1, NULL,
                                             NULL, &dataset, error);
    if (status)
        return status;
    dataset->outputs = reading->sites->outputs; /* not every class may be among these */
    status = fplt_objective_create(&reading->cost, dataset, objective, error);
    fplt_dataset_destroy(dataset);
    return status;
}

/* Finds the losses of whole chunks, at the `end` of the file also of what is left. */
static fplt_status add_losses(struct reading *reading, struct site *site, int end,
                              fplt_error *error)
{
    const double *weights = reading->answers.model->info.weights;
    fplt_objective *objective = NULL;
    double *scratch = NULL;
    fplt_status status = waiting_cost(reading, site, &objective, error);
    if (status)
        return status;
    size_t chunk = fplt__objective_chunk(objective), chunks = (site->waiting + chunk - 1) / chunk;
    reading->kernel = fplt__objective_kernel(objective);
    reading->chunk = chunk;
    if (!(status = fplt__alloc_into(&scratch, fplt_objective_scratch(objective), sizeof *scratch,
                                    "the objective", error)) &&
        !(status = fplt__grow(&site->losses, &site->losses_capacity, site->chunks + chunks,
                              sizeof *site->losses, "losses", error)))
        status = fplt__objective_chunk_losses(objective, 0, weights, site->losses + site->chunks,
                                              scratch);
    if (!status) {
        size_t whole = end ? chunks : site->waiting / chunk, rows = whole * chunk;
        size_t width = reading->sites->features;
        site->chunks += whole;
        site->waiting -= rows < site->waiting ? rows : site->waiting;
        memmove(site->dense, site->dense + rows * width,
                site->waiting * width * sizeof *site->dense);
        memmove(site->label, site->label + rows, site->waiting * sizeof *site->label);
        if (site->offset)
            memmove(site->offset, site->offset + rows, site->waiting * sizeof *site->offset);
    }
    fplt__free(scratch);
    fplt_objective_destroy(objective);
    return status;
}

/* The number of an agent of a block among the sites of the file. */
static fplt_status find_site(struct reading *reading, const fplt_dataset *block, uint32_t agent,
                             uint32_t *number, fplt_error *error)
{
    const char *name = fplt_dataset_agent_name(block, agent);
    fplt_status status = FPLT_OK;
    *number = 0;
    if (!name && block->agents > 1)
        return not_in_blocks(error);
    if (name)
        status = fplt__lookup_add(&reading->names, (fplt__span){name, strlen(name)}, number, error);
    if (!status && reading->files > 1 && *number != reading->file)
        return not_in_blocks(error); /* two sites in a file, or one in two */
    if (!status && *number >= reading->count) {
        status = fplt__grow(&reading->site, &reading->site_capacity, *number + 1,
                            sizeof *reading->site, "sites", error);
        reading->count += !status;
    }
    return status;
}

static fplt_status count_filled(struct site *site, const fplt_dataset *block, uint32_t agent,
                                fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (!block->filled)
        return status;
    if (!site->filled)
        status =
            fplt__alloc_into(&site->filled, block->features, sizeof *site->filled, "counts", error);
    for (size_t j = 0; j < block->features && !status; j++)
        site->filled[j] += block->filled[agent * block->features + j];
    return status;
}

static fplt_status add_agent(struct reading *reading, const fplt_dataset *block, uint32_t agent,
                             fplt_error *error)
{
    fplt_rows rows = fplt_dataset_shard(block, agent);
    size_t before = reading->answers.rows, after = before + rows.count;
    uint32_t number;
    fplt_status status = find_site(reading, block, agent, &number, error);
    if (status)
        return status;
    struct site *site = &reading->site[number];
    if ((status = fplt__answers_add(&reading->answers, &rows, error)) ||
        (status = append_rows(site, &rows, error)) ||
        (status = count_filled(site, block, agent, error)) ||
        (site->waiting >= reading->chunk && (status = add_losses(reading, site, 0, error))))
        return status;
    if (reading->count == 1)
        return FPLT_OK;
    if ((status = fplt__grow(&reading->owner, &reading->owner_capacity, after,
                             sizeof *reading->owner, "sites of rows", error)))
        return status; /* rows before the second site have 0 */
    for (size_t r = before; r < after; r++)
        reading->owner[r] = number;
    return FPLT_OK;
}

/* What all blocks have in common. */
static fplt_status begin_reading(struct reading *reading, const fplt_dataset *block,
                                 fplt_error *error)
{
    fplt_dataset *made;
    fplt_status status =
        fplt__answers_check(reading->answers.model, block, reading->answers.threshold, error);
    if (!status)
        status = fplt__dataset_create_empty(0, block->features, 0, block->task, &made, error);
    if (status)
        return status;
    reading->sites = made;
    made->outputs = block->outputs;
    if ((status = fplt__names_copy(&block->feature_names, &made->feature_names, error)) ||
        (status = fplt__names_copy(&block->class_names, &made->class_names, error)) ||
        !block->group)
        return status;
    if ((status =
             fplt__alloc_into(&made->group, made->features, sizeof *made->group, "columns", error)))
        return status;
    memcpy(made->group, block->group, made->features * sizeof *made->group);
    return FPLT_OK;
}

static fplt_status add_block(struct reading *reading, const fplt_dataset *block, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (!block->dense || block->weight || reading->answers.model->kind->whole)
        return not_in_blocks(error);
    if (!reading->sites)
        status = begin_reading(reading, block, error);
    for (uint32_t i = 0; i < block->agents && !status; i++)
        status = add_agent(reading, block, i, error);
    return status;
}

/* Sites, their rows and what was filled in, as the data set of all rows would tell. */
static fplt_status name_sites(struct reading *reading, fplt_error *error)
{
    fplt_dataset *made = reading->sites;
    size_t width = made->features;
    int filled = 0;
    fplt_status status = fplt__resize(&made->first, (size_t)reading->count + 1, sizeof *made->first,
                                      "agents", error);
    if (!status)
        status = fplt__lookup_names(&reading->names, &made->agent_names, error);
    if (status)
        return status;
    made->agents = reading->count;
    for (uint32_t i = 0; i < made->agents; i++) {
        made->first[i + 1] = made->first[i] + reading->site[i].records;
        filled |= reading->site[i].filled != NULL;
    }
    made->rows = made->first[made->agents];
    if (!filled)
        return FPLT_OK;
    status = fplt__alloc_into(&made->filled, made->agents * width, sizeof *made->filled, "counts",
                              error);
    for (uint32_t i = 0; i < made->agents && !status; i++)
        if (reading->site[i].filled)
            memcpy(made->filled + i * width, reading->site[i].filled, width * sizeof *made->filled);
    return status;
}

/* Of many small sites another kernel may be the fastest: then the losses would have other bits. */
static fplt_status check_kernel(const struct reading *reading, fplt_error *error)
{
    fplt__kernel_shape shape = fplt__objective_shape(&reading->cost, reading->sites);
    const fplt__kernel *kernel;
    shape.sparse = 0;
    fplt_status status = fplt__kernel_choose(reading->cost.kernel, &shape, &kernel, error);
    return status || strcmp(kernel->name, reading->kernel) == 0 ? status : not_in_blocks(error);
}

static fplt_status end_losses(struct reading *reading, double *losses, fplt_error *error)
{
    const double *weights = reading->answers.model->info.weights;
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < reading->count && !status; i++) {
        struct site *site = &reading->site[i];
        fplt_objective *objective;
        if (site->waiting)
            status = add_losses(reading, site, 1, error);
        /* any rows make an objective that tells how losses are summed */
        site->waiting = 1;
        if (!status)
            status = waiting_cost(reading, site, &objective, error);
        if (status)
            break;
        losses[i] =
            fplt__objective_value_of_chunks(objective, site->losses, site->records, weights);
        fplt_objective_destroy(objective);
    }
    return status;
}

/* Answers in the order of all rows at once: site after site. */
static fplt_status group_answers(struct reading *reading, fplt_error *error)
{
    size_t *order;
    if (reading->count == 1 ||
        fplt__rows_grouped(reading->sites->first, reading->count, reading->owner,
                           sizeof *reading->owner, reading->answers.rows))
        return FPLT_OK;
    fplt_status status =
        fplt__alloc_into(&order, reading->answers.rows, sizeof *order, "rows", error);
    if (status)
        return status;
    fplt__group_rows(reading->sites->first, reading->count, reading->owner, sizeof *reading->owner,
                     reading->answers.rows, order);
    status = fplt__answers_order(&reading->answers, order, error);
    fplt__free(order);
    return status;
}

static fplt_status end_reading(struct reading *reading, int curve, fplt__evaluation *made,
                               fplt_error *error)
{
    double *losses = NULL;
    fplt_status status;
    const char *what = "the measures";
    if (!reading->sites)
        return not_in_blocks(error); /* no rows */
    if ((status = name_sites(reading, error)) || (status = group_answers(reading, error)) ||
        (status = fplt__alloc_into(&made->each, reading->count, sizeof *made->each, what, error)) ||
        (status = fplt__alloc_into(&losses, reading->count, sizeof *losses, what, error)) ||
        (status = end_losses(reading, losses, error)) || (status = check_kernel(reading, error)) ||
        (status = fplt__answers_measure(&reading->answers, reading->sites->first, reading->count,
                                        losses, made->each, &made->made.all, error)))
        goto end;
    status = fplt__answers_look_closer(&reading->answers, curve, &made->made, error);
    made->dataset = reading->sites;
    reading->sites = NULL;
end:
    fplt__free(losses);
    return status;
}

/* All blocks of a file. */
static fplt_status add_file(struct reading *reading, const fplt_read_settings *settings,
                            fplt__blocks *blocks, fplt_error *error)
{
    const fplt_model *model = reading->answers.model;
    fplt_dataset *block = NULL;
    fplt_status status;
    while (!(status = fplt__model_blocks_next(model, settings, 1, blocks, &block, error)) &&
           block) {
        if (!(status = add_block(reading, block, error)) && !fplt__blocks_are_dense(blocks))
            status = not_in_blocks(error);
        fplt_dataset_destroy(block);
        if (status)
            break;
    }
    return status;
}

static fplt_status evaluate_blocks(const fplt_model *model, const char *const *paths, size_t count,
                                   const fplt_read_settings *settings, double threshold, int curve,
                                   fplt__evaluation *made, fplt_error *error)
{
    struct reading reading = {.answers = {.model = model, .threshold = threshold},
                              .cost = fplt__model_cost(model),
                              .files = (uint32_t)count};
    fplt__blocks *before = NULL, *blocks;
    fplt_status status = FPLT_OK;
    for (; reading.file < count && !status; reading.file++) {
        status = fplt__model_blocks_open(model, paths[reading.file], settings, 1, before, &blocks,
                                         error);
        fplt__blocks_close(before);
        before = blocks;
        if (!status)
            status = add_file(&reading, settings, blocks, error);
        if (!status && reading.count <= reading.file)
            status = not_in_blocks(error); /* a file without rows */
    }
    fplt__blocks_close(before);
    if (!status)
        status = end_reading(&reading, curve, made, error);
    clear_reading(&reading);
    return status;
}

static fplt_status evaluate_whole(const fplt_model *model, const char *const *paths, size_t count,
                                  const fplt_read_settings *settings, double threshold, int curve,
                                  fplt__evaluation *made, fplt_error *error)
{
    fplt_status status =
        fplt_model_dataset(model, paths, count, settings, 1, &made->dataset, error);
    if (!status)
        status = fplt__alloc_into(&made->each, made->dataset->agents, sizeof *made->each,
                                  "the measures", error);
    return status ? status
                  : assess(model, made->dataset, threshold, curve, made->each, &made->made, error);
}

fplt_status fplt__model_evaluate_files(const fplt_model *model, const char *const *paths,
                                       size_t count, const fplt_read_settings *settings,
                                       double threshold, int curve, fplt__evaluation *made,
                                       fplt_error *error)
{
    *made = (fplt__evaluation){.made = {.threshold = threshold}};
    fplt_status status =
        evaluate_blocks(model, paths, count, settings, threshold, curve, made, error);
    if (status) {
        fplt__evaluation_clear(made);
        made->made.threshold = threshold;
    }
    if (status && status != FPLT_NO_MEMORY) /* what is read whole has the sentences */
        status = evaluate_whole(model, paths, count, settings, threshold, curve, made, error);
    if (status)
        fplt__evaluation_clear(made);
    return status;
}

void fplt__evaluation_clear(fplt__evaluation *made)
{
    fplt_assessment_clear(&made->made);
    fplt__free(made->each);
    fplt_dataset_destroy(made->dataset);
    *made = (fplt__evaluation){.made = {.threshold = NAN}};
}
