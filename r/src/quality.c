/* How well a model predicts: evaluation, cross-validation, and the comparison with each site alone and with all rows in one
 * place. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "beside.h"
#include "fedplt/assessment.h"
#include "fedplt/memory.h"
#include "fedplt/partition.h"
#include "fedplt/validate.h"
#include "fedplt_r.h"

/* ---- evaluation ---- */

typedef struct fpltr_evaluating {
    fplt_assessment made;
    fplt_quality *each;
} fpltr_evaluating;

static void finalize_evaluating(SEXP pointer)
{
    fpltr_evaluating *own = R_ExternalPtrAddr(pointer);
    if (!own)
        return;
    fplt_assessment_clear(&own->made);
    free(own->each);
    free(own);
    R_ClearExternalPtr(pointer);
}

/* One line a site and one for all of them, whose name is missing. */
static SEXP sites_list(const fpltr_evaluating *own, const fplt_dataset *rows)
{
    static const char *const names[] = {"site",        "rows",      "loss",   "accuracy",
                                        "auc",         "f1",        "brier",  "rmse",
                                        "r2",          "precision", "recall", "deviance",
                                        "concordance", "weight"};
    uint32_t agents = fplt_dataset_agents(rows);
    SEXP list = PROTECT(fpltr_frame(names, "TNNNNNNNNNNNNN", (R_xlen_t)agents + 1));
    for (uint32_t i = 0; i <= agents; i++) {
        const fplt_quality *q = i < agents ? &own->each[i] : &own->made.all;
        const double row[] = {(double)q->rows, q->loss,        q->accuracy, q->auc,       q->f1,
                              q->brier,        q->rmse,        q->r2,       q->precision, q->recall,
                              q->deviance,     q->concordance, q->weight};
        fpltr_set_text(list, 0, i, i < agents ? fplt_dataset_agent_name(rows, i) : NULL);
        for (int k = 0; k < 13; k++)
            fpltr_set_number(list, k + 1, i, row[k]);
    }
    UNPROTECT(1);
    return list;
}

/* Rows of each class down and as they are called across: counts, or sums of weights. */
static SEXP confusion_matrix(const fplt_assessment *made)
{
    uint32_t n = made->classes;
    SEXP matrix = PROTECT(Rf_allocMatrix(REALSXP, (int)n, (int)n));
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t j = 0; j < n; j++)
            REAL(matrix)
    [(size_t)j * n + k] = made->confusion_weight ? made->confusion_weight[k * n + j]
                                                 : (double)made->confusion[k * n + j];
    UNPROTECT(1);
    return matrix;
}

static SEXP classes_list(const fplt_model *model, const fplt_assessment *made)
{
    static const char *const names[] = {"class", "rows", "precision", "recall", "f1", "auc"};
    SEXP list = PROTECT(fpltr_frame(names, "TNNNNN", made->classes));
    for (uint32_t k = 0; k < made->classes; k++) {
        const fplt_class_quality *q = &made->each[k];
        const double row[] = {(double)q->rows, q->precision, q->recall, q->f1, q->auc};
        fpltr_set_text(list, 0, k, fplt_model_get_view(model)->class_names[k]);
        for (int c = 0; c < 5; c++)
            fpltr_set_number(list, c + 1, k, row[c]);
    }
    UNPROTECT(1);
    return list;
}

static SEXP roc_list(const fplt_assessment *made)
{
    static const char *const names[] = {"false_positive", "true_positive", "score"};
    SEXP list = PROTECT(fpltr_frame(names, "NNN", (R_xlen_t)made->roc_count));
    for (size_t i = 0; i < made->roc_count; i++) {
        fpltr_set_number(list, 0, (R_xlen_t)i, made->roc[i].false_positive);
        fpltr_set_number(list, 1, (R_xlen_t)i, made->roc[i].true_positive);
        fpltr_set_number(list, 2, (R_xlen_t)i, made->roc[i].score);
    }
    UNPROTECT(1);
    return list;
}

static SEXP calibration_list(const fplt_assessment *made)
{
    static const char *const names[] = {"from", "to", "rows", "predicted", "observed"};
    SEXP list = PROTECT(fpltr_frame(names, "NNNNN", FPLT_CALIBRATION_BINS));
    for (int b = 0; b < FPLT_CALIBRATION_BINS; b++) {
        fpltr_set_number(list, 0, b, (double)b / FPLT_CALIBRATION_BINS);
        fpltr_set_number(list, 1, b, (b + 1.0) / FPLT_CALIBRATION_BINS);
        fpltr_set_number(list, 2, b, (double)made->bin[b].rows);
        fpltr_set_number(list, 3, b, made->bin[b].predicted);
        fpltr_set_number(list, 4, b, made->bin[b].observed);
    }
    UNPROTECT(1);
    return list;
}

static SEXP evaluation_list(const fpltr_evaluating *own, const fplt_model *model,
                            const fplt_dataset *rows)
{
    static const char *const names[] = {"sites", "confusion", "classes", "roc", "calibration"};
    SEXP list = PROTECT(fpltr_list(names, 5));
    SET_VECTOR_ELT(list, 0, sites_list(own, rows));
    if (own->made.classes) {
        SET_VECTOR_ELT(list, 1, confusion_matrix(&own->made));
        SET_VECTOR_ELT(list, 2, classes_list(model, &own->made));
    }
    if (own->made.roc_count)
        SET_VECTOR_ELT(list, 3, roc_list(&own->made));
    if (own->made.calibrated)
        SET_VECTOR_ELT(list, 4, calibration_list(&own->made));
    UNPROTECT(1);
    return list;
}

/* json: a model. data: of fpltr_dataset, which is used up. threshold: on the probability of the second class, or NA. */
SEXP fpltr_evaluate(SEXP json, SEXP data, SEXP threshold)
{
    fplt_error error = {.status = FPLT_OK};
    double limit = Rf_asReal(threshold);
    SEXP model = PROTECT(fpltr_model_parse(json));
    SEXP rows = PROTECT(fpltr_model_rows(fpltr_model_of(model), data));
    SEXP pointer = PROTECT(fpltr_pointer(finalize_evaluating));
    fpltr_evaluating *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    own->each = calloc(fplt_dataset_agents(fpltr_dataset_of(rows)), sizeof *own->each);
    if (!own->each)
        Rf_error("no memory");
    fpltr_check(fplt_model_assess(fpltr_model_of(model), fpltr_dataset_of(rows),
                                  isnan(limit) ? NAN : limit, own->each, &own->made, &error),
                &error);
    SEXP list = PROTECT(evaluation_list(own, fpltr_model_of(model), fpltr_dataset_of(rows)));
    finalize_evaluating(pointer);
    fpltr_finalize_model(model);
    fpltr_finalize_dataset(rows);
    UNPROTECT(4);
    return list;
}

/* ---- cross-validation and baselines, beside R's thread ---- */

/* A pointer that holds the rows divided among so many agents at random; 0: as they are. The data set is used up. */
static SEXP divide_rows(SEXP data, uint32_t agents, uint64_t seed)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_partition_settings wanted = fplt_partition_defaults();
    fplt_dataset *divided = NULL;
    SEXP whole = PROTECT(fpltr_pointer(fpltr_finalize_dataset));
    SEXP parts = PROTECT(fpltr_pointer(fpltr_finalize_dataset));
    R_SetExternalPtrAddr(whole, fpltr_dataset_take(data));
    wanted.name = "shuffled";
    wanted.agents = agents;
    wanted.seed = seed;
    if (agents) {
        fpltr_check(fplt_dataset_partition(fpltr_dataset_of(whole), &wanted, &divided, &error),
                    &error);
        R_SetExternalPtrAddr(parts, divided);
        fpltr_finalize_dataset(whole);
    }
    UNPROTECT(2);
    return agents ? parts : whole;
}

typedef struct fpltr_validating {
    fpltr_beside beside;
    fplt_validate_settings wanted;
    fplt_validation made;
    fplt_status status;
    fplt_error error;
} fpltr_validating;

static void validate(void *context)
{
    fpltr_validating *own = context;
    own->status = fplt_validate_run(&own->wanted, &own->made, &own->error);
}

static void release_validating(void *context)
{
    fplt_validation_clear(&((fpltr_validating *)context)->made);
}

static void finalize_validating(SEXP pointer)
{
    fpltr_validating *own = R_ExternalPtrAddr(pointer);
    if (!own)
        return;
    fpltr_beside_end(&own->beside);
    release_validating(own);
    free(own);
    R_ClearExternalPtr(pointer);
}

static SEXP validation_list(const fplt_validation *made, size_t rows)
{
    static const char *const names[] = {"table", "best", "chosen", "folds", "fold", "quality"};
    static const char *const columns[] = {"value", "loss", "std_error", "quality"};
    SEXP list = PROTECT(fpltr_list(names, 6));
    SET_VECTOR_ELT(list, 0, fpltr_frame(columns, "NNNN", (R_xlen_t)made->count));
    for (size_t v = 0; v < made->count; v++) {
        const fplt_validate_point *point = &made->point[v];
        const double row[] = {point->value, point->loss, point->error, point->quality};
        for (int k = 0; k < 4; k++)
            fpltr_set_number(VECTOR_ELT(list, 0), k, (R_xlen_t)v, row[k]);
    }
    SET_VECTOR_ELT(list, 1, Rf_ScalarInteger((int)made->best + 1));
    SET_VECTOR_ELT(list, 2, Rf_ScalarInteger((int)made->chosen + 1));
    SET_VECTOR_ELT(list, 3, Rf_ScalarInteger((int)made->folds));
    SET_VECTOR_ELT(list, 4, Rf_allocVector(INTSXP, (R_xlen_t)rows));
    for (size_t r = 0; r < rows; r++)
        INTEGER(VECTOR_ELT(list, 4))[r] = (int)made->fold[r];
    SET_VECTOR_ELT(list, 5, fpltr_text(made->quality));
    UNPROTECT(1);
    return list;
}

/* settings: of a training; data: of fpltr_dataset, which is used up. search: eps or h-weight; values: of it. numbers: folds
 * (0: one site is left out in turn), seed, agents among whom the rows are divided (0: as they are). */
SEXP fpltr_validate(SEXP settings, SEXP data, SEXP search, SEXP values, SEXP numbers)
{
    const double *n = REAL(numbers);
    SEXP rows = PROTECT(divide_rows(data, (uint32_t)n[2], (uint64_t)n[1]));
    SEXP pointer = PROTECT(fpltr_pointer(finalize_validating));
    fpltr_validating *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    own->wanted = (fplt_validate_settings){.settings = fpltr_settings_of(settings),
                                           .dataset = fpltr_dataset_of(rows),
                                           .name = fpltr_string(search),
                                           .values = REAL(values),
                                           .count = (size_t)XLENGTH(values),
                                           .folds = (uint32_t)n[0],
                                           .seed = (uint64_t)n[1],
                                           .watch = fpltr_beside_watch,
                                           .context = &own->beside};
    own->beside.work = validate;
    own->beside.context = own;
    fpltr_beside_run(&own->beside, release_validating);
    fpltr_check(own->status, &own->error);
    SEXP list = PROTECT(validation_list(&own->made, fplt_dataset_rows(fpltr_dataset_of(rows))));
    finalize_validating(pointer);
    fpltr_finalize_dataset(rows);
    UNPROTECT(3);
    return list;
}

typedef struct fpltr_baselining {
    fpltr_beside beside;
    fplt_baseline_settings wanted;
    fplt_baseline made;
    fplt_status status;
    fplt_error error;
} fpltr_baselining;

static void measure_baseline(void *context)
{
    fpltr_baselining *own = context;
    own->status = fplt_baseline_run(&own->wanted, &own->made, &own->error);
}

static void release_baselining(void *context)
{
    fplt_baseline_clear(&((fpltr_baselining *)context)->made);
}

static void finalize_baselining(SEXP pointer)
{
    fpltr_baselining *own = R_ExternalPtrAddr(pointer);
    if (!own)
        return;
    fpltr_beside_end(&own->beside);
    release_baselining(own);
    free(own);
    R_ClearExternalPtr(pointer);
}

/* One line a method and site that was measured; the site that is missing is all rows. */
static SEXP baseline_list(const fplt_baseline *made, const fplt_dataset *rows)
{
    static const char *const names[] = {"table", "quality"};
    static const char *const columns[] = {"method", "site", "rows", "value", "low", "high"};
    R_xlen_t count = 0, at = 0;
    size_t across = made->sites + 1;
    for (size_t i = 0; i < made->methods * across; i++)
        count += made->cell[i].rows > 0;
    SEXP list = PROTECT(fpltr_list(names, 2));
    SEXP frame = fpltr_frame(columns, "TTNNNN", count);
    SET_VECTOR_ELT(list, 0, frame);
    for (size_t i = 0; i < made->methods * across; i++) {
        const fplt_baseline_cell *cell = &made->cell[i];
        uint32_t site = (uint32_t)(i % across);
        const char *name = site < made->sites ? fplt_dataset_agent_name(rows, site) : NULL;
        char number[16];
        if (!cell->rows)
            continue;
        if (site < made->sites && !name) {
            snprintf(number, sizeof number, "%u", site);
            name = number;
        }
        fpltr_set_text(frame, 0, at, made->name[i / across]);
        fpltr_set_text(frame, 1, at, name);
        fpltr_set_number(frame, 2, at, (double)cell->rows);
        fpltr_set_number(frame, 3, at, cell->quality);
        fpltr_set_number(frame, 4, at, cell->low);
        fpltr_set_number(frame, 5, at, cell->high);
        at++;
    }
    SET_VECTOR_ELT(list, 1, fpltr_text(made->quality));
    UNPROTECT(1);
    return list;
}

/* methods: a list of settings of trainings; names: of the methods; data: of fpltr_dataset, which is used up. numbers: share that
 * is held out, resamples, level, seed, agents among whom the rows are divided (0: as they are). */
SEXP fpltr_baseline(SEXP methods, SEXP names, SEXP data, SEXP numbers)
{
    const double *n = REAL(numbers);
    size_t count = (size_t)XLENGTH(methods);
    fplt_settings **settings = (fplt_settings **)R_alloc(count, sizeof *settings);
    for (size_t i = 0; i < count; i++)
        settings[i] = fpltr_settings_of(VECTOR_ELT(methods, (R_xlen_t)i));
    SEXP rows = PROTECT(divide_rows(data, (uint32_t)n[4], (uint64_t)n[3]));
    SEXP pointer = PROTECT(fpltr_pointer(finalize_baselining));
    fpltr_baselining *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    own->wanted = (fplt_baseline_settings){.methods = settings,
                                           .names = fpltr_strings(names),
                                           .count = count,
                                           .dataset = fpltr_dataset_of(rows),
                                           .holdout = n[0],
                                           .resamples = (uint32_t)n[1],
                                           .level = n[2],
                                           .seed = (uint64_t)n[3],
                                           .watch = fpltr_beside_watch,
                                           .context = &own->beside};
    own->beside.work = measure_baseline;
    own->beside.context = own;
    fpltr_beside_run(&own->beside, release_baselining);
    fpltr_check(own->status, &own->error);
    SEXP list = PROTECT(baseline_list(&own->made, fpltr_dataset_of(rows)));
    finalize_baselining(pointer);
    fpltr_finalize_dataset(rows);
    UNPROTECT(3);
    return list;
}
