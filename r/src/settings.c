/* Settings of a training from a list of R. */
#include "fedplt_r.h"

#include <string.h>

#include "fedplt/compare.h"
#include "fedplt/federation.h"
#include "fedplt/job.h"
#include "fedplt/settings_table.h"

static void destroy_settings(SEXP pointer)
{
    fplt_settings_destroy(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

fplt_settings *fpltr_settings_of(SEXP pointer)
{
    return R_ExternalPtrAddr(pointer);
}

fplt_settings *fpltr_settings_take(SEXP pointer)
{
    fplt_settings *settings = R_ExternalPtrAddr(pointer);
    R_ClearExternalPtr(pointer);
    return settings;
}

/* What a setting will be, by pairs of texts that end with NULL. */
static const char *find_given(void *context, const char *name)
{
    for (const char *const *pair = context; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static const char **make_pairs(SEXP names, SEXP texts)
{
    R_xlen_t count = XLENGTH(names);
    const char **pairs = (const char **)R_alloc(2 * (size_t)count + 1, sizeof *pairs);
    for (R_xlen_t i = 0; i < count; i++) {
        pairs[2 * i] = Rf_translateCharUTF8(STRING_ELT(names, i));
        pairs[2 * i + 1] = Rf_translateCharUTF8(STRING_ELT(texts, i));
    }
    pairs[2 * count] = NULL;
    return pairs;
}

static fplt_status set_value(fplt_settings *settings, const char *name, SEXP value,
                             const char *origin, fplt_error *error)
{
    switch (TYPEOF(value)) {
    case LGLSXP: return fplt_settings_set_switch(settings, name, LOGICAL(value)[0], origin, error);
    case INTSXP: return fplt_settings_set_integer(settings, name, INTEGER(value)[0], origin, error);
    case REALSXP: {
        double number = REAL(value)[0];
        const double exact = 9007199254740992.0; /* 2^53: beyond, not every integer is a double */
        if (number == (double)(long long)number && number < exact && number > -exact)
            return fplt_settings_set_integer(settings, name, (long long)number, origin, error);
        return fplt_settings_set_real(settings, name, number, origin, error);
    }
    default:
        return fplt_settings_set(settings, name, Rf_translateCharUTF8(STRING_ELT(value, 0)), origin,
                                 error);
    }
}

/* The tables of `kind`: of a training, a comparison, a search for parameters, a coordinator or an agent. */
static fplt_status declare(fplt_settings *settings, const char *kind, int own_data,
                           const char **pairs, fplt_error *error)
{
    const char *algorithm;
    fplt_status status;
    if (strcmp(kind, "compare") == 0) {
        status = fplt_compare_declare(settings, error);
        return status ? status
                      : fplt_trainer_prefer(settings, own_data, find_given, (void *)pairs, error);
    }
    if (strcmp(kind, "tune") == 0) {
        algorithm = find_given((void *)pairs, "algorithm");
        status = fplt_job_declare(settings, FPLT_JOB_ALL, algorithm, error);
        return status ? status
                      : fplt_trainer_prefer(settings, own_data, find_given, (void *)pairs, error);
    }
    if (strcmp(kind, "coordinator") == 0)
        return fplt_settings_add(settings, "federation", fplt_federation_lead_table, error);
    if (strcmp(kind, "agent") == 0)
        return fplt_federation_site_declare(settings, error);
    return fplt_trainer_declare(settings, own_data, find_given, (void *)pairs, error);
}

/* names, texts (the values as text), values (a list of single values) and origins have one element a setting. */
SEXP fpltr_settings(SEXP names, SEXP texts, SEXP values, SEXP origins, SEXP kind, SEXP own_data)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_settings *settings = NULL;
    SEXP pointer = PROTECT(fpltr_pointer(destroy_settings));
    const char **pairs = make_pairs(names, texts);
    const char *const *words = fpltr_strings(origins);
    fpltr_check(fplt_settings_create(&settings, &error), &error);
    R_SetExternalPtrAddr(pointer, settings);
    fpltr_check(declare(settings, fpltr_string(kind), Rf_asLogical(own_data), pairs, &error),
                &error);
    for (R_xlen_t i = 0; i < XLENGTH(names); i++)
        fpltr_check(set_value(settings, pairs[2 * i], VECTOR_ELT(values, i), words[i], &error),
                    &error);
    UNPROTECT(1);
    return pointer;
}

static const char *kind_name(fplt_setting_kind kind)
{
    switch (kind) {
    case FPLT_REAL: return "number";
    case FPLT_INTEGER: return "integer";
    case FPLT_SWITCH: return "switch";
    case FPLT_CHOICE: return "choice";
    default: return "text";
    }
}

/* Every setting there is: name, group, kind, default, what is legal, help. */
SEXP fpltr_settings_rows(SEXP pointer)
{
    static const char *const names[] = {"name", "group", "kind", "default", "legal", "help"};
    enum { COLUMNS = sizeof names / sizeof *names };
    const fplt_settings *settings = fpltr_settings_of(pointer);
    const fplt_setting *row;
    const char *group;
    char text[1024];
    size_t count = 0;
    while (fplt_settings_row(settings, count, &group))
        count++;
    SEXP list = PROTECT(fpltr_list(names, COLUMNS));
    for (int k = 0; k < COLUMNS; k++)
        SET_VECTOR_ELT(list, k, Rf_allocVector(STRSXP, (R_xlen_t)count));
    for (size_t i = 0; i < count; i++) {
        R_xlen_t at = (R_xlen_t)i;
        row = fplt_settings_row(settings, i, &group);
        SET_STRING_ELT(VECTOR_ELT(list, 0), at, Rf_mkChar(row->name));
        SET_STRING_ELT(VECTOR_ELT(list, 1), at, Rf_mkChar(group));
        SET_STRING_ELT(VECTOR_ELT(list, 2), at, Rf_mkChar(kind_name(row->kind)));
        SET_STRING_ELT(VECTOR_ELT(list, 3), at,
                       row->standard ? Rf_mkChar(row->standard) : NA_STRING);
        fplt_setting_legal(row, text, sizeof text);
        SET_STRING_ELT(VECTOR_ELT(list, 4), at, Rf_mkChar(text));
        fplt_setting_help(row, text, sizeof text);
        SET_STRING_ELT(VECTOR_ELT(list, 5), at, Rf_mkChar(text));
    }
    UNPROTECT(1);
    return list;
}
