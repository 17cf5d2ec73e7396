/* CSV after RFC 4180: the writer. */
#include <stdio.h>

#include "data/builder.h"

static fplt_status write_text(fplt__file *file, const char *text, fplt_error *error)
{
    return fplt__file_write(file, text, strlen(text), error);
}

/* Quotes where the reader would otherwise take something else. */
static fplt_status write_name(fplt__file *file, const char *name, fplt_error *error)
{
    size_t length = strlen(name);
    int plain = !strpbrk(name, ",\"\r\n") && strcmp(name, "?") != 0 && strcmp(name, "NA") != 0 &&
                fplt__span_trim(fplt__span_of(name)).length == length;
    if (plain)
        return write_text(file, name, error);
    fplt_status status = write_text(file, "\"", error);
    for (const char *c = name; *c && !status; c++)
        status = fplt__file_write(file, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1, error);
    return status ? status : write_text(file, "\"", error);
}

static fplt_status write_number(fplt__file *file, double value, fplt_error *error)
{
    char text[40];
    int length = snprintf(text, sizeof text, ",%.17g", value);
    return fplt__file_write(file, text, (size_t)length, error);
}

static fplt_status write_header(const fplt_dataset *dataset, fplt__file *file, int sites,
                                fplt_error *error)
{
    fplt_status status = write_text(file, sites ? "site,label" : "label", error);
    for (size_t j = 0; j < dataset->features && !status; j++) {
        const char *name = fplt_dataset_feature_name(dataset, j);
        char standard[32];
        snprintf(standard, sizeof standard, "x%zu", j + 1);
        status = write_text(file, ",", error);
        if (!status)
            status = write_name(file, name ? name : standard, error);
    }
    return status ? status : write_text(file, "\n", error);
}

static fplt_status write_values(const fplt_rows *rows, size_t r, fplt__file *file,
                                fplt_error *error)
{
    fplt_status status = FPLT_OK;
    size_t k = rows->dense ? 0 : rows->start[r];
    for (size_t j = 0; j < rows->features && !status; j++) {
        double value = 0;
        if (rows->dense)
            value = rows->dense[r * rows->features + j];
        else if (k < rows->start[r + 1] && rows->column[k] == j)
            value = rows->value[k++];
        status = write_number(file, value, error);
    }
    return status;
}

fplt_status fplt__csv_write(const fplt_dataset *dataset, fplt__file *file, fplt_error *error)
{
    int sites = dataset->agents > 1 || dataset->agent_names.count;
    fplt_status status = write_header(dataset, file, sites, error);
    for (uint32_t i = 0; i < dataset->agents; i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        const char *name = fplt_dataset_agent_name(dataset, i);
        char standard[32], label[40];
        snprintf(standard, sizeof standard, "%u", i);
        for (size_t r = 0; r < rows.count && !status; r++) {
            if (sites)
                status = write_name(file, name ? name : standard, error);
            snprintf(label, sizeof label, "%s%.17g", sites ? "," : "", rows.label[r]);
            if (!status)
                status = write_text(file, label, error);
            if (!status)
                status = write_values(&rows, r, file, error);
            if (!status)
                status = write_text(file, "\n", error);
        }
    }
    return status;
}
