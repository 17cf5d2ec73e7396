/* Research: theory, comparison, tuning and the paper's tables. Long experiments run beside R's thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "fedplt/algorithm.h"
#include "fedplt/compare.h"
#include "fedplt/job.h"
#include "fedplt/paper.h"
#include "fedplt/theory.h"
#include "fedplt/tune.h"
#include "fedplt_r.h"

/* ---- theory ---- */

/* numbers: lmin, lmax, agents, dimension, rho (NA: automatic), gamma (NA), epochs, accelerated, participation, tau,
 * rounds. */
SEXP fpltr_theory(SEXP numbers)
{
    static const char *const names[] = {"guaranteed", "rate",  "model_rate", "rho",
                                        "gamma",      "table", "bound"};
    static const char *const columns[] = {"name",  "meaning", "advice", "printed",
                                          "holds", "value",   "limit"};
    const double *n = REAL(numbers);
    fplt_error error = {.status = FPLT_OK};
    fplt_theory_problem problem = {n[0], n[1], (uint64_t)n[2], (uint64_t)n[3]};
    fplt_theory_parameters parameters = fplt_theory_defaults(&problem);
    fplt_theory_verdict *verdict = (fplt_theory_verdict *)R_alloc(1, sizeof *verdict);
    if (!isnan(n[4])) {
        parameters.rho = n[4];
        parameters.step = fplt_theory_best_step(&problem, n[4]);
    }
    if (!isnan(n[5]))
        parameters.step = n[5];
    parameters.epochs = (uint32_t)n[6];
    parameters.accelerated = n[7] != 0;
    parameters.participation_least = parameters.participation_most = n[8];
    parameters.noise_tau = n[9];
    fpltr_check(fplt_theory_judge(&problem, &parameters, verdict, &error), &error);
    SEXP list = PROTECT(fpltr_list(names, 7));
    SET_VECTOR_ELT(list, 0, Rf_ScalarLogical(verdict->guaranteed));
    SET_VECTOR_ELT(list, 1, Rf_ScalarReal(verdict->weighted.rate));
    SET_VECTOR_ELT(list, 2, Rf_ScalarReal(fplt_theory_quadratic_rate(&problem, &parameters).rate));
    SET_VECTOR_ELT(list, 3, Rf_ScalarReal(parameters.rho));
    SET_VECTOR_ELT(list, 4, Rf_ScalarReal(parameters.step));
    SET_VECTOR_ELT(list, 5, fpltr_frame(columns, "TTTNNNN", (R_xlen_t)verdict->count));
    for (size_t i = 0; i < verdict->count; i++) {
        const fplt_theory_finding *one = &verdict->finding[i];
        SEXP table = VECTOR_ELT(list, 5);
        R_xlen_t at = (R_xlen_t)i;
        fpltr_set_text(table, 0, at, one->name);
        fpltr_set_text(table, 1, at, one->meaning);
        fpltr_set_text(table, 2, at, one->advice);
        fpltr_set_number(table, 3, at, one->printed != 0);
        fpltr_set_number(table, 4, at, one->holds != 0);
        fpltr_set_number(table, 5, at, one->value);
        fpltr_set_number(table, 6, at, one->limit);
    }
    R_xlen_t rounds = (R_xlen_t)n[10];
    SET_VECTOR_ELT(list, 6, Rf_allocVector(REALSXP, rounds + 1));
    for (R_xlen_t k = 0; k <= rounds; k++)
        REAL(VECTOR_ELT(list, 6))[k] = fplt_theory_bound_at(&verdict->weighted, 1, (uint64_t)k);
    UNPROTECT(1);
    return list;
}

/* ---- comparison ---- */

typedef struct fpltr_comparing {
    fpltr_beside beside;
    fplt_compare_settings wanted;
    fplt_comparison *made;
    fplt_dataset *dataset;
    fplt_status status;
    fplt_error error;
} fpltr_comparing;

static void compare(void *context)
{
    fpltr_comparing *own = context;
    own->status = fplt_comparison_create(&own->wanted, &own->made, &own->error);
}

static void release_comparing(void *context)
{
    fpltr_comparing *own = context;
    fplt_comparison_destroy(own->made);
    fplt_dataset_destroy(own->dataset);
    own->made = NULL;
    own->dataset = NULL;
}

static void finalize_comparing(SEXP pointer)
{
    if (R_ExternalPtrAddr(pointer))
        release_comparing(R_ExternalPtrAddr(pointer));
    free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static void set_spread(SEXP table, int column, R_xlen_t row, const fplt_compared *one,
                       const fplt_spread *spread)
{
    fpltr_set_number(table, column, row, one->refusal ? NAN : spread->median);
    fpltr_set_number(table, column + 1, row, one->refusal ? NAN : spread->low);
    fpltr_set_number(table, column + 2, row, one->refusal ? NAN : spread->high);
}

static SEXP compared_table(const fplt_comparison *made)
{
    static const char *const names[] = {
        "algorithm",      "refusal",         "rounds",  "rounds_low",  "rounds_high",  "gradients",
        "gradients_low",  "gradients_high",  "vectors", "vectors_low", "vectors_high", "paper_time",
        "paper_time_low", "paper_time_high", "runs",    "failures",    "diverged",     "step"};
    R_xlen_t count = (R_xlen_t)fplt_comparison_count(made);
    SEXP table = PROTECT(fpltr_frame(names, "TTNNNNNNNNNNNNNNNN", count));
    for (R_xlen_t i = 0; i < count; i++) {
        const fplt_compared *one = fplt_comparison_get(made, (size_t)i);
        fpltr_set_text(table, 0, i, one->algorithm->name);
        fpltr_set_text(table, 1, i, one->refusal);
        set_spread(table, 2, i, one, &one->rounds);
        set_spread(table, 5, i, one, &one->gradients);
        set_spread(table, 8, i, one, &one->vectors);
        set_spread(table, 11, i, one, &one->paper_time);
        fpltr_set_number(table, 14, i, one->runs);
        fpltr_set_number(table, 15, i, one->refusal ? one->runs : one->failures);
        fpltr_set_number(table, 16, i, one->diverged);
        fpltr_set_number(table, 17, i, one->step);
    }
    UNPROTECT(1);
    return table;
}

static SEXP compared_curves(const fplt_comparison *made)
{
    static const char *const names[] = {"algorithm", "round",      "gradients",
                                        "vectors",   "paper_time", "criterion"};
    size_t count = 0, at = 0;
    for (size_t i = 0; i < fplt_comparison_count(made); i++)
        count += fplt_comparison_get(made, i)->curve.count;
    SEXP table = PROTECT(fpltr_frame(names, "TNNNNN", (R_xlen_t)count));
    for (size_t i = 0; i < fplt_comparison_count(made); i++) {
        const fplt_compared *one = fplt_comparison_get(made, i);
        const fplt_curve *curve = &one->curve;
        for (size_t k = 0; k < curve->count; k++, at++) {
            R_xlen_t row = (R_xlen_t)at;
            fpltr_set_text(table, 0, row, one->algorithm->name);
            fpltr_set_number(table, 1, row, curve->round[k]);
            fpltr_set_number(table, 2, row, curve->gradients[k]);
            fpltr_set_number(table, 3, row, curve->vectors[k]);
            fpltr_set_number(table, 4, row, curve->paper_time[k]);
            fpltr_set_number(table, 5, row, curve->criterion[k]);
        }
    }
    UNPROTECT(1);
    return table;
}

static const fplt_algorithm **find_algorithms(SEXP names)
{
    R_xlen_t count = Rf_isNull(names) ? 0 : XLENGTH(names);
    const fplt_algorithm **found =
        (const fplt_algorithm **)R_alloc((size_t)count + 1, sizeof *found);
    for (R_xlen_t i = 0; i < count; i++) {
        const char *name = Rf_translateCharUTF8(STRING_ELT(names, i));
        fplt_error error;
        found[i] = fplt_algorithm_find(name);
        if (!found[i]) {
            fplt_error_set(&error, FPLT_BAD_VALUE,
                           "there is no algorithm '%.100s'; fedplt list algorithms lists them",
                           name);
            fpltr_fail(&error);
        }
    }
    return found;
}

/* settings: of kind compare; data: of fpltr_dataset, used up, or NULL; numbers: runs, tune, points (0: default), threads. */
SEXP fpltr_compare(SEXP settings, SEXP data, SEXP algorithms, SEXP numbers)
{
    static const char *const names[] = {"table", "curves", "target"};
    const double *n = REAL(numbers);
    const fplt_algorithm **chosen = find_algorithms(algorithms);
    SEXP pointer = PROTECT(fpltr_pointer(finalize_comparing));
    fpltr_comparing *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    own->dataset = Rf_isNull(data) ? NULL : fpltr_dataset_take(data);
    own->wanted = fplt_compare_defaults(fpltr_settings_of(settings));
    own->wanted.algorithms = Rf_isNull(algorithms) ? NULL : chosen;
    own->wanted.count = Rf_isNull(algorithms) ? 0 : (size_t)XLENGTH(algorithms);
    own->wanted.runs = (uint32_t)n[0];
    own->wanted.tune = n[1] != 0;
    if (n[2] > 0)
        own->wanted.points = (unsigned)n[2];
    own->wanted.threads = (unsigned)n[3];
    own->wanted.dataset = own->dataset;
    own->wanted.watch = fpltr_beside_watch;
    own->wanted.stop = fpltr_beside_asked;
    own->wanted.context = &own->beside;
    own->beside.work = compare;
    own->beside.context = own;
    fpltr_beside_run(&own->beside, release_comparing);
    if (own->status) {
        fplt_error error = own->error;
        finalize_comparing(pointer);
        fpltr_fail(&error);
    }
    SEXP list = PROTECT(fpltr_list(names, 3));
    SET_VECTOR_ELT(list, 0, compared_table(own->made));
    SET_VECTOR_ELT(list, 1, compared_curves(own->made));
    SET_VECTOR_ELT(list, 2, Rf_ScalarReal(fplt_comparison_target(own->made)));
    finalize_comparing(pointer);
    UNPROTECT(2);
    return list;
}

/* ---- tuning ---- */

typedef struct fpltr_tuning {
    fpltr_beside beside;
    const fplt_settings *settings; /* NULL: bounds of the curvature instead of data */
    fplt_job_source source;
    uint32_t agents;
    fplt_job *job;
    fplt_tune_settings wanted;
    double parameter[FPLT_MAX_PARAMETERS];
    fplt_tuning made;
    fplt_status status;
    fplt_error error;
} fpltr_tuning;

/* The run of the job, in which what is given is kept and the rest is searched. */
static fplt_status take_run(fpltr_tuning *own)
{
    const fplt_settings *settings = own->settings;
    const fplt_algorithm *algorithm =
        fplt_algorithm_find(fplt_settings_text(settings, "algorithm"));
    fplt_status status = fplt_job_create_from(settings, 0, &own->source, &own->job, &own->error);
    own->source.dataset = NULL; /* taken over */
    if (status)
        return status;
    if (!algorithm)
        return fplt_error_set(
            &own->error, FPLT_BAD_VALUE,
            "algorithm is auto, but tuning needs one: fed-plt or fed-plt-anderson");
    own->wanted.run = fplt_job_get_view(own->job)->run;
    fplt_run_settings *run = &own->wanted.run;
    run->algorithm = algorithm;
    fplt_algorithm_read(algorithm, settings, own->parameter);
    run->parameter = own->parameter;
    if ((status = fplt_job_training(settings, &run->training, &own->error)))
        return status;
    if (!fplt_settings_given(settings, "epochs"))
        run->training.epochs = 0;
    run->tolerance = fplt_settings_real(settings, "tolerance");
    run->relative = fplt_settings_switch(settings, "relative");
    run->gradient_time = fplt_settings_real(settings, "t-gradient");
    run->communication_time = fplt_settings_real(settings, "t-communication");
    return FPLT_OK;
}

static void search(void *context)
{
    fpltr_tuning *own = context;
    if (own->settings && (own->status = take_run(own)))
        return;
    own->status = fplt_tune(own->job ? fplt_job_get_view(own->job)->objective : NULL, own->agents,
                            &own->wanted, &own->made, &own->error);
}

static void release_tuning(void *context)
{
    fpltr_tuning *own = context;
    fplt_tuning_clear(&own->made);
    fplt_job_destroy(own->job);
    fplt_dataset_destroy(own->source.dataset);
    own->job = NULL;
    own->source.dataset = NULL;
}

static void finalize_tuning(SEXP pointer)
{
    if (R_ExternalPtrAddr(pointer))
        release_tuning(R_ExternalPtrAddr(pointer));
    free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static SEXP tuning_list(const fplt_tuning *made)
{
    static const char *const names[] = {"table", "reasoning", "rounds_spent"};
    static const char *const columns[] = {"origin",          "rho",          "gamma",
                                          "epochs",          "rate",         "rounds",
                                          "criterion",       "reached",      "diverged",
                                          "expected_rounds", "expected_time"};
    SEXP list = PROTECT(fpltr_list(names, 3));
    SET_VECTOR_ELT(list, 0, fpltr_frame(columns, "TNNNNNNNNNN", (R_xlen_t)made->count));
    for (size_t i = 0; i < made->count; i++) {
        const fplt_tune_candidate *one = &made->candidate[i];
        const double row[] = {one->rho,
                              one->step > 0 ? one->step : NAN,
                              one->epochs,
                              one->rate,
                              one->stage ? (double)one->rounds : NAN,
                              one->criterion,
                              one->reached,
                              one->left,
                              one->expected_rounds,
                              one->expected_time};
        fpltr_set_text(VECTOR_ELT(list, 0), 0, (R_xlen_t)i, one->origin);
        for (int c = 0; c < 10; c++)
            fpltr_set_number(VECTOR_ELT(list, 0), c + 1, (R_xlen_t)i, row[c]);
    }
    SET_VECTOR_ELT(list, 1, fpltr_text(made->reasoning));
    SET_VECTOR_ELT(list, 2, Rf_ScalarReal((double)made->rounds_spent));
    UNPROTECT(1);
    return list;
}

/* numbers: lmin and lmax (NA: not known), agents, tolerance, t_G, t_C, method (0 theory, 1 experiment, 2 both), rounds,
 * threads. settings: of kind tune, or NULL: bounds alone; data: of fpltr_dataset, used up. */
SEXP fpltr_tune(SEXP numbers, SEXP settings, SEXP data)
{
    const double *n = REAL(numbers);
    SEXP pointer = PROTECT(fpltr_pointer(finalize_tuning));
    fpltr_tuning *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    own->wanted = fplt_tune_defaults();
    own->wanted.method = (fplt_tune_method)(int)n[6];
    own->wanted.rounds = (uint64_t)n[7];
    own->wanted.watch = fpltr_beside_watch;
    own->wanted.context = &own->beside;
    own->agents = (uint32_t)n[2];
    if (Rf_isNull(settings)) {
        own->wanted.run.curvature = (fplt_curvature){n[0], n[1]};
        own->wanted.run.tolerance = n[3];
        own->wanted.run.gradient_time = n[4];
        own->wanted.run.communication_time = n[5];
        own->wanted.first_criterion = 1;
    } else {
        own->settings = fpltr_settings_of(settings);
        own->source.dataset = Rf_isNull(data) ? NULL : fpltr_dataset_take(data);
    }
    own->beside.work = search;
    own->beside.context = own;
    fpltr_beside_run(&own->beside, release_tuning);
    if (own->status) {
        fplt_error error = own->error;
        finalize_tuning(pointer);
        fpltr_fail(&error);
    }
    SEXP list = PROTECT(tuning_list(&own->made));
    finalize_tuning(pointer);
    UNPROTECT(2);
    return list;
}

/* ---- the paper's tables ---- */

typedef struct fpltr_papering {
    fpltr_beside beside;
    fplt_paper_settings wanted;
    fplt_paper *made;
    fplt_status status;
    fplt_error error;
} fpltr_papering;

static void compute_paper(void *context)
{
    fpltr_papering *own = context;
    own->status = fplt_paper_create(&own->wanted, &own->made, &own->error);
}

static void release_papering(void *context)
{
    fpltr_papering *own = context;
    fplt_paper_destroy(own->made);
    own->made = NULL;
}

static void finalize_papering(SEXP pointer)
{
    if (R_ExternalPtrAddr(pointer))
        release_papering(R_ExternalPtrAddr(pointer));
    free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

/* The names of the tables, and their titles. */
SEXP fpltr_paper_names(void)
{
    static const char *const columns[] = {"name", "title"};
    const char *label, *title, *name;
    size_t count = 0;
    while (fplt_paper_list(count, &label, &title))
        count++;
    SEXP table = PROTECT(fpltr_frame(columns, "TT", (R_xlen_t)count));
    for (size_t i = 0; i < count; i++) {
        name = fplt_paper_list(i, &label, &title);
        fpltr_set_text(table, 0, (R_xlen_t)i, name);
        fpltr_set_text(table, 1, (R_xlen_t)i, title);
    }
    UNPROTECT(1);
    return table;
}

static SEXP paper_cells(const fplt_paper *made)
{
    static const char *const columns[] = {"table",  "row",  "column",  "parameters", "refusal",
                                          "paper",  "ours", "low",     "median",     "high",
                                          "rounds", "runs", "failures"};
    size_t count = 0, at = 0;
    const fplt_paper_table *one;
    for (size_t i = 0; (one = fplt_paper_get_view(made, i)); i++)
        count += one->count;
    SEXP table = PROTECT(fpltr_frame(columns, "TTTTTNNNNNNNN", (R_xlen_t)count));
    for (size_t i = 0; (one = fplt_paper_get_view(made, i)); i++)
        for (size_t k = 0; k < one->count; k++, at++) {
            const fplt_paper_cell *cell = &one->cells[k];
            const double numbers[] = {cell->paper, cell->ours,   cell->low,  cell->median,
                                      cell->high,  cell->rounds, cell->runs, cell->failures};
            fpltr_set_text(table, 0, (R_xlen_t)at, one->name);
            fpltr_set_text(table, 1, (R_xlen_t)at, cell->row);
            fpltr_set_text(table, 2, (R_xlen_t)at, cell->column);
            fpltr_set_text(table, 3, (R_xlen_t)at, cell->parameters);
            fpltr_set_text(table, 4, (R_xlen_t)at, cell->refusal);
            for (int c = 0; c < 8; c++)
                fpltr_set_number(table, 5 + c, (R_xlen_t)at, numbers[c]);
        }
    UNPROTECT(1);
    return table;
}

/* numbers: bits of the tables, seed, seeds, runs, points (0: default), threads. */
SEXP fpltr_paper(SEXP numbers)
{
    const double *n = REAL(numbers);
    SEXP pointer = PROTECT(fpltr_pointer(finalize_papering));
    fpltr_papering *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    own->wanted = fplt_paper_defaults();
    own->wanted.tables = (unsigned)n[0];
    own->wanted.seed = (uint64_t)n[1];
    own->wanted.seeds = (uint32_t)n[2];
    own->wanted.runs = (uint32_t)n[3];
    if (n[4] > 0)
        own->wanted.points = (unsigned)n[4];
    own->wanted.threads = (unsigned)n[5];
    own->wanted.watch = fpltr_beside_watch;
    own->wanted.stop = fpltr_beside_asked;
    own->wanted.context = &own->beside;
    own->beside.work = compute_paper;
    own->beside.context = own;
    fpltr_beside_run(&own->beside, release_papering);
    if (own->status) {
        fplt_error error = own->error;
        finalize_papering(pointer);
        fpltr_fail(&error);
    }
    SEXP table = PROTECT(paper_cells(own->made));
    finalize_papering(pointer);
    UNPROTECT(2);
    return table;
}
