#include "federation/agent/row_sets.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/builder.h"
#include "data/dataset_access.h"
#include "data/declaration.h"
#include "data/schema.h"
#include "data/schema_access.h"
#include "data/source.h"
#include "fedplt/job.h"
#include "job/job.h"

void fplt__row_set_clear(fplt__row_set *set)
{
    fplt__free(set->row);
    *set = (fplt__row_set){NULL, 0, 0};
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(fplt__row_hash));
}

void fplt__row_set_sort(fplt__row_set *set)
{
    if (set->count)
        qsort(set->row, set->count, sizeof *set->row, by_bytes);
}

size_t fplt__row_set_difference(const fplt__row_set *a, const fplt__row_set *b)
{
    size_t i = 0, j = 0, differing = 0;
    while (i < a->count && j < b->count) {
        int order = by_bytes(&a->row[i], &b->row[j]);
        differing += order != 0;
        i += order <= 0;
        j += order >= 0;
    }
    return differing + (a->count - i) + (b->count - j);
}

static fplt_status add_row(fplt__row_set *set, const fplt__row_hash *hash, fplt_error *error)
{
    fplt_status status = fplt__grow(&set->row, &set->capacity, set->count + 1, sizeof *set->row,
                                    "hashes of rows", error);
    if (!status)
        set->row[set->count++] = *hash;
    return status;
}

/* Rows of text */

struct hashing {
    const uint8_t *key;
    fplt__row_set *set;
    uint32_t fields;
};

static fplt_status take_columns(void *context, const fplt__lookup *names, size_t line,
                                fplt_error *error)
{
    struct hashing *hashing = context;
    (void)line;
    (void)error;
    hashing->fields = names->count;
    return FPLT_OK;
}

static fplt_status take_row(void *context, const fplt__field *fields, size_t line,
                            fplt_error *error)
{
    struct hashing *hashing = context;
    crypto_generichash_state state;
    fplt__row_hash hash;
    (void)line;
    crypto_generichash_init(&state, hashing->key, 32, sizeof hash.byte);
    for (uint32_t i = 0; i < hashing->fields; i++) {
        uint64_t length = fields[i].span.length;
        crypto_generichash_update(&state, (const void *)&length, sizeof length);
        crypto_generichash_update(&state, (const void *)fields[i].span.text, length);
    }
    crypto_generichash_final(&state, hash.byte, sizeof hash.byte);
    return add_row(hashing->set, &hash, error);
}

static fplt_status hash_file(const char *path, const fplt_read_settings *read,
                             const uint8_t key[32], fplt__row_set *set, fplt_error *error)
{
    struct hashing hashing = {key, set, 0};
    fplt__csv_visitor visitor = {take_columns, take_row, &hashing, read->separator, NULL};
    fplt__source source = FPLT__NO_SOURCE;
    fplt_status status = fplt__source_load(path, read, &source, error);
    if (!status)
        status = fplt__csv_visit(&source, read->no_header, &visitor, error);
    fplt__source_release(&source);
    return status;
}

/* Rows of numbers */

static fplt_status hash_numbers(const fplt_dataset *rows, const uint8_t key[32], fplt__row_set *set,
                                fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t r = 0; r < rows->rows && !status; r++) {
        crypto_generichash_state state;
        fplt__row_hash hash;
        size_t entries = fplt__row_entries(rows, r);
        crypto_generichash_init(&state, key, 32, sizeof hash.byte);
        crypto_generichash_update(&state, (const void *)&rows->label[r], sizeof *rows->label);
        if (rows->column)
            crypto_generichash_update(&state, (const void *)(rows->column + rows->start[r]),
                                      entries * sizeof *rows->column);
        crypto_generichash_update(&state, (const void *)fplt__row_values(rows, r),
                                  entries * sizeof(double));
        crypto_generichash_final(&state, hash.byte, sizeof hash.byte);
        status = add_row(set, &hash, error);
    }
    return status;
}

/* Those of the file's rows that were taken: a row's number is its place in its file. */
static fplt_status take_numbered(const fplt__row_set *all, const size_t *end, size_t files,
                                 const fplt_dataset *rows, fplt__row_set *set, fplt_error *error)
{
    size_t file = 0, before = 0;
    fplt_status status = FPLT_OK;
    for (size_t r = 0; r < rows->rows && !status; r++) {
        size_t number = fplt__dataset_row_number(rows, r);
        if (number <= before && file + 1 < files)
            file++;
        before = number;
        size_t at = (file ? end[file - 1] : 0) + number - 1;
        if (!number || at >= end[file])
            return fplt_error_set(error, FPLT_FAILED, "the rows of the data files are not known");
        status = add_row(set, &all->row[at], error);
    }
    return status;
}

static fplt_status hash_files(const char *list, const fplt_read_settings *read,
                              const fplt_dataset *rows, const uint8_t key[32], fplt__row_set *set,
                              fplt_error *error)
{
    fplt__row_set all = {NULL, 0, 0};
    size_t *end = NULL, files = 0, capacity = 0;
    char path[4096];
    fplt_status status = FPLT_OK;
    while (!status && *list) {
        list = fplt__list_next(list, path, sizeof path);
        if (!(status = fplt__grow(&end, &capacity, files + 1, sizeof *end, "files", error)) &&
            !(status = hash_file(path, read, key, &all, error)))
            end[files++] = all.count;
    }
    if (!status)
        status = take_numbered(&all, end, files, rows, set, error);
    fplt__free(end);
    fplt__row_set_clear(&all);
    return status;
}

fplt_status fplt__row_set_read(const fplt_settings *reading, const fplt_schema *schema,
                               const fplt_dataset *rows, const uint8_t key[32], fplt__row_set *set,
                               fplt_error *error)
{
    const char *list = fplt_settings_text(reading, "data"), *format;
    fplt_read_settings read = fplt__job_read(reading);
    char path[4096];
    *set = (fplt__row_set){NULL, 0, 0};
    if (schema)
        read.no_header = !schema->header;
    fplt__list_next(list, path, sizeof path);
    fplt_status status = fplt__format_of(path, &read, &format, error);
    if (!status)
        status = strcmp(format, fplt__format_csv.name) == 0 && rows->number
                     ? hash_files(list, &read, rows, key, set, error)
                     : hash_numbers(rows, key, set, error);
    if (status)
        fplt__row_set_clear(set);
    return status;
}

/* Splits */

struct place {
    fplt__row_hash hash;
    size_t row;
};

static int by_hash(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    int order = by_bytes(&left->hash, &right->hash);
    return order ? order : (left->row > right->row) - (left->row < right->row);
}

/* The rows in the order of their hashes under the key; to be released. */
static fplt_status order_rows(const fplt__row_set *set, const uint8_t key[32], struct place **out,
                              fplt_error *error)
{
    struct place *place;
    fplt_status status = fplt__alloc_into(out, set->count, sizeof *place, "held-out rows", error);
    if (status)
        return status;
    place = *out;
    for (size_t r = 0; r < set->count; r++) {
        crypto_generichash(place[r].hash.byte, sizeof place[r].hash.byte, set->row[r].byte,
                           sizeof set->row[r].byte, key, 32);
        place[r].row = r;
    }
    qsort(place, set->count, sizeof *place, by_hash);
    return FPLT_OK;
}

fplt_status fplt__row_set_hold_out(const fplt__row_set *set, const uint8_t key[32], double share,
                                   unsigned char *held, fplt_error *error)
{
    size_t count = (size_t)(share * (double)set->count + 0.5);
    struct place *place;
    fplt_status status = order_rows(set, key, &place, error);
    if (status)
        return status;
    count = count < set->count ? count : set->count - 1;
    for (size_t k = 0; k < set->count; k++)
        held[place[k].row] = k < count;
    fplt__free(place);
    return FPLT_OK;
}

fplt_status fplt__row_set_deal(const fplt__row_set *set, const uint8_t key[32], uint32_t folds,
                               uint32_t *fold, fplt_error *error)
{
    struct place *place;
    fplt_status status = order_rows(set, key, &place, error);
    if (status)
        return status;
    for (size_t k = 0; k < set->count; k++)
        fold[place[k].row] = (uint32_t)((uint64_t)k * folds / set->count);
    fplt__free(place);
    return FPLT_OK;
}

/* Rows with an effect */

static int is_neutral(const fplt_dataset *rows, const fplt_schema *schema, size_t r)
{
    double neutral;
    if (!schema || !rows->dense || rows->label[r] != fplt__declared_neutral_label(schema))
        return 0;
    for (size_t j = 0; j < rows->features; j++) {
        fplt__schema_feature(schema, j, NULL, NULL, &neutral, NULL);
        if (rows->dense[r * rows->features + j] != neutral)
            return 0;
    }
    return 1;
}

int fplt__row_has_effect(const fplt_dataset *rows, const fplt_schema *schema, size_t r)
{
    return !(rows->weight && !(rows->weight[r] > 0)) && !is_neutral(rows, schema, r);
}

fplt_status fplt__row_set_used(const fplt__row_set *set, const fplt_dataset *rows,
                               const fplt_schema *schema, const unsigned char *held, int side,
                               fplt__row_set *used, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    *used = (fplt__row_set){NULL, 0, 0};
    for (size_t r = 0; r < set->count && !status; r++)
        if ((!held || held[r] == side) && fplt__row_has_effect(rows, schema, r))
            status = add_row(used, &set->row[r], error);
    if (status)
        fplt__row_set_clear(used);
    fplt__row_set_sort(used);
    return status;
}
