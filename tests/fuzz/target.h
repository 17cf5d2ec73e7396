/* What the fuzz targets of the readers share: read, then look at every number. */
#ifndef FPLT_TESTS_FUZZ_TARGET_H
#define FPLT_TESTS_FUZZ_TARGET_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "data/builder.h"
#include "data/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Ends the process where a promise is broken: that is how a fuzzer is told. */
static inline void promise(int kept)
{
    if (!kept)
        abort();
}

static inline void check_shard(const fplt_dataset *dataset, uint32_t agent)
{
    fplt_rows rows = fplt_dataset_shard(dataset, agent);
    promise(rows.count > 0 && rows.features > 0 && !rows.dense != !rows.start);
    for (size_t r = 0; r < rows.count; r++) {
        promise(isfinite(rows.label[r]));
        for (size_t j = 0; rows.dense && j < rows.features; j++)
            promise(isfinite(rows.dense[r * rows.features + j]));
        for (size_t k = rows.start ? rows.start[r] : 1; rows.start && k < rows.start[r + 1]; k++) {
            promise(isfinite(rows.value[k]) && rows.column[k] < rows.features);
            promise(k == rows.start[r] || rows.column[k] > rows.column[k - 1]);
        }
    }
}

static inline int same_bytes(const void *a, const void *b, size_t count)
{
    return !a == !b && (!a || !count || memcmp(a, b, count) == 0);
}

/* By another way of scanning and in short pieces: the same numbers, or the same sentence. */
static inline void read_again(const fplt__scan *scan, const uint8_t *bytes, size_t size,
                              size_t piece, const fplt_read_settings *settings,
                              const fplt_dataset *dataset, fplt_status status,
                              const fplt_error *said)
{
    fplt_dataset *again;
    fplt_error error;
    fplt__scan_use(scan);
    promise(fplt__dataset_read_pieces("input", bytes, size, piece, settings, &again, &error) ==
            status);
    fplt__scan_use(NULL);
    if (status) {
        promise(strcmp(error.text, said->text) == 0);
        return;
    }
    fplt_rows a = fplt_dataset_all(dataset), b = fplt_dataset_all(again);
    promise(a.count == b.count && a.features == b.features);
    promise(same_bytes(a.label, b.label, a.count * sizeof *a.label));
    promise(same_bytes(a.dense, b.dense, a.dense ? a.count * a.features * sizeof *a.dense : 0));
    promise(same_bytes(a.start, b.start, (a.count + 1) * sizeof *a.start));
    size_t entries = a.start ? a.start[a.count] : 0;
    promise(same_bytes(a.column, b.column, entries * sizeof *a.column));
    promise(same_bytes(a.value, b.value, entries * sizeof *a.value));
    fplt_dataset_destroy(again);
}

/* A data set must be whole; a refusal must have its status and a sentence. */
static inline void read_and_check(const char *format, const uint8_t *bytes, size_t size,
                                  fplt_read_settings settings)
{
    fplt_dataset *dataset;
    fplt_error error;
    settings.format = format;
    fplt_status status =
        fplt__dataset_read_memory("input", bytes, size, &settings, &dataset, &error);
    promise(!status == (dataset != NULL));
    if (status) {
        promise(status == error.status && error.text[0] != 0);
        promise(status == FPLT_BAD_DATA || status == FPLT_BAD_VALUE || status == FPLT_NO_MEMORY);
    }
    const fplt__scan *scan;
    for (size_t i = 0; status != FPLT_NO_MEMORY && (scan = fplt__scan_get(i)); i++)
        if (scan->available())
            read_again(scan, bytes, size, i ? 48 : 100, &settings, dataset, status, &error);
    if (status)
        return;
    size_t rows = 0;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++) {
        check_shard(dataset, i);
        rows += fplt_dataset_shard(dataset, i).count;
    }
    promise(rows == fplt_dataset_rows(dataset));
    fplt_dataset_destroy(dataset);
}

#endif
