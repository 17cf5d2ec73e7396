/* Long files block by block: each block of whole rows, behind the header of its file, is read as a file of its own. */
#include "data/blocks.h"

#include "base/memory.h"
#include "data/address.h"
#include "data/builder.h"
#include "data/declaration.h"
#include "data/left_out.h"

/* How a file begins tells its format and its header. */
enum { BEGINNING = 1 << 19 };

struct fplt__blocks {
    fplt_read_settings settings; /* for the blocks: the format is decided */
    fplt__source source;
    size_t size;   /* bytes of rows in a block, at least */
    size_t header; /* bytes before the first row of a block */
    size_t row;    /* bytes of a row of an array; 0: the file is a text */
    size_t at;     /* of the first row that follows */
    char *text;    /* owned: header and rows of a block */
    size_t capacity;
    size_t left_out;            /* rows, so far */
    size_t kept;                /* rows, so far */
    int sparse;                 /* read at once, rows would be so */
    fplt__declaration declared; /* what the schema changed, so far */
};

static fplt_status not_in_blocks(fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNSUPPORTED, "the file is not read in blocks");
}

/* Behind the first line that is not blank and its line end, which is not between quotes; 0 where it does not end. */
static size_t header_end(const char *text, size_t size)
{
    size_t at = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    int inside = 0;
    while (at < size && (text[at] == '\n' || text[at] == '\r'))
        at++;
    for (; at < size && (inside || text[at] != '\n'); at++)
        inside ^= text[at] == '"';
    return at < size ? at + 1 : 0;
}

/* What a file looks like is checked in the first block only. */
static void continue_settings(fplt__blocks *blocks)
{
    if (!blocks->settings.schema && !blocks->settings.missing_codes && blocks->header &&
        !blocks->row)
        blocks->settings.missing_codes = "none";
}

/* Whether rows of a text that is read by the schema do not depend on others: the rows of a person are counted, and with privacy
 * a line that cannot be read may not end where it seems to. */
static int reads_by_row(const fplt_schema *schema)
{
    return schema->header && !schema->libsvm && !schema->lenient &&
           !fplt__schema_column(schema, FPLT__PERSON);
}

static fplt_status begin_blocks(struct fplt__blocks *blocks, const char *path,
                                const fplt_read_settings *settings, const fplt__blocks *before,
                                fplt_error *error)
{
    const char *format;
    if (before && settings->site && strcmp(settings->site, "none") != 0)
        return not_in_blocks(error); /* refused where several files are read */
    if (fplt__is_stream(path) || fplt__address_kind(path) ||
        (settings->schema && !reads_by_row(settings->schema)) || settings->no_header ||
        settings->categories)
        return not_in_blocks(error);
    fplt_status status = fplt__format_of(path, settings, &format, error);
    if (!status)
        status = fplt__source_open(path, settings, BEGINNING, &blocks->source, error);
    if (status)
        return status;
    int csv = strcmp(format, "csv") == 0, libsvm = strcmp(format, "libsvm") == 0;
    int array = strcmp(format, "npy") == 0;
    if (!(csv || libsvm || array) || blocks->source.view.handle < 0 ||
        (!before && fplt__source_bytes(&blocks->source) <= blocks->size))
        return not_in_blocks(error);
    blocks->settings = *settings;
    blocks->settings.format = csv ? "csv" : libsvm ? "libsvm" : "npy";
    blocks->header = csv ? header_end(blocks->source.text, blocks->source.size) : 0;
    blocks->at = blocks->header;
    if (array && (status = fplt__npy_rows(&blocks->source, &blocks->at, &blocks->row, error)))
        return status;
    if (settings->schema && !csv)
        return not_in_blocks(error);
    if (csv && (!blocks->header || !(settings->feature_names || settings->schema)))
        return not_in_blocks(error); /* columns are known by their places among all */
    blocks->declared.schema = settings->schema;
    if (settings->schema && (status = fplt__clipped_init(&blocks->declared, error)))
        return status;
    if (before) {
        blocks->kept = before->kept;
        blocks->sparse = before->sparse;
        continue_settings(blocks);
    }
    return fplt__grow(&blocks->text, &blocks->capacity, blocks->header + blocks->size, 1,
                      "a block of a file", error);
}

fplt_status fplt__blocks_open(const char *path, const fplt_read_settings *settings, size_t size,
                              const fplt__blocks *before, fplt__blocks **blocks, fplt_error *error)
{
    fplt__blocks *made;
    *blocks = NULL;
    fplt_status status = fplt__alloc_into(&made, 1, sizeof *made, "blocks of a file", error);
    if (status)
        return status;
    made->source = FPLT__NO_SOURCE;
    made->size = size;
    if ((status = begin_blocks(made, path, settings, before, error))) {
        fplt__blocks_close(made);
        return status;
    }
    *blocks = made;
    return FPLT_OK;
}

/* Whole rows behind the header, `size` bytes of them or more if a row is longer; how many in `rows`. */
static fplt_status load_rows(fplt__blocks *blocks, size_t *rows, fplt_error *error)
{
    size_t left = fplt__source_bytes(&blocks->source) - blocks->at, got;
    if (blocks->header)
        memcpy(blocks->text, blocks->source.text, blocks->header);
    for (size_t wanted = blocks->size;; wanted *= 2) {
        size_t count = wanted < left ? wanted : left;
        fplt_status status = fplt__grow(&blocks->text, &blocks->capacity, blocks->header + count, 1,
                                        "a block of a file", error);
        if (!status)
            status = fplt__view_read(&blocks->source.view, blocks->source.name, blocks->at,
                                     blocks->text + blocks->header, count, &got, error);
        if (status)
            return status;
        if (got < count)
            return not_in_blocks(error); /* it has become shorter */
        *rows = count == left ? count
                              : fplt__last_row_end(blocks->text + blocks->header, count,
                                                   blocks->header > 0, 0);
        if (*rows)
            return FPLT_OK;
    }
}

/* The same of an array, behind a header that says how many rows of it are here. */
static fplt_status load_array(fplt__blocks *blocks, size_t *rows, fplt_error *error)
{
    size_t left = fplt__source_bytes(&blocks->source) - blocks->at;
    size_t count = blocks->size / blocks->row * blocks->row;
    count = count ? count : blocks->row;
    count = count < left ? count : left;
    char header[FPLT__NPY_HEADER];
    fplt_status status =
        fplt__npy_header(&blocks->source, count / blocks->row, header, &blocks->header, error);
    if (!status)
        status = fplt__grow(&blocks->text, &blocks->capacity, blocks->header + count, 1,
                            "a block of a file", error);
    if (status)
        return status;
    memcpy(blocks->text, header, blocks->header);
    memcpy(blocks->text + blocks->header, blocks->source.text + blocks->at, count);
    fplt__view_forget(&blocks->source.view, blocks->at, count);
    *rows = count;
    return FPLT_OK;
}

/* Columns of the file that became features, where some have levels. */
static size_t columns_of(const fplt_dataset *dataset)
{
    size_t columns = 0;
    for (size_t j = 0; j < dataset->features; j++)
        columns += !j || !dataset->group[j] || dataset->group[j] != dataset->group[j - 1];
    return columns;
}

fplt_status fplt__blocks_next(fplt__blocks *blocks, fplt_dataset **dataset, fplt_error *error)
{
    size_t rows;
    *dataset = NULL;
    if (blocks->at == fplt__source_bytes(&blocks->source)) {
        const fplt__left_out left_out = {.count = blocks->left_out};
        fplt__left_out_log(&left_out, blocks->source.name);
        if (blocks->declared.clipped && !blocks->settings.silent)
            fplt__clipped_log(&blocks->declared, blocks->source.name);
        return fplt__view_unchanged(&blocks->source.view, blocks->source.name, error);
    }
    fplt_status status = (blocks->row ? load_array : load_rows)(blocks, &rows, error);
    if (!status)
        status = fplt__dataset_read_memory(blocks->source.name, blocks->text, blocks->header + rows,
                                           &blocks->settings, dataset, error);
    if (status)
        return status;
    blocks->at += rows;
    blocks->left_out += (*dataset)->left_out_count;
    if (blocks->left_out && (*dataset)->agent_names.count) {
        fplt_dataset_destroy(*dataset);
        *dataset = NULL;
        return not_in_blocks(error); /* the log says how many rows of which site are left out */
    }
    fplt__clipped_merge(&blocks->declared, (*dataset)->clipped, (*dataset)->neutral_rows);
    blocks->kept += (*dataset)->rows;
    if ((*dataset)->group)
        blocks->sparse |= !fplt__levels_are_dense(blocks->kept, (*dataset)->features,
                                                  blocks->kept * columns_of(*dataset));
    continue_settings(blocks);
    return FPLT_OK;
}

int fplt__blocks_are_dense(const fplt__blocks *blocks)
{
    return !blocks->sparse;
}

void fplt__blocks_close(fplt__blocks *blocks)
{
    if (!blocks)
        return;
    fplt__source_release(&blocks->source);
    fplt__free(blocks->declared.clipped);
    fplt__free(blocks->text);
    fplt__free(blocks);
}
