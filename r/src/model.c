/* What R needs of a trained model. */
#include "fedplt_r.h"

#include <string.h>

#include "fedplt/export.h"
#include "fedplt/inference.h"
#include "fedplt/memory.h"
#include "fedplt/transform.h"

static SEXP optional_numbers(const double *numbers, size_t count)
{
    return numbers ? fpltr_numbers(numbers, (R_xlen_t)count) : R_NilValue;
}

static SEXP square(const double *numbers, size_t n)
{
    if (!numbers)
        return R_NilValue;
    SEXP matrix = PROTECT(Rf_allocMatrix(REALSXP, (int)n, (int)n));
    memcpy(REAL(matrix), numbers, n * n * sizeof *numbers);
    UNPROTECT(1);
    return matrix;
}

static SEXP inference_list(const fplt_inference *inference, size_t n)
{
    static const char *const names[] = {"records",     "rows",        "events",      "losses",
                                        "zero_losses", "null_losses", "information", "scores"};
    const double numbers[] = {inference->records, inference->rows,        inference->events,
                              inference->losses,  inference->zero_losses, inference->null_losses};
    SEXP list = PROTECT(fpltr_list(names, 8));
    for (int k = 0; k < 6; k++)
        SET_VECTOR_ELT(list, k, Rf_ScalarReal(numbers[k]));
    SET_VECTOR_ELT(list, 6, square(inference->information, n));
    SET_VECTOR_ELT(list, 7, square(inference->scores, n));
    UNPROTECT(1);
    return list;
}

/* The model file's text. */
static SEXP model_text(const fplt_model *model)
{
    fplt_error error = {.status = FPLT_OK};
    char *text = NULL;
    SEXP holder = PROTECT(fpltr_pointer(fpltr_finalize_text));
    fpltr_check(fplt_model_text(model, &text, &error), &error);
    R_SetExternalPtrAddr(holder, text);
    SEXP made = PROTECT(fpltr_text(text));
    fpltr_finalize_text(holder);
    UNPROTECT(2);
    return made;
}

SEXP fpltr_model_list(const fplt_model *model)
{
    static const char *const names[] = {"loss", "intercept", "features",  "outputs", "weights",
                                        "mean", "scale",     "inference", "json"};
    const fplt_model_info *info = fplt_model_get_view(model);
    const fplt_transform *transform = info->transform;
    SEXP list = PROTECT(fpltr_list(names, sizeof names / sizeof *names));
    SET_VECTOR_ELT(list, 0, fpltr_text(info->loss));
    SET_VECTOR_ELT(list, 1, Rf_ScalarLogical(info->intercept));
    SET_VECTOR_ELT(list, 2, Rf_ScalarReal((double)info->features));
    SET_VECTOR_ELT(list, 3, Rf_ScalarReal((double)fplt_model_outputs(model)));
    SET_VECTOR_ELT(list, 4, fpltr_numbers(info->weights, (R_xlen_t)info->dimension));
    if (transform) {
        SET_VECTOR_ELT(list, 5, optional_numbers(transform->mean, info->features));
        SET_VECTOR_ELT(list, 6, optional_numbers(transform->scale, info->features));
    }
    if (info->inference)
        SET_VECTOR_ELT(list, 7, inference_list(info->inference, info->dimension));
    SET_VECTOR_ELT(list, 8, model_text(model));
    UNPROTECT(1);
    return list;
}

void fpltr_finalize_model(SEXP pointer)
{
    fplt_model_destroy(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

fplt_model *fpltr_model_of(SEXP pointer)
{
    return R_ExternalPtrAddr(pointer);
}

SEXP fpltr_model_parse(SEXP json)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_model *model = NULL;
    const char *text = fpltr_string(json);
    SEXP pointer = PROTECT(fpltr_pointer(fpltr_finalize_model));
    fpltr_check(fplt_model_parse(text, strlen(text), "the model", &model, &error), &error);
    R_SetExternalPtrAddr(pointer, model);
    UNPROTECT(1);
    return pointer;
}

SEXP fpltr_model_rows(const fplt_model *model, SEXP data)
{
    fplt_error error = {.status = FPLT_OK};
    SEXP pointer = PROTECT(fpltr_pointer(fpltr_finalize_dataset));
    R_SetExternalPtrAddr(pointer, fpltr_dataset_take(data));
    fpltr_check(fplt_transform_apply(fplt_model_get_view(model)->transform,
                                     fpltr_dataset_of(pointer), &error),
                &error);
    UNPROTECT(1);
    return pointer;
}

SEXP fpltr_version(void)
{
    return fpltr_text(fplt_version());
}
