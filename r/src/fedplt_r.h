/* Shared by the files of the R package's glue. Every function that R calls is named fpltr_... and is in the table
 * of init.c. Library objects belong to external pointers with finalizers, so that an R error or interrupt, which
 * leaves a function by a jump, releases them. No R function is called while a function of the library runs, except
 * inside R_ToplevelExec or R_tryEvalSilent. */
#ifndef FEDPLT_R_H
#define FEDPLT_R_H

#define R_NO_REMAP
#include <Rinternals.h>

#include "fedplt/report.h"
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

/* A list for as.data.frame: columns are texts (T) or numbers (N). Not protected. A number that is not known (NaN) and a text that
 * is NULL become NA. */
SEXP fpltr_frame(const char *const *names, const char *types, R_xlen_t rows);
void fpltr_set_text(SEXP list, int column, R_xlen_t row, const char *text);
void fpltr_set_number(SEXP list, int column, R_xlen_t row, double number);

/* Releases a text of the library. */
void fpltr_finalize_text(SEXP pointer);
/* A table as CSV in R. The table, which an object with a finalizer holds, is released, and *table becomes NULL. Not protected. */
SEXP fpltr_take_table(fplt_table **table);
/* All sentences of an object of the library. Not protected. */
typedef const char *fpltr_note_of(const void *object, size_t index);
SEXP fpltr_notes(fpltr_note_of *note, const void *object);
/* All lines as one text, each ended by a newline; released with R's memory of the call. */
char *fpltr_join_lines(SEXP lines, size_t *size);

/* Whether the person has asked for an interrupt. The request is consumed: fpltr_interrupt raises it again, once the
 * library's objects are released, and does not return. */
int fpltr_is_interrupted(void);
void fpltr_interrupt(void);
/* For R's own vector operations, between which R does not look: lets an interrupt through. */
SEXP fpltr_look(void);

/* Settings that fpltr_settings made. */
fplt_settings *fpltr_settings_of(SEXP pointer);
/* The same, which the caller owns from then on. */
fplt_settings *fpltr_settings_take(SEXP pointer);
/* The data set that fpltr_dataset made, which the caller owns from then on. */
fplt_dataset *fpltr_dataset_take(SEXP pointer);
/* The same, which stays the pointer's. */
fplt_dataset *fpltr_dataset_of(SEXP pointer);
void fpltr_finalize_dataset(SEXP pointer);

/* A pointer that holds the model of a JSON text. Not protected. fpltr_model_of: the model. */
SEXP fpltr_model_parse(SEXP json);
fplt_model *fpltr_model_of(SEXP pointer);
void fpltr_finalize_model(SEXP pointer);
/* A pointer that holds the data set that fpltr_dataset made, which is used up, with its rows changed as those that the model
 * was trained on. Not protected. */
SEXP fpltr_model_rows(const fplt_model *model, SEXP data);

/* The parts of a model that R needs, as a list. */
SEXP fpltr_model_list(const fplt_model *model);

#endif
