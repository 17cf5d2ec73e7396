/* Every method of the registry in one process, or in as many as mpirun started: prints a line for each
 * with a digest of all that it leaves behind, which must be the same.
 *
 * usage: whole_ranks [MODULE]        with the module of MPI under mpirun, without it alone */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fedplt.h"
#include "fedplt/generate.h"
#include "fedplt/participation.h"
#include "fedplt/ranks.h"
#include "base/sum.h"
#include "engine/engine_access.h"

enum { AGENTS = 11, N = 6, ROUNDS = 10 };

static uint64_t digest;

static void add(const void *bytes, size_t size)
{
    const unsigned char *c = bytes;
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ c[i]) * UINT64_C(1099511628211); /* FNV-1a */
}

static void must(fplt_status status, const fplt_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static fplt_status visit(void *context, uint32_t agent, const double *kept)
{
    add(&agent, sizeof agent);
    add(kept, *(const size_t *)context * sizeof *kept);
    return FPLT_OK;
}

static void lead(fplt_engine *engine)
{
    double x[N];
    fplt_error error = {FPLT_OK, ""};
    size_t kept = fplt__engine_shape(engine).kept * N;
    for (int k = 0; k < ROUNDS; k++) {
        fplt_measure measure;
        must(fplt_engine_round(engine, &error), &error);
        must(fplt_engine_measure(engine, &measure, &error), &error);
        add(&measure.criterion, sizeof measure.criterion);
        add(&measure.objective, sizeof measure.objective);
        add(&measure.hits, sizeof measure.hits);
    }
    must(fplt_engine_model(engine, x), &error);
    add(x, sizeof x);
    must(fplt__engine_visit(engine, visit, &kept, &error), &error);
    add(&fplt_engine_counters(engine)->gradients, sizeof(double));
}

static void run(const fplt_objective *objective, const fplt_run_settings *settings, int leads)
{
    fplt_engine *engine;
    fplt_error error;
    must(fplt_engine_create(objective, settings, &engine, &error), &error);
    if (leads)
        lead(engine);
    else
        fplt_engine_serve(engine);
    fplt_engine_destroy(engine);
}

/* Carries, signs, and what leaves 128 bits, which is refused. */
static int adds_exactly(fplt_ranks *ranks)
{
    uint64_t all = ranks->count;
    uint64_t words[6] = {UINT64_MAX, 0, UINT64_MAX, UINT64_MAX, 0, UINT64_C(1) << 62};
    ranks->sum(ranks->context, words, 3);
    if (ranks->number)
        return 1;
    int carries = words[0] == -all && words[1] == all - 1;
    int signs = words[2] == -all && words[3] == UINT64_MAX;
    int leaves = words[4] == 0 && words[5] == (all > 1 ? UINT64_C(1) << 63 : UINT64_C(1) << 62);
    fplt__sum *sum = NULL;
    int refused =
        all == 1 || (fplt__sum_create_words(1, FPLT_SUM_EXPONENT, &sum, NULL) == FPLT_OK &&
                     fplt__sum_add_words(sum, 0, words + 4, 1) == FPLT_DIVERGED);
    fplt__sum_destroy(sum);
    return carries && signs && leaves && refused;
}

int main(int argc, char **argv)
{
    void *loaded = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    const fplt_ranks_module *module = loaded ? dlsym(loaded, FPLT_RANKS_MODULE) : NULL;
    fplt_ranks *ranks = module ? module->begin() : NULL;
    fplt_generate_settings data = fplt_generate_defaults();
    fplt_objective_settings cost = fplt_objective_defaults();
    fplt_participation_settings half = {.rule = "fixed", .count = AGENTS / 2};
    fplt_error error;
    fplt_dataset *dataset;
    fplt_objective *objective;
    fplt_participation *partial;
    const fplt_algorithm *algorithm;
    if (argc > 1 && !ranks)
        return 1;
    if (ranks && !adds_exactly(ranks)) {
        fprintf(stderr, "the sum of integers is wrong\n");
        exit(1);
    }
    data.agents = AGENTS;
    data.features = N;
    data.rows = 40;
    must(fplt_dataset_generate(&data, &dataset, &error), &error);
    must(fplt_objective_create(&cost, dataset, &objective, &error), &error);
    must(fplt_participation_create(&half, AGENTS, &partial, &error), &error);
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++)
        for (int part = 0; part < 2; part++) {
            fplt_run_settings settings = fplt_run_defaults();
            settings.algorithm = algorithm;
            settings.participation = part ? partial : NULL;
            settings.start = FPLT_START_RANDOM;
            settings.threads = 1 + (unsigned)i % 2;
            settings.ranks = ranks;
            if (fplt_algorithm_allow(algorithm, settings.training.solver, part, 0, 0, &error))
                continue;
            digest = UINT64_C(14695981039346656037);
            run(objective, &settings, !ranks || !ranks->number);
            if (!ranks || !ranks->number)
                printf("%s %s %016llx\n", algorithm->name, part ? "half" : "all",
                       (unsigned long long)digest);
        }
    fplt_participation_destroy(partial);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(dataset);
    if (module)
        module->end();
    return 0;
}
