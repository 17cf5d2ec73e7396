/* Errors, texts, pointers and interrupts. */
#include "fedplt_r.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "fedplt/memory.h"

void fpltr_fail(const fplt_error *error)
{
    const char *sentence = error->text[0] ? error->text : fplt_status_text(error->status);
    SEXP name = PROTECT(Rf_mkString("fedplt"));
    SEXP space = PROTECT(R_FindNamespace(name));
    SEXP status = PROTECT(Rf_mkString(fplt_status_name(error->status)));
    SEXP text = PROTECT(fpltr_text(sentence));
    SEXP call = PROTECT(Rf_lang3(Rf_install("signal_failure"), status, text));
    Rf_eval(call, space);
    Rf_error("%s", sentence); /* not reached */
}

void fpltr_check(fplt_status status, const fplt_error *error)
{
    if (status)
        fpltr_fail(error);
}

SEXP fpltr_pointer(R_CFinalizer_t finalizer)
{
    SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(pointer, finalizer, TRUE);
    UNPROTECT(1);
    return pointer;
}

SEXP fpltr_text(const char *text)
{
    if (!text)
        return Rf_ScalarString(NA_STRING);
    SEXP made = PROTECT(Rf_mkCharCE(text, CE_UTF8));
    SEXP vector = Rf_ScalarString(made);
    UNPROTECT(1);
    return vector;
}

const char *fpltr_string(SEXP text)
{
    return Rf_isNull(text) ? NULL : Rf_translateCharUTF8(STRING_ELT(text, 0));
}

const char *const *fpltr_strings(SEXP texts)
{
    if (Rf_isNull(texts))
        return NULL;
    R_xlen_t count = XLENGTH(texts);
    const char **found = (const char **)R_alloc((size_t)count + 1, sizeof *found);
    for (R_xlen_t i = 0; i < count; i++)
        found[i] = Rf_translateCharUTF8(STRING_ELT(texts, i));
    found[count] = NULL;
    return found;
}

SEXP fpltr_list(const char *const *names, R_xlen_t count)
{
    SEXP list = PROTECT(Rf_allocVector(VECSXP, count));
    SEXP texts = PROTECT(Rf_allocVector(STRSXP, count));
    for (R_xlen_t i = 0; i < count; i++)
        SET_STRING_ELT(texts, i, Rf_mkChar(names[i]));
    Rf_setAttrib(list, R_NamesSymbol, texts);
    UNPROTECT(2);
    return list;
}

SEXP fpltr_numbers(const double *numbers, R_xlen_t count)
{
    SEXP vector = Rf_allocVector(REALSXP, count);
    if (count)
        memcpy(REAL(vector), numbers, (size_t)count * sizeof *numbers);
    return vector;
}

SEXP fpltr_frame(const char *const *names, const char *types, R_xlen_t rows)
{
    R_xlen_t count = (R_xlen_t)strlen(types);
    SEXP list = PROTECT(fpltr_list(names, count));
    for (R_xlen_t k = 0; k < count; k++)
        SET_VECTOR_ELT(list, k, Rf_allocVector(types[k] == 'T' ? STRSXP : REALSXP, rows));
    UNPROTECT(1);
    return list;
}

void fpltr_set_text(SEXP list, int column, R_xlen_t row, const char *text)
{
    SET_STRING_ELT(VECTOR_ELT(list, column), row, text ? Rf_mkCharCE(text, CE_UTF8) : NA_STRING);
}

void fpltr_set_number(SEXP list, int column, R_xlen_t row, double number)
{
    REAL(VECTOR_ELT(list, column))[row] = isnan(number) ? NA_REAL : number;
}

void fpltr_finalize_text(SEXP pointer)
{
    fplt_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

SEXP fpltr_take_table(fplt_table **table)
{
    fplt_error error = {.status = FPLT_OK};
    char *text = NULL;
    SEXP holder = PROTECT(fpltr_pointer(fpltr_finalize_text));
    fpltr_check(fplt_table_render(*table, FPLT_TABLE_CSV, &text, &error), &error);
    R_SetExternalPtrAddr(holder, text);
    SEXP made = PROTECT(fpltr_text(text));
    fpltr_finalize_text(holder);
    fplt_table_destroy(*table);
    *table = NULL;
    UNPROTECT(2);
    return made;
}

SEXP fpltr_notes(fpltr_note_of *note, const void *object)
{
    R_xlen_t count = 0;
    while (note(object, (size_t)count))
        count++;
    SEXP notes = PROTECT(Rf_allocVector(STRSXP, count));
    for (R_xlen_t i = 0; i < count; i++)
        SET_STRING_ELT(notes, i, Rf_mkCharCE(note(object, (size_t)i), CE_UTF8));
    UNPROTECT(1);
    return notes;
}

char *fpltr_join_lines(SEXP lines, size_t *size)
{
    const char *const *line = fpltr_strings(lines);
    size_t used = 0;
    *size = 0;
    for (size_t i = 0; line[i]; i++)
        *size += strlen(line[i]) + 1;
    char *text = R_alloc(*size + 1, 1);
    for (size_t i = 0; line[i]; i++) {
        size_t length = strlen(line[i]);
        memcpy(text + used, line[i], length);
        text[used + length] = '\n';
        used += length + 1;
    }
    return text;
}

static void check_interrupt(void *unused)
{
    (void)unused;
    R_CheckUserInterrupt();
}

int fpltr_is_interrupted(void)
{
    return !R_ToplevelExec(check_interrupt, NULL);
}

SEXP fpltr_look(void)
{
    R_CheckUserInterrupt();
    return R_NilValue;
}

void fpltr_interrupt(void)
{
    raise(SIGINT); /* R's handler notes it, and the next check jumps */
    R_CheckUserInterrupt();
    Rf_error("interrupted"); /* where signals are blocked */
}
