/* Checkpoints: the whole state between two rounds. Layout, all in the machine's byte order:
 *
 *     magic, head (fixed size), updates, coordinator vectors, numbers, running sums, agents' state,
 *     hash of everything before it (BLAKE2b, 32 bytes)
 *
 * The head carries a hash of what the run is: settings, parameters, kernel, precision, h by way of its proximal
 * operator at some points, participation by way of the first cohorts, and the data by way of the
 * exact gradient at zero. A file with another one is refused. */
#include "base/sum.h"
#include "engine/engine.h"

#include <stdint.h>
#include <string.h>

#include <sodium.h>

#include "base/file.h"
#include "base/memory.h"
#include "engine/engine_access.h"
#include "engine/hub_node.h"
#include "objective/objective_access.h"
#include "participation/participation.h"
#include "prox/prox_access.h"

enum { HASH = 32, COHORTS = 32 };

static const char magic[16] = "fedplt-state-3\n";
static const uint64_t byte_order = UINT64_C(0x0102030405060708);

/* Without padding, which would carry stray bytes of memory into the file. */
struct head {
    char magic[16];
    uint64_t byte_order;
    char algorithm[32], kernel[32], precision[16];
    uint64_t dimension, agents, seed, run;
    uint64_t round, last_active, started, seen;
    double moved;
    fplt_counters counters;
    double start_criterion, start_objective;
    uint64_t start_hits, start_records, start_classifies;
    unsigned char identity[HASH];
};

/* Bytes on their way to or from a file, hashed as they pass. */
struct carrier {
    fplt__file *file;   /* saving */
    const char *cursor; /* loading */
    crypto_generichash_state hash;
    fplt_error *error;
};

static fplt_status write_bytes(void *context, void *bytes, size_t size)
{
    struct carrier *carrier = context;
    crypto_generichash_update(&carrier->hash, bytes, size);
    return fplt__file_write(carrier->file, bytes, size, carrier->error);
}

static fplt_status read_bytes(void *context, void *bytes, size_t size)
{
    struct carrier *carrier = context;
    memcpy(bytes, carrier->cursor, size);
    carrier->cursor += size;
    return FPLT_OK;
}

static void hash_text(crypto_generichash_state *hash, const char *text)
{
    crypto_generichash_update(hash, (const unsigned char *)text, strlen(text) + 1);
}

static void hash_number(crypto_generichash_state *hash, double number)
{
    crypto_generichash_update(hash, (const unsigned char *)&number, sizeof number);
}

static void hash_training(crypto_generichash_state *hash, const fplt_training *training)
{
    hash_text(hash, training->solver->name);
    const double numbers[] = {training->step,        training->epochs,  training->batch,
                              training->replacement, training->by_pass, training->noise_tau,
                              training->tolerance,   training->memory};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash_number(hash, numbers[i]);
}

/* The data, through the sum of all gradients at zero; that there is none may be all there is. */
static void hash_data(fplt_engine *engine, crypto_generichash_state *hash)
{
    memset(engine->point, 0, engine->plan.dimension * sizeof(double));
    fplt__sum_clear(engine->sum);
    fplt_status status =
        engine->fleet->verbs->evaluate(engine->fleet, engine->point, engine->sum, NULL);
    hash_number(hash, status);
    for (size_t i = 0; !status && i < engine->plan.dimension + FPLT__MEASURES; i++) {
        uint64_t words[2];
        fplt__sum_export(engine->sum, i, words, 1);
        crypto_generichash_update(hash, (const unsigned char *)words, sizeof words);
    }
}

/* h through its proximal operator, at points of many sizes: weights, bounds and radii all show. */
static void hash_prox(fplt_engine *engine, crypto_generichash_state *hash)
{
    size_t n = engine->plan.dimension;
    hash_text(hash, fplt__prox_name(engine->prox));
    if (fplt__prox_is_zero(engine->prox))
        return;
    for (double size = 1e-6; size < 1e7; size *= 10) {
        fplt_stream stream = fplt_stream_make(0, 0, FPLT_FOR_TEST, 0, 0, 0);
        for (size_t j = 0; j < n; j++)
            engine->point[j] = size * (2 * fplt_stream_uniform(&stream) - 1);
        fplt_status status = fplt_prox_apply(engine->prox, 1, engine->point, engine->point);
        hash_number(hash, status);
        for (size_t j = 0; !status && j < n; j++)
            hash_number(hash, engine->point[j]);
    }
}

static void hash_participation(fplt_engine *engine, crypto_generichash_state *hash)
{
    hash_text(hash, fplt__participation_name(engine->participation));
    for (uint64_t k = 0; k < COHORTS && !fplt__participation_is_full(engine->participation); k++) {
        uint32_t active = fplt_participation_choose(engine->participation, engine->plan.seed,
                                                    engine->plan.run, k, engine->active);
        hash_number(hash, active);
        crypto_generichash_update(hash, (const unsigned char *)engine->active,
                                  active * sizeof *engine->active);
    }
}

static void hash_agents(const fplt_engine *engine, crypto_generichash_state *hash)
{
    if (!engine->each)
        hash_training(hash, &engine->settings.training);
    for (uint32_t i = 0; i < engine->plan.agents; i++) {
        if (engine->each)
            hash_training(hash, &engine->each[i]);
        hash_number(hash, fplt__engine_step(engine, i));
        hash_number(hash, engine->curvatures[i].lowest);
        hash_number(hash, engine->curvatures[i].highest);
        hash_number(hash, fplt__participation_rate(engine->participation, i));
    }
}

static void identify(fplt_engine *engine)
{
    if (engine->identified)
        return;
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, HASH);
    hash_text(&hash, engine->plan.algorithm->name);
    hash_text(&hash, fplt__objective_kernel(engine->objective));
    hash_text(&hash, fplt__objective_precision(engine->objective));
    for (size_t i = 0; i < fplt_algorithm_parameters(engine->plan.algorithm); i++)
        hash_number(&hash, engine->plan.parameter[i]);
    if (engine->plan.unit > 0)
        hash_number(&hash, engine->plan.unit);
    hash_agents(engine, &hash);
    hash_prox(engine, &hash);
    hash_participation(engine, &hash);
    hash_data(engine, &hash);
    crypto_generichash_final(&hash, engine->identity, HASH);
    engine->identified = 1;
}

static void fill_head(const fplt_engine *engine, struct head *head)
{
    memset(head, 0, sizeof *head);
    memcpy(head->magic, magic, sizeof magic);
    head->byte_order = byte_order;
    strncpy(head->algorithm, engine->plan.algorithm->name, sizeof head->algorithm - 1);
    strncpy(head->kernel, fplt__objective_kernel(engine->objective), sizeof head->kernel - 1);
    strncpy(head->precision, fplt__objective_precision(engine->objective),
            sizeof head->precision - 1);
    head->dimension = engine->plan.dimension;
    head->agents = engine->plan.agents;
    head->seed = engine->plan.seed;
    head->run = engine->plan.run;
    head->round = engine->round;
    head->last_active = engine->last_active;
    head->started = (uint64_t)engine->started;
    head->seen = engine->seen;
    head->moved = engine->moved;
    head->counters = engine->counters;
    head->start_criterion = engine->start.criterion;
    head->start_objective = engine->start.objective;
    head->start_hits = engine->start.hits;
    head->start_records = engine->start.records;
    head->start_classifies = (uint64_t)engine->start.classifies;
    memcpy(head->identity, engine->identity, HASH);
}

struct pieces {
    const fplt_engine *engine;
    fplt_status (*visit)(void *, void *, size_t);
    void *context;
};

static fplt_status visit_piece(void *context, uint32_t first, uint32_t agents, double *numbers)
{
    const struct pieces *pieces = context;
    size_t size = pieces->engine->hub->shape.kept * pieces->engine->plan.dimension;
    (void)first;
    return pieces->visit(pieces->context, numbers, agents * size * sizeof *numbers);
}

/* Visits everything behind the head, in the order of the file. */
static fplt_status visit_state(fplt_engine *engine, uint64_t *totals, fplt__direction direction,
                               fplt_status (*visit)(void *, void *, size_t), void *context)
{
    struct pieces pieces = {engine, visit, context};
    fplt_hub *hub = engine->hub;
    size_t n = engine->plan.dimension;
    fplt_status status;
    if ((status = visit(context, engine->updates, engine->plan.agents * sizeof(uint64_t))) ||
        (status = visit(context, engine->before, n * sizeof(double))) ||
        (status = visit(context, hub->view.vector, hub->shape.vectors * n * sizeof(double))) ||
        (status = visit(context, hub->view.number, hub->shape.numbers * sizeof(double))) ||
        (status = visit(context, totals, 2 * fplt__sum_length(hub->totals) * sizeof(uint64_t))))
        return status;
    return engine->fleet->verbs->carry(engine->fleet, direction, visit_piece, &pieces, NULL);
}

/* Bytes of a file of this run. */
static size_t file_size(const fplt_engine *engine)
{
    const fplt_shape *shape = &engine->hub->shape;
    size_t n = engine->plan.dimension, agents = engine->plan.agents;
    size_t numbers = agents + n + shape->vectors * n + shape->numbers +
                     2 * fplt__sum_length(engine->hub->totals) + agents * shape->kept * n;
    return sizeof(struct head) + numbers * sizeof(double) + HASH;
}

static fplt_status totals_buffer(const fplt_engine *engine, uint64_t **totals, fplt_error *error)
{
    return fplt__alloc_into(totals, 2 * fplt__sum_length(engine->hub->totals), sizeof **totals,
                            "a checkpoint", error);
}

fplt_status fplt_engine_save(fplt_engine *engine, const char *path, fplt_error *error)
{
    struct head head;
    uint64_t *totals;
    if (engine->failure.status) {
        if (error)
            *error = engine->failure;
        return engine->failure.status;
    }
    identify(engine);
    fplt_status status = totals_buffer(engine, &totals, error);
    if (status)
        return status;
    fplt__sum_export(engine->hub->totals, 0, totals, fplt__sum_length(engine->hub->totals));
    fill_head(engine, &head);
    struct carrier carrier = {.error = error};
    crypto_generichash_init(&carrier.hash, NULL, 0, HASH);
    status = fplt__file_open(path, 0600, &carrier.file, error);
    if (!status) {
        unsigned char hash[HASH];
        status = write_bytes(&carrier, &head, sizeof head);
        if (!status)
            status = visit_state(engine, totals, FPLT__OUT, write_bytes, &carrier);
        crypto_generichash_final(&carrier.hash, hash, HASH);
        if (!status)
            status = fplt__file_write(carrier.file, hash, HASH, error);
        if (status)
            fplt__file_abort(carrier.file);
        else
            status = fplt__file_commit(carrier.file, error);
    }
    fplt__free(totals);
    return status;
}

/* Whether the file is whole, and of this run. */
static fplt_status check_checkpoint(const fplt_engine *engine, const char *path, const char *text,
                                    size_t length, size_t expected, fplt_error *error)
{
    struct head head, own;
    unsigned char hash[HASH];
    if (length < sizeof head || memcmp(text, magic, sizeof magic) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: this is not a checkpoint of fedplt", path);
    memcpy(&head, text, sizeof head);
    crypto_generichash(hash, HASH, (const unsigned char *)text, length - HASH, NULL, 0);
    if (memcmp(hash, text + length - HASH, HASH) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s: the checkpoint is damaged or cut short",
                              path);
    fill_head(engine, &own);
    head.algorithm[sizeof head.algorithm - 1] = head.kernel[sizeof head.kernel - 1] = 0;
    if (head.byte_order != byte_order)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the checkpoint is from a machine of another byte order", path);
    if (strcmp(head.algorithm, own.algorithm) != 0 || strcmp(head.kernel, own.kernel) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the checkpoint is of %s with the %s kernel, but this run is %s "
                              "with the %s kernel",
                              path, head.algorithm, head.kernel, own.algorithm, own.kernel);
    head.precision[sizeof head.precision - 1] = 0;
    if (strcmp(head.precision, own.precision) != 0)
        return fplt_error_set(
            error, FPLT_BAD_DATA,
            "%s: the checkpoint is of rows kept as %s, but this run keeps them as "
            "%s (precision)",
            path, head.precision, own.precision);
    if (head.dimension != own.dimension || head.agents != own.agents)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the checkpoint is of %llu agents and %llu coordinates, but this "
                              "run has %llu and %llu",
                              path, (unsigned long long)head.agents,
                              (unsigned long long)head.dimension, (unsigned long long)own.agents,
                              (unsigned long long)own.dimension);
    if (head.seed != own.seed || head.run != own.run)
        return fplt_error_set(
            error, FPLT_BAD_DATA,
            "%s: the checkpoint has seed %llu and run %llu, but this is seed %llu "
            "and run %llu",
            path, (unsigned long long)head.seed, (unsigned long long)head.run,
            (unsigned long long)own.seed, (unsigned long long)own.run);
    if (memcmp(head.identity, own.identity, HASH) != 0 || length != expected)
        return fplt_error_set(
            error, FPLT_BAD_DATA,
            "%s: the checkpoint is of other data or other settings (solver, step, "
            "epochs, parameters, participation)",
            path);
    return FPLT_OK;
}

static fplt_status restore(fplt_engine *engine, const char *text, uint64_t *totals,
                           fplt_error *error)
{
    struct head head;
    memcpy(&head, text, sizeof head);
    struct carrier carrier = {.cursor = text + sizeof head};
    fplt_status status = visit_state(engine, totals, FPLT__IN, read_bytes, &carrier);
    if (status)
        return fplt_error_set(error, status, "the agents' state cannot be restored");
    engine->round = head.round;
    engine->last_active = (uint32_t)head.last_active;
    engine->started = (int)head.started;
    engine->seen = head.seen;
    engine->moved = head.moved;
    engine->counters = head.counters;
    engine->start = (fplt_measure){.criterion = head.start_criterion,
                                   .objective = head.start_objective,
                                   .hits = head.start_hits,
                                   .records = head.start_records,
                                   .classifies = (int)head.start_classifies};
    engine->failure = (fplt_error){FPLT_OK, ""};
    fplt__sum_clear(engine->hub->totals);
    status =
        fplt__sum_add_words(engine->hub->totals, 0, totals, fplt__sum_length(engine->hub->totals));
    fplt__hub_refresh(engine->hub);
    return status ? fplt_error_set(error, status, "the running sums are out of range") : FPLT_OK;
}

fplt_status fplt_engine_load(fplt_engine *engine, const char *path, fplt_error *error)
{
    char *text = NULL;
    uint64_t *totals = NULL;
    size_t length = 0;
    identify(engine);
    fplt_status status = fplt__file_read(path, SIZE_MAX / 4, &text, &length, error);
    if (!status)
        status = totals_buffer(engine, &totals, error);
    if (!status)
        status = check_checkpoint(engine, path, text, length, file_size(engine), error);
    if (!status)
        status = restore(engine, text, totals, error);
    fplt__free(text);
    fplt__free(totals);
    return status;
}
