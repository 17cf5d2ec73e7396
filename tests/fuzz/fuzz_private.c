/* Reading with privacy on arbitrary bytes. Whether a file is read, and how many rows it has, follow from its lines alone, and
 * what a line becomes does not depend on the other lines. */
#include <stdio.h>
#include <unistd.h>

#include "data/schema.h"
#include "data/schema_access.h"
#include "target.h"

enum { MAX_LINES = 12, MAX_BYTES = 4096, COLUMNS = 4, ROWS = 6 };

#define TABLE                                                                                   \
    "columns:\n"                                                                                \
    "  age: {type: number, bounds: 20..90, missing: 55}\n"                                      \
    "  pain: {type: category, levels: [none, some, much], missing: none, other: neutral-row}\n" \
    "  sick: {type: label, classes: [0, 1], missing: neutral-row, other: neutral-row}\n"        \
    "  dose: {type: weight, bounds: 1..3, missing: neutral-row}\n"
#define PLACES "  place: {type: site, names: [north]}\n"
#define SPARSE                                                                                \
    "format: libsvm\nfeatures: 4\nentries: {bounds: -1..1, missing: 0, other: neutral-row}\n" \
    "label: {classes: [-1, 1], missing: -1, other: neutral-row}\n"

/* A kind of file: what stands before the records, and a record that is none of the input. */
struct kind {
    const char *name, *schema, *head, *line;
};

static const struct kind kinds[] = {
    {"a.csv", TABLE PLACES, "age,pain,sick,dose,place\n", "30,some,1,2,north\n"},
    {"a.csv", "header: no\n" TABLE, "", "30,some,1,2\n"},
    {"a.libsvm", SPARSE, "", "1 2:0.5\n"},
};

static fplt_schema *private_schema(const char *text)
{
    fplt_schema *schema;
    fplt_error error;
    promise(fplt__schema_parse(text, strlen(text), "schema", &schema, &error) == FPLT_OK);
    fplt__schema_be_lenient(schema);
    return schema;
}

static fplt_dataset *read_private(const char *name, const char *text, size_t size,
                                  const fplt_schema *schema)
{
    const fplt_read_settings settings = {.schema = schema, .silent = 1};
    fplt_dataset *dataset;
    fplt_error error;
    fplt_status status = fplt__dataset_read_memory(name, text, size, &settings, &dataset, &error);
    promise(!status == (dataset != NULL));
    for (uint32_t i = 0; dataset && i < fplt_dataset_agents(dataset); i++)
        check_shard(dataset, i);
    return dataset;
}

static int same_row(const fplt_dataset *a, size_t i, const fplt_dataset *b, size_t k)
{
    fplt_rows x = fplt_dataset_all(a), y = fplt_dataset_all(b);
    size_t n = x.features;
    if (x.features != y.features || x.label[i] != y.label[k] || !x.dense != !y.dense ||
        (x.weight && x.weight[i] != y.weight[k]))
        return 0;
    if (x.dense)
        return same_bytes(x.dense + i * n, y.dense + k * n, n * sizeof *x.dense);
    size_t count = x.start[i + 1] - x.start[i];
    return y.start[k + 1] - y.start[k] == count &&
           same_bytes(x.column + x.start[i], y.column + y.start[k], count * sizeof *x.column) &&
           same_bytes(x.value + x.start[i], y.value + y.start[k], count * sizeof *x.value);
}

/* Line `number` of the input, which is in the whole as row `number` + 1, beside one other record. */
static void check_line(const struct kind *kind, const fplt_schema *schema,
                       const fplt_dataset *whole, const char *line, size_t length, size_t number)
{
    static char text[MAX_BYTES + 256];
    size_t size = (size_t)snprintf(text, sizeof text, "%s%s", kind->head, kind->line);
    memcpy(text + size, line, length);
    text[size + length] = '\n';
    fplt_dataset *alone = read_private(kind->name, text, size + length + 1, schema);
    promise(alone && fplt_dataset_rows(alone) == 2 && same_row(whole, number + 1, alone, 1));
    promise(same_row(whole, 0, alone, 0));
    fplt_dataset_destroy(alone);
    if (*kind->head)
        return;
    /* as the first record it does not decide how the next is read */
    memcpy(text, line, length);
    size = length + (size_t)snprintf(text + length, sizeof text - length, "\n%s", kind->line);
    alone = read_private(kind->name, text, size, schema);
    promise(alone && fplt_dataset_rows(alone) == 2 && same_row(whole, 0, alone, 1));
    fplt_dataset_destroy(alone);
}

static void check_text(const struct kind *kind, const uint8_t *bytes, size_t size)
{
    static char text[MAX_BYTES + 256];
    fplt_schema *schema = private_schema(kind->schema);
    size_t head = (size_t)snprintf(text, sizeof text, "%s%s", kind->head, kind->line);
    size_t lines = 0, at = 0;
    memcpy(text + head, bytes, size);
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    lines += size && bytes[size - 1] != '\n';
    fplt_dataset *whole = read_private(kind->name, text, head + size, schema);
    promise(whole && fplt_dataset_rows(whole) == lines + 1);
    for (size_t i = 0; i < lines && i < MAX_LINES; i++) {
        const char *line = text + head + at, *end = memchr(line, '\n', size - at);
        size_t length = end ? (size_t)(end - line) : size - at;
        check_line(kind, schema, whole, line, length, i);
        at += length + 1;
    }
    fplt_dataset_destroy(whole);
    /* The first record decides nothing, whatever its first bytes are; a byte order mark before it is no part of it. */
    if (!*kind->head) {
        if (size == 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
            lines = 0;
        whole = read_private(kind->name, (const char *)bytes, size, schema);
        promise((whole != NULL) == (lines > 0));
        promise(!whole || fplt_dataset_rows(whole) == lines);
        fplt_dataset_destroy(whole);
    }
    fplt_schema_destroy(schema);
}

static void check_array(const uint8_t *bytes, size_t size)
{
    static char text[MAX_BYTES + 256];
    size_t rows = size / (COLUMNS * sizeof(double)), used = rows * COLUMNS * sizeof(double);
    fplt_schema *schema = private_schema(TABLE);
    memset(text, ' ', 128);
    memcpy(text, "\x93NUMPY\1\0\x76\0", 10);
    int length =
        snprintf(text + 10, 118, "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %d), }",
                 rows, COLUMNS);
    text[10 + length] = ' ';
    memcpy(text + 128, bytes, used);
    fplt_dataset *read = read_private("a.npy", text, 128 + used, schema);
    promise((read != NULL) == (rows > 0));
    promise(!read || fplt_dataset_rows(read) == rows);
    fplt_dataset_destroy(read);
    fplt_schema_destroy(schema);
}

/* A file of the program's own format with ROWS rows, made once. */
static size_t make_file(const struct kind *kind, char *bytes, size_t capacity)
{
    char path[] = "/tmp/fedplt-fuzz-XXXXXX.fplt", text[1024];
    fplt_schema *schema = private_schema(kind->schema);
    fplt_error error;
    int handle = mkstemps(path, 5), used = snprintf(text, sizeof text, "%s", kind->head);
    for (int i = 0; i < ROWS; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s", kind->line);
    fplt_dataset *dataset = read_private(kind->name, text, (size_t)used, schema);
    promise(handle >= 0 && dataset && !fplt_dataset_write(dataset, path, NULL, &error));
    FILE *file = fopen(path, "rb"); /* the write replaced what mkstemps made */
    promise(file != NULL);
    size_t size = fread(bytes, 1, capacity, file);
    promise(size > 0 && size < capacity);
    fclose(file);
    close(handle);
    remove(path);
    fplt_dataset_destroy(dataset);
    fplt_schema_destroy(schema);
    return size;
}

/* Numbers, labels, weights and columns are the input's bytes. */
static void check_own(size_t which, const uint8_t *bytes, size_t size)
{
    enum { CAPACITY = 1 << 14, SECTIONS_AT = 72, DENSE = 1, COLUMN = 3, WEIGHT = 6 };
    static _Alignas(64) char made[2][CAPACITY], text[CAPACITY];
    static size_t length[2];
    const struct kind *kind = &kinds[which * 2];
    size_t at = 0;
    if (!length[which])
        length[which] = make_file(kind, made[which], CAPACITY);
    memcpy(text, made[which], length[which]);
    for (size_t k = DENSE; k <= WEIGHT; k++) {
        uint64_t place[2];
        memcpy(place, text + SECTIONS_AT + 16 * k, sizeof place);
        for (uint64_t i = 0; i < place[1] && size && k != DENSE + 1; i++)
            text[place[0] + i] = (char)bytes[at++ % size];
    }
    fplt_schema *schema = private_schema(kind->schema);
    fplt_dataset *read = read_private("a.fplt", text, length[which], schema);
    promise(read && fplt_dataset_rows(read) == ROWS);
    fplt_dataset_destroy(read);
    fplt_schema_destroy(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > MAX_BYTES)
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_text(&kinds[i], bytes, size);
    check_array(bytes, size);
    for (size_t i = 0; i < 2; i++)
        check_own(i, bytes, size);
    return 0;
}
