/* Shared by the tests of the data module. */
#ifndef FPLT_TESTS_DATA_HELPERS_H
#define FPLT_TESTS_DATA_HELPERS_H

#include "testing.h"

#include "data/builder.h"
#include "fedplt/data.h"
#include "fedplt/memory.h"
#include "fedplt/random.h"

static inline fplt_dataset *read_text_as(const char *name, const char *text,
                                         const fplt_read_settings *settings)
{
    fplt_dataset *dataset;
    fplt_error error;
    assert_ok(fplt__dataset_read_memory(name, text, strlen(text), settings, &dataset, &error),
              error);
    return dataset;
}

/* The text is refused with BAD_DATA and a sentence that starts with `where` and has `part`. */
static inline void refuse_bytes(const char *name, const void *bytes, size_t size,
                                const fplt_read_settings *settings, const char *where,
                                const char *part)
{
    fplt_dataset *dataset;
    fplt_error error;
    fplt_status status = fplt__dataset_read_memory(name, bytes, size, settings, &dataset, &error);
    if (status != FPLT_BAD_DATA)
        fail_msg("status %s where BAD_DATA was to come: %s", fplt_status_name(status),
                 status ? error.text : "read");
    assert_null(dataset);
    if (strncmp(error.text, where, strlen(where)) != 0)
        fail_msg("'%s' does not begin with '%s'", error.text, where);
    assert_contains(error.text, part);
}

static inline void refuse_text(const char *name, const char *text,
                               const fplt_read_settings *settings, const char *where,
                               const char *part)
{
    refuse_bytes(name, text, strlen(text), settings, where, part);
}

static inline double value_at(const fplt_rows *rows, size_t row, size_t feature)
{
    if (rows->dense)
        return rows->dense[row * rows->features + feature];
    for (size_t k = rows->start[row]; k < rows->start[row + 1]; k++)
        if (rows->column[k] == feature)
            return rows->value[k];
    return 0;
}

static inline int same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Same rows, labels and agents, to the last bit; storage may differ. */
static inline void assert_same_values(const fplt_dataset *a, const fplt_dataset *b)
{
    fplt_rows x = fplt_dataset_all(a), y = fplt_dataset_all(b);
    assert_int_equal(x.count, y.count);
    assert_int_equal(x.features, y.features);
    for (size_t r = 0; r < x.count; r++) {
        assert_true(same_bits(x.label[r], y.label[r]));
        for (size_t j = 0; j < x.features; j++)
            if (!same_bits(value_at(&x, r, j), value_at(&y, r, j)))
                fail_msg("row %zu, feature %zu: %a and %a", r, j, value_at(&x, r, j),
                         value_at(&y, r, j));
    }
}

static inline void assert_same_agents(const fplt_dataset *a, const fplt_dataset *b)
{
    assert_int_equal(fplt_dataset_agents(a), fplt_dataset_agents(b));
    for (uint32_t i = 0; i < fplt_dataset_agents(a); i++)
        assert_int_equal(fplt_dataset_shard(a, i).count, fplt_dataset_shard(b, i).count);
}

/* An allocator whose n-th allocation fails, and that counts what is out. */
struct failing {
    long left, out;
};

static inline void *failing_allocate(size_t bytes, void *context)
{
    struct failing *failing = context;
    if (failing->left-- == 0)
        return NULL;
    failing->out++;
    return malloc(bytes);
}

static inline void failing_release(void *memory, void *context)
{
    struct failing *failing = context;
    failing->out -= memory != NULL;
    free(memory);
}

/* Runs `attempt` with the n-th allocation failing, n = 0, 1, ..., until it succeeds. It must report
 * NO_MEMORY each time and leave nothing behind; on success it releases what it made itself. */
static inline void survives_failed_allocations(fplt_status (*attempt)(void *), void *context)
{
    for (long n = 0;; n++) {
        struct failing failing = {n, 0};
        fplt_allocator allocator = {failing_allocate, failing_release, &failing};
        fplt_allocator_set(&allocator);
        fplt_status status = attempt(context);
        fplt_allocator_set(NULL);
        if (failing.out != 0)
            fail_msg("allocation %ld failed: %ld blocks were left", n, failing.out);
        if (status == FPLT_OK) {
            assert_true(failing.left >= 0);
            assert_true(n > 0);
            return;
        }
        assert_int_equal(status, FPLT_NO_MEMORY);
    }
}

/* A folder of its own for files, removed with them. */
struct folder {
    char path[64];
    char file[160];
};

static inline struct folder *folder_make(struct folder *folder)
{
    snprintf(folder->path, sizeof folder->path, "/tmp/fedplt-test-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    return folder;
}

static inline const char *folder_file(struct folder *folder, const char *name)
{
    snprintf(folder->file, sizeof folder->file, "%s/%s", folder->path, name);
    return folder->file;
}

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static inline void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

#endif
