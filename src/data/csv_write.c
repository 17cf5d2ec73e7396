/* CSV after RFC 4180: the writer. */
#include <stdio.h>

#include "data/builder.h"
#include "data/rows_write.h"

/* Quotes where the reader would otherwise take something else. */
static void put_name(fplt__buffer *text, const char *name)
{
    size_t length = strlen(name);
    int plain = !strpbrk(name, ",\"\r\n") && strcmp(name, "?") != 0 && strcmp(name, "NA") != 0 &&
                fplt__span_trim(fplt__span_of(name)).length == length;
    if (plain) {
        fplt__buffer_add_bytes(text, name, length);
        return;
    }
    fplt__buffer_add(text, "\"");
    for (const char *c = name; *c; c++)
        fplt__buffer_add_bytes(text, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    fplt__buffer_add(text, "\"");
}

static int has_sites(const fplt_dataset *dataset)
{
    return dataset->agents > 1 || dataset->agent_names.count;
}

static void put_header(const fplt_dataset *dataset, fplt__buffer *text)
{
    fplt__buffer_add(text, has_sites(dataset) ? "site,label" : "label");
    for (size_t j = 0; j < dataset->features; j++) {
        const char *name = fplt_dataset_feature_name(dataset, j);
        char standard[32];
        snprintf(standard, sizeof standard, "x%zu", j + 1);
        fplt__buffer_add(text, ",");
        put_name(text, name ? name : standard);
    }
    fplt__buffer_add(text, "\n");
}

static void put_values(const fplt_dataset *dataset, size_t r, fplt__buffer *text)
{
    size_t k = dataset->dense ? 0 : dataset->start[r];
    for (size_t j = 0; j < dataset->features; j++) {
        double value = 0;
        if (dataset->dense)
            value = dataset->dense[r * dataset->features + j];
        else if (k < dataset->start[r + 1] && dataset->column[k] == j)
            value = dataset->value[k++];
        fplt__buffer_add_bytes(text, ",", 1);
        fplt__buffer_shortest(text, value);
    }
    fplt__buffer_add_bytes(text, "\n", 1);
}

static void put_row(const void *context, const fplt_dataset *dataset, uint32_t agent, size_t r,
                    fplt__buffer *text)
{
    (void)context;
    const char *name = fplt_dataset_agent_name(dataset, agent);
    char standard[32];
    if (has_sites(dataset)) {
        snprintf(standard, sizeof standard, "%u", agent);
        put_name(text, name ? name : standard);
        fplt__buffer_add_bytes(text, ",", 1);
    }
    fplt__buffer_shortest(text, dataset->label[r]);
    put_values(dataset, r, text);
}

fplt_status fplt__csv_write(const fplt_dataset *dataset, fplt__file *file, fplt_error *error)
{
    fplt__buffer header = {NULL, 0, 0, FPLT_OK};
    put_header(dataset, &header);
    fplt_status status = header.status
                             ? fplt_error_set(error, header.status, "no memory for a header")
                             : fplt__file_write(file, header.text, header.length, error);
    fplt__buffer_clear(&header);
    return status ? status : fplt__rows_save(dataset, put_row, file, error);
}
