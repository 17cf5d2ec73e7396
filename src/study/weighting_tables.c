/* Weights as tables, and as one more column of their files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "report/model.h"
#include "report/export.h"
#include "report/report.h"
#include "report/table.h"
#include "study/weighting_inside.h"

size_t fplt__weighted_place(const fplt__weighted_file *file, size_t row)
{
    return file->dataset->number ? (size_t)file->dataset->number[row] : row + 1;
}

/* ---- tables ---- */

fplt_status fplt__weighting_groups(const fplt__weighting *w, fplt_table **table, fplt_error *error)
{
    static const char *const columns[] = {"group", "rows",      "least",         "mean",
                                          "most",  "truncated", "effective_rows"};
    fplt_status status =
        fplt__table_create(columns, sizeof columns / sizeof *columns, table, error);
    for (int group = 0; group < 2 && !status; group++) {
        double least = INFINITY, most = 0, sum = 0, squares = 0;
        for (size_t i = 0; i < w->files; i++) {
            fplt_rows rows = fplt_dataset_all(w->file[i].dataset);
            for (size_t r = 0; r < rows.count; r++) {
                double weight = w->file[i].weight[r];
                if ((rows.label[r] > 0) != group)
                    continue;
                least = fmin(least, weight);
                most = fmax(most, weight);
                sum += weight;
                squares += weight * weight;
            }
        }
        fplt__table_text(*table, w->model->info.class_names[group]);
        fplt__table_whole(*table, (long long)w->rows[group]);
        fplt__table_number(*table, least, 4);
        fplt__table_number(*table, sum / w->rows[group], 4);
        fplt__table_number(*table, most, 4);
        fplt__table_whole(*table, (long long)w->truncated[group]);
        fplt__table_number(*table, sum * sum / squares, 5);
    }
    return status;
}

/* Of one column in the two groups. */
struct column {
    double mean[2], weighted[2], squares[2], total[2];
    double first, second; /* the values that it has, if no more than two */
    int many;
};

static double number_at(const fplt_rows *rows, size_t row, size_t feature)
{
    if (rows->dense)
        return rows->dense[row * rows->features + feature];
    for (size_t e = rows->start[row]; e < rows->start[row + 1]; e++)
        if (rows->column[e] == feature)
            return rows->value[e];
    return 0;
}

static void add_value(struct column *c, double x)
{
    c->first = isnan(c->first) ? x : c->first;
    if (x != c->first && isnan(c->second))
        c->second = x;
    c->many |= x != c->first && x != c->second;
}

static struct column column_of(const fplt__weighting *w, size_t feature)
{
    struct column c = {.first = NAN, .second = NAN};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < w->files; i++) {
            fplt_rows rows = fplt_dataset_all(w->file[i].dataset);
            for (size_t r = 0; r < rows.count; r++) {
                double x = number_at(&rows, r, feature), weight = w->file[i].weight[r];
                int group = rows.label[r] > 0;
                double apart = x - c.mean[group] / w->rows[group];
                if (pass) {
                    c.squares[group] += apart * apart;
                    continue;
                }
                add_value(&c, x);
                c.mean[group] += x;
                c.weighted[group] += weight * x;
                c.total[group] += weight;
            }
        }
    }
    return c;
}

/* The variance of two values is p (1 - p) times the square of their distance; of numbers it is that of a sample. */
static double deviation_of(const fplt__weighting *w, const struct column *c)
{
    double sum = 0;
    for (int group = 0; group < 2; group++)
        sum += c->squares[group] / (w->rows[group] - (c->many && w->rows[group] > 1));
    return sqrt(sum / 2);
}

fplt_status fplt__weighting_balance(const fplt__weighting *w, fplt_table **table, fplt_error *error)
{
    static const char *const columns[] = {"name", "smd_before", "smd_after"};
    char room[32];
    fplt_status status = fplt__table_create(columns, 3, table, error);
    for (size_t j = 0; !status && j < w->model->info.features; j++) {
        struct column c = column_of(w, j);
        double deviation = deviation_of(w, &c);
        fplt__table_text(*table, fplt__model_feature_name(w->model, j, room, sizeof room));
        fplt__table_number(*table, (c.mean[1] / w->rows[1] - c.mean[0] / w->rows[0]) / deviation,
                           4);
        fplt__table_number(
            *table, (c.weighted[1] / c.total[1] - c.weighted[0] / c.total[0]) / deviation, 4);
    }
    return status;
}

/* ---- files ---- */

/* Where a record ends: at a line end outside quotes. */
static const char *record_end(const char *at)
{
    int inside = 0;
    for (; *at && (inside || *at != '\n'); at++)
        inside ^= *at == '"';
    return at;
}

static int is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == end;
}

/* The sign between the fields as it is stated, or as readers find it: the first of them in the first line. */
static char separator_of(const fplt__weighting *w, const char *text)
{
    return w->separator ? w->separator : text[strcspn(text, ",\t;|\n")];
}

/* One weight a row of the file, NaN for one that is left out; released with fplt__free. */
static fplt_status place_weights(const fplt__weighted_file *file, size_t *places, double **weight,
                                 fplt_error *error)
{
    size_t rows = fplt_dataset_rows(file->dataset);
    *places = 0;
    for (size_t r = 0; r < rows; r++) {
        size_t place = fplt__weighted_place(file, r);
        *places = place > *places ? place : *places;
    }
    fplt_status status = fplt__alloc_into(weight, *places + 1, sizeof **weight, "weights", error);
    for (size_t i = 0; !status && i <= *places; i++)
        (*weight)[i] = NAN;
    for (size_t r = 0; !status && r < rows; r++)
        (*weight)[fplt__weighted_place(file, r)] = file->weight[r];
    return status;
}

static void add_record(fplt__buffer *to, const char *at, const char *end, char separator)
{
    const char *last = end > at && end[-1] == '\r' ? end - 1 : end;
    fplt__buffer_add_bytes(to, at, (size_t)(last - at));
    fplt__buffer_add_bytes(to, &separator, 1);
}

/* With 17 digits, which read back to the same bits. */
static void add_weight(const fplt__weighting *w, double weight, fplt__buffer *to)
{
    size_t from = to->length;
    fplt__buffer_digits(to, weight);
    for (; w->comma && !to->status && from < to->length; from++)
        if (to->text[from] == '.')
            to->text[from] = ',';
    fplt__buffer_add(to, "\n");
}

static void add_rows(const fplt__weighting *w, const char *text, const char *name,
                     const double *weight, size_t places, fplt__buffer *to)
{
    char separator = separator_of(w, text);
    size_t row = 0;
    int header = 1;
    for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
        end = record_end(at);
        if (is_blank(at, end))
            continue;
        if (header) {
            add_record(to, at, end, separator);
            fplt__csv_field(to, name);
            fplt__buffer_add(to, "\n");
            header = 0;
            continue;
        }
        if (++row > places || isnan(weight[row]))
            continue;
        add_record(to, at, end, separator);
        add_weight(w, weight[row], to);
    }
}

static fplt_status check_text(const fplt__weighting *w, const fplt__weighted_file *file,
                              const char *name, const char *text, fplt_error *error)
{
    const char *end = text + strcspn(text, "\n");
    size_t length = strlen(name);
    char separator = separator_of(w, text);
    if (!separator || separator == '\n')
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "%s: weights are written beside the columns of CSV text with a "
                              "header, and this file has none in its first line",
                              file->path);
    for (const char *at = strstr(text, name); at && at < end; at = strstr(at + 1, name))
        if ((at == text || strchr(",\t;|\"", at[-1])) && strchr(",\t;|\"\r\n", at[length]))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: there is a column '%.80s' already; name another with column",
                                  file->path, name);
    return FPLT_OK;
}

fplt_status fplt__weighting_text(const fplt__weighting *w, size_t index, const char *name,
                                 char **text, fplt_error *error)
{
    const fplt__weighted_file *file = &w->file[index];
    fplt__buffer made = {NULL, 0, 0, FPLT_OK};
    char *bytes;
    double *weight = NULL;
    size_t length, places;
    *text = NULL;
    fplt_status status = fplt__file_read(file->path, (size_t)1 << 40, &bytes, &length, error);
    if (status)
        return status;
    if (strlen(bytes) != length)
        status = fplt_error_set(error, FPLT_UNSUPPORTED,
                                "%s: weights are written beside the columns of CSV text, and this "
                                "file is packed or no text: unpack it first",
                                file->path);
    if (!status && !(status = check_text(w, file, name, bytes, error)) &&
        !(status = place_weights(file, &places, &weight, error)))
        add_rows(w, bytes, name, weight, places, &made);
    fplt__free(weight);
    fplt_free(bytes);
    if (!status && made.status)
        status = fplt_error_set(error, made.status, "no memory for a file with weights");
    if (status)
        fplt__buffer_clear(&made);
    else
        *text = made.text;
    return status;
}
