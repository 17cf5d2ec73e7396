/* Survival curves, and what follows from a Cox model and rows. */
#include "fedplt/survival.h"

#include <stdlib.h>

#include "fedplt/inference.h"
#include "fedplt/schema.h"
#include "fedplt_r.h"

/* ---- curves ---- */

/* What the curves hold until the answer is in R. */
typedef struct fpltr_curves {
    fplt_survival *made;
    fplt_schema *schema;
    fplt_table *table;
} fpltr_curves;

static void finalize_curves(SEXP pointer)
{
    fpltr_curves *own = R_ExternalPtrAddr(pointer);
    if (!own)
        return;
    fplt_survival_destroy(own->made);
    fplt_schema_destroy(own->schema);
    fplt_table_destroy(own->table);
    free(own);
    R_ClearExternalPtr(pointer);
}

static const char *note_of_curves(const void *object, size_t index)
{
    return fplt_survival_note(object, index);
}

static SEXP curves_list(fpltr_curves *own)
{
    static const char *const names[] = {"curves", "times", "steps", "tests", "groups", "notes"};
    static const fplt_survival_part parts[] = {FPLT_SURVIVAL_CURVES, FPLT_SURVIVAL_TIMES,
                                               FPLT_SURVIVAL_STEPS, FPLT_SURVIVAL_TESTS,
                                               FPLT_SURVIVAL_GROUPS};
    fplt_error error = {.status = FPLT_OK};
    SEXP list = PROTECT(fpltr_list(names, 6));
    for (int k = 0; k < 5; k++) {
        fpltr_check(fplt_survival_tabulate(own->made, parts[k], &own->table, &error), &error);
        SET_VECTOR_ELT(list, k, fpltr_take_table(&own->table));
    }
    SET_VECTOR_ELT(list, 5, fpltr_notes(note_of_curves, own->made));
    UNPROTECT(1);
    return list;
}

/* input: paths of CSV files, or the lines of one CSV text (is_text). texts: list(time, event, happened, by, grid, times, site,
 * missing_codes, schema), each a text or NULL. numbers: minimum, interval, level. Answers tables as CSV, and notes. */
SEXP fpltr_survival(SEXP input, SEXP is_text, SEXP texts, SEXP numbers)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_read_settings read = fplt_read_defaults();
    const double *n = REAL(numbers);
    SEXP pointer = PROTECT(fpltr_pointer(finalize_curves));
    fpltr_curves *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    fplt_survival_settings wanted = {.read = &read,
                                     .time = fpltr_string(VECTOR_ELT(texts, 0)),
                                     .event = fpltr_string(VECTOR_ELT(texts, 1)),
                                     .happened = fpltr_string(VECTOR_ELT(texts, 2)),
                                     .by = fpltr_string(VECTOR_ELT(texts, 3)),
                                     .grid = fpltr_string(VECTOR_ELT(texts, 4)),
                                     .times = fpltr_string(VECTOR_ELT(texts, 5)),
                                     .minimum = (size_t)n[0],
                                     .interval = (fplt_survival_interval)(int)n[1],
                                     .level = n[2]};
    const char *schema = fpltr_string(VECTOR_ELT(texts, 8));
    read.site = fpltr_string(VECTOR_ELT(texts, 6));
    read.missing_codes = fpltr_string(VECTOR_ELT(texts, 7));
    if (schema)
        fpltr_check(fplt_schema_read(schema, &own->schema, &error), &error);
    read.schema = own->schema;
    if (Rf_asLogical(is_text)) {
        size_t size;
        char *text = fpltr_join_lines(input, &size);
        read.separator = "comma";
        fpltr_check(fplt_survival_create_text("data", text, size, &wanted, &own->made, &error),
                    &error);
    } else {
        fpltr_check(fplt_survival_create(fpltr_strings(input), (size_t)XLENGTH(input), &wanted,
                                         &own->made, &error),
                    &error);
    }
    SEXP list = PROTECT(curves_list(own));
    finalize_curves(pointer);
    UNPROTECT(2);
    return list;
}

/* ---- hazards ---- */

/* A pointer that holds the model with the sums of the rows, refitted to them without a penalty where that is asked for. */
static SEXP infer_model(const fplt_model *model, const fplt_dataset *rows, int refit)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_model *inferred = NULL;
    SEXP pointer = PROTECT(fpltr_pointer(fpltr_finalize_model));
    fpltr_check(fplt_model_infer(model, rows, refit, &inferred, &error), &error);
    R_SetExternalPtrAddr(pointer, inferred);
    UNPROTECT(1);
    return pointer;
}

typedef struct fpltr_hazards {
    fplt_hazard *made;
    fplt_table *table[2];
} fpltr_hazards;

static void finalize_hazards(SEXP pointer)
{
    fpltr_hazards *own = R_ExternalPtrAddr(pointer);
    if (!own)
        return;
    fplt_hazard_destroy(own->made);
    fplt_table_destroy(own->table[0]);
    fplt_table_destroy(own->table[1]);
    free(own);
    R_ClearExternalPtr(pointer);
}

static const char *note_of_hazard(const void *object, size_t index)
{
    return fplt_hazard_note(object, index);
}

static SEXP hazards_list(fpltr_hazards *own, const fplt_dataset *new_rows)
{
    static const char *const names[] = {"baseline", "patients", "times", "notes"};
    fplt_error error = {.status = FPLT_OK};
    SEXP list = PROTECT(fpltr_list(names, 4));
    fpltr_check(fplt_hazard_tabulate(own->made, &own->table[0], &error), &error);
    SET_VECTOR_ELT(list, 0, fpltr_take_table(&own->table[0]));
    if (new_rows) {
        fpltr_check(fplt_hazard_predict(own->made, new_rows, &own->table[0], &own->table[1],
                                        &error),
                    &error);
        SET_VECTOR_ELT(list, 1, fpltr_take_table(&own->table[0]));
        SET_VECTOR_ELT(list, 2, fpltr_take_table(&own->table[1]));
    }
    SET_VECTOR_ELT(list, 3, fpltr_notes(note_of_hazard, own->made));
    UNPROTECT(1);
    return list;
}

/* json: a Cox model. data, new_data (or NULL): of fpltr_dataset, which are used up. texts: list(grid, times, site), each a text or
 * NULL. numbers: minimum, interval, level, refit. Answers tables as CSV, and notes. */
SEXP fpltr_hazard(SEXP json, SEXP data, SEXP new_data, SEXP texts, SEXP numbers)
{
    fplt_error error = {.status = FPLT_OK};
    const double *n = REAL(numbers);
    const fplt_hazard_settings wanted = {.grid = fpltr_string(VECTOR_ELT(texts, 0)),
                                         .times = fpltr_string(VECTOR_ELT(texts, 1)),
                                         .site = fpltr_string(VECTOR_ELT(texts, 2)),
                                         .minimum = (size_t)n[0],
                                         .interval = (fplt_survival_interval)(int)n[1],
                                         .level = n[2]};
    SEXP given = PROTECT(fpltr_model_parse(json));
    SEXP rows = PROTECT(fpltr_model_rows(fpltr_model_of(given), data));
    SEXP model = PROTECT(infer_model(fpltr_model_of(given), fpltr_dataset_of(rows), n[3] != 0));
    SEXP new_rows = PROTECT(
        Rf_isNull(new_data) ? R_NilValue : fpltr_model_rows(fpltr_model_of(given), new_data));
    SEXP pointer = PROTECT(fpltr_pointer(finalize_hazards));
    fpltr_hazards *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    fpltr_check(fplt_hazard_create(fpltr_model_of(model), fpltr_dataset_of(rows), &wanted,
                                   &own->made, &error),
                &error);
    SEXP list = PROTECT(hazards_list(own, Rf_isNull(new_rows) ? NULL : fpltr_dataset_of(new_rows)));
    finalize_hazards(pointer);
    fpltr_finalize_model(model);
    fpltr_finalize_model(given);
    fpltr_finalize_dataset(rows);
    if (!Rf_isNull(new_rows))
        fpltr_finalize_dataset(new_rows);
    UNPROTECT(6);
    return list;
}

/* A pointer that holds the model with other names of its columns. */
static SEXP rename_columns(const fplt_model *model, SEXP names)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_model_info info = *fplt_model_get_view(model);
    fplt_model *renamed = NULL;
    SEXP pointer = PROTECT(fpltr_pointer(fpltr_finalize_model));
    info.feature_names = fpltr_strings(names);
    fpltr_check(fplt_model_create(&info, &renamed, &error), &error);
    R_SetExternalPtrAddr(pointer, renamed);
    UNPROTECT(1);
    return pointer;
}

/* The test of proportional hazards as CSV. names: of the columns, `term=column` where columns go together; numbers: transform,
 * columns. */
SEXP fpltr_hazard_test(SEXP json, SEXP data, SEXP names, SEXP numbers)
{
    fplt_error error = {.status = FPLT_OK};
    const double *n = REAL(numbers);
    SEXP given = PROTECT(fpltr_model_parse(json));
    SEXP rows = PROTECT(fpltr_model_rows(fpltr_model_of(given), data));
    SEXP fitted = PROTECT(infer_model(fpltr_model_of(given), fpltr_dataset_of(rows), 1));
    SEXP model = PROTECT(rename_columns(fpltr_model_of(fitted), names));
    SEXP pointer = PROTECT(fpltr_pointer(finalize_hazards));
    fpltr_hazards *own = calloc(1, sizeof *own);
    if (!own)
        Rf_error("no memory");
    R_SetExternalPtrAddr(pointer, own);
    fpltr_check(fplt_hazard_test(fpltr_model_of(model), fpltr_dataset_of(rows),
                                 (fplt_hazard_transform)(int)n[0], n[1] != 0, &own->table[0],
                                 &error),
                &error);
    SEXP text = PROTECT(fpltr_take_table(&own->table[0]));
    finalize_hazards(pointer);
    fpltr_finalize_model(model);
    fpltr_finalize_model(fitted);
    fpltr_finalize_model(given);
    fpltr_finalize_dataset(rows);
    UNPROTECT(6);
    return text;
}
