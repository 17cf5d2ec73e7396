/* The module `xlsx` on arbitrary parts of a workbook. An input is the file itself where it begins as a zip archive does;
 * otherwise its parts, each behind a line "== NAME", which are packed without compression, so that mutations reach the
 * readers of XML instead of the check sums. */
#include <string.h>
#include <unistd.h>

#include <zip.h>

#include "data/door.h"
#include "target.h"

enum { PARTS = 16 };

extern const fplt__door fplt__door_table;

/* What a host may rely on. */
struct seen {
    size_t columns, rows, last;
    unsigned calls;
    int no_header; /* the row of the columns is data, too */
};

static void check_cells(const fplt__cell *cells, size_t count)
{
    unsigned sum = 0; /* every byte is read */
    for (size_t i = 0; i < count; i++) {
        promise(cells[i].kind <= FPLT__CELL_TEXT);
        promise(cells[i].kind != FPLT__CELL_TEXT || cells[i].text || !cells[i].length);
        promise(cells[i].length <= FPLT__DOOR_MAX_CELL);
        for (size_t k = 0;
             cells[i].kind != FPLT__CELL_MISSING && cells[i].text && k < cells[i].length; k++)
            sum += (unsigned char)cells[i].text[k];
    }
    volatile unsigned sink = sum;
    (void)sink;
}

static fplt_status take_columns(void *context, size_t number, const fplt__cell *names, size_t count,
                                fplt_error *error)
{
    struct seen *seen = context;
    (void)error;
    promise(seen->calls++ == 0);
    promise(count > 0 && count <= FPLT__DOOR_MAX_COLUMNS);
    seen->columns = count;
    promise(number > 0);
    seen->last = number - (seen->no_header != 0);
    if (names)
        check_cells(names, count);
    return FPLT_OK;
}

static fplt_status take_row(void *context, size_t number, const fplt__cell *cells,
                            fplt_error *error)
{
    struct seen *seen = context;
    promise(seen->calls == 1 && number > seen->last);
    seen->last = number;
    check_cells(cells, seen->columns);
    if (++seen->rows < 5000)
        return FPLT_OK;
    return fplt__door_fail(error, FPLT_BAD_DATA, "input", number, "enough");
}

static void take_note(void *context, const char *sentence)
{
    (void)context;
    promise(*sentence != 0);
}

/* Packs the parts; 0: nothing to read. */
static int pack(const char *path, const uint8_t *bytes, size_t size)
{
    int code, packed = 0;
    zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    const uint8_t *at = bytes, *end = bytes + size;
    promise(archive != NULL);
    while (packed < PARTS && end - at > 3 && memcmp(at, "== ", 3) == 0) {
        const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
        char name[64] = "";
        if (!line || (size_t)(line - at - 3) >= sizeof name)
            break;
        memcpy(name, at + 3, (size_t)(line - at - 3));
        const uint8_t *next = memmem(line, (size_t)(end - line), "\n== ", 4);
        size_t length = (size_t)((next ? next : end) - line - 1);
        if (next == line)
            length = 0;
        zip_source_t *source = zip_source_buffer(archive, line + 1, length, 0);
        zip_int64_t entry = zip_file_add(archive, name, source, ZIP_FL_OVERWRITE);
        if (entry < 0)
            zip_source_free(source);
        else
            zip_set_file_compression(archive, (zip_uint64_t)entry, ZIP_CM_STORE, 0);
        packed += entry >= 0;
        at = next ? next + 1 : end;
    }
    if (packed && zip_close(archive) == 0)
        return 1;
    zip_discard(archive);
    return 0;
}

static int store(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    promise(file != NULL);
    size_t written = fwrite(bytes, 1, size, file);
    return fclose(file) == 0 && written == size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char path[] = "/tmp/fedplt-fuzz-XXXXXX";
    static int made;
    if (!made) {
        int descriptor = mkstemp(path);
        promise(descriptor >= 0);
        close(descriptor);
        made = 1;
    }
    int ready = size > 2 && memcmp(bytes, "PK", 2) == 0 ? store(path, bytes, size)
                                                        : pack(path, bytes, size);
    for (int no_header = 0; ready && no_header < 2; no_header++) {
        struct seen seen = {.no_header = no_header};
        fplt_error error = {FPLT_OK, ""};
        const fplt__door_request request = {.name = "input",
                                            .place = path,
                                            .sheet = no_header ? "2" : NULL,
                                            .no_header = no_header,
                                            .max_bytes = 1 << 20};
        const fplt__door_host host = {
            .context = &seen, .columns = take_columns, .row = take_row, .note = take_note};
        fplt_status status = fplt__door_table.read(&request, &host, &error);
        promise(!status || (error.status == status && *error.text));
    }
    unlink(path);
    return 0;
}
