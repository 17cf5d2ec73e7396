/* Shared by the files of the R package's glue. Every function that R calls is named fpltr_... and is in the table
 * of init.c. Library objects belong to external pointers with finalizers, so that an R error or interrupt, which
 * leaves a function by a jump, releases them. No R function is called while a function of the library runs, except
 * inside R_ToplevelExec or R_tryEvalSilent. */
#ifndef FEDPLT_R_H
#define FEDPLT_R_H

#define R_NO_REMAP
#include <Rinternals.h>

#include "fedplt/settings.h"
#include "fedplt/trainer.h"

/* Raises an R condition of class fedplt_error with the sentence of the library; does not return. */
void fpltr_fail(const fplt_error *error);
/* The same, if `status` is not FPLT_OK. */
void fpltr_check(fplt_status status, const fplt_error *error);

/* An external pointer without an address yet, whose object `destroy` releases. Not protected. */
SEXP fpltr_pointer(R_CFinalizer_t finalizer);

/* Text in UTF-8, or R's NA where it is NULL. Not protected. */
SEXP fpltr_text(const char *text);
/* The first text of a character vector in UTF-8; NULL: the vector is NULL. Valid until the call from R ends. */
const char *fpltr_string(SEXP text);
/* All texts of a character vector in UTF-8; NULL: the vector is NULL. Valid until the call from R ends. */
const char *const *fpltr_strings(SEXP texts);
/* A list with names; fpltr_list_set sets the next of its elements, which are protected by it. */
SEXP fpltr_list(const char *const *names, R_xlen_t count);
/* A copy of `count` numbers. Not protected. */
SEXP fpltr_numbers(const double *numbers, R_xlen_t count);

/* Whether the person has asked for an interrupt. The request is consumed: fpltr_interrupt raises it again, once the
 * library's objects are released, and does not return. */
int fpltr_is_interrupted(void);
void fpltr_interrupt(void);

/* Settings that fpltr_settings made. */
fplt_settings *fpltr_settings_of(SEXP pointer);
/* The data set that fpltr_dataset made, which the caller owns from then on. */
fplt_dataset *fpltr_dataset_take(SEXP pointer);

/* The parts of a model that R needs, as a list. */
SEXP fpltr_model_list(const fplt_model *model);

#endif
