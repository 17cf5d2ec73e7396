/* NPY arrays of numbers: reader and writer. The format is NumPy's NEP 1: a magic string, a version,
 * the length of a header, the header (a Python dictionary as text), the numbers. */
#include <endian.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/builder.h"
#include "fedplt/settings.h"

struct array {
    const fplt__source *source;
    const char *numbers;
    size_t rows, columns, size; /* bytes of a number */
    char kind;                  /* f, i, u, b: floating point, signed, unsigned, truth */
    int big, by_column;         /* highest byte first; a column after the other */
    int plain;                  /* doubles as they are in memory, row after row */
};

/* Finds `'key':` and returns what stands behind it; NULL where it is not. The header ends with a
 * NUL. */
static const char *value_of(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *c = strstr(header, quoted);
    if (!c)
        return NULL;
    c += strlen(quoted);
    c += strspn(c, " ");
    if (*c != ':')
        return NULL;
    c++;
    return c + strspn(c, " ");
}

/* '<f8': byte order, kind, bytes. */
static int take_kind(struct array *array, const char *text)
{
    static const char *const kinds[] = {"f4", "f8", "i1", "i2", "i4", "i8",
                                        "u1", "u2", "u4", "u8", "b1"};
    if (text[0] != '\'' || !text[1] || !strchr("<>|", text[1]))
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(text + 2, kinds[i], 2) == 0 && text[4] == '\'') {
            array->kind = kinds[i][0];
            array->size = (size_t)(kinds[i][1] - '0');
            array->big = text[1] == '>';
            return 1;
        }
    return 0;
}

static fplt_status parse_kind(struct array *array, const char *header, fplt_error *error)
{
    const char *name = array->source->name;
    const char *kind = value_of(header, "descr"), *order = value_of(header, "fortran_order");
    if (!kind || !order)
        return fplt__bad_data(error, name, 0, "the NPY header has no descr or fortran_order");
    size_t length = strcspn(kind, ",}");
    if (!take_kind(array, kind))
        return fplt__bad_data(error, name, 0,
                              "the numbers are of type %s, but floating point of 4 or 8 bytes, "
                              "integers or bool are wanted",
                              fplt__show((fplt__span){kind, length}).text);
    if (strncmp(order, "False", 5) != 0 && strncmp(order, "True", 4) != 0)
        return fplt__bad_data(error, name, 0, "fortran_order is neither True nor False");
    array->by_column = *order == 'T';
    array->plain = array->kind == 'f' && array->size == 8 && !array->by_column &&
                   array->big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return FPLT_OK;
}

static int parse_length(const char **text, size_t *length)
{
    const char *c = *text + strspn(*text, " ");
    size_t value = 0;
    if (*c < '0' || *c > '9')
        return -1;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, (size_t)10, &value) ||
            __builtin_add_overflow(value, (size_t)(*c - '0'), &value))
            return -1;
    *text = c + strspn(c, " ");
    *length = value;
    return 0;
}

static fplt_status parse_shape(struct array *array, const char *header, fplt_error *error)
{
    const char *shape = value_of(header, "shape"), *c = shape;
    if (c && *c == '(') {
        c++;
        if (!parse_length(&c, &array->rows) && *c++ == ',' && !parse_length(&c, &array->columns)) {
            c += *c == ',';
            c += strspn(c, " ");
            if (*c == ')')
                return FPLT_OK;
        }
    }
    size_t length = shape ? strcspn(shape, ")") : 0;
    return fplt__bad_data(
        error, array->source->name, 0, "the shape is %s, but an array of two dimensions is wanted",
        shape ? fplt__show((fplt__span){shape, length + (shape[length] == ')')}).text
              : "not in the NPY header");
}

/* Where the header starts and how long it is. */
static fplt_status find_header(const fplt__source *source, size_t *start, size_t *length,
                               fplt_error *error)
{
    const unsigned char *bytes = (const unsigned char *)source->text;
    if (source->size == 0)
        return fplt__bad_data(error, source->name, 0, "the file is empty");
    if (source->size < 8 || !fplt__npy_is(source->text, source->size))
        return fplt__bad_data(error, source->name, 0, "this is not an NPY file");
    if ((bytes[6] != 1 && bytes[6] != 2) || bytes[7] != 0)
        return fplt__bad_data(error, source->name, 0, "NPY version %u.%u, but 1.0 and 2.0 are read",
                              bytes[6], bytes[7]);
    *start = bytes[6] == 1 ? 10 : 12;
    if (source->size < *start)
        return fplt__bad_data(error, source->name, 0, "the file ends within the NPY header");
    *length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] == 2)
        *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (*length > source->size - *start)
        return fplt__bad_data(error, source->name, 0, "the file ends within the NPY header");
    return FPLT_OK;
}

static fplt_status check_size(const struct array *array, size_t there, fplt_error *error)
{
    size_t wanted;
    const char *name = array->source->name;
    if (__builtin_mul_overflow(array->rows, array->columns, &wanted) ||
        __builtin_mul_overflow(wanted, array->size, &wanted))
        wanted = SIZE_MAX;
    if (array->rows == 0 || array->columns == 0)
        return fplt__bad_data(error, name, 0, "the array is empty (%zu x %zu)", array->rows,
                              array->columns);
    if (there != wanted)
        return fplt__bad_data(error, name, 0,
                              "%zu x %zu numbers need %zu bytes, but there are %zu: the file is %s",
                              array->rows, array->columns, wanted, there,
                              there < wanted ? "cut short" : "too long");
    return FPLT_OK;
}

static fplt_status open_array(const fplt__source *source, struct array *array, fplt_error *error)
{
    size_t start = 0, length = 0;
    char *header;
    *array = (struct array){.source = source};
    fplt_status status = find_header(source, &start, &length, error);
    if (!status)
        status = fplt__alloc_into(&header, length + 1, 1, "an NPY header", error);
    if (status)
        return status;
    memcpy(header, source->text + start, length);
    status = parse_kind(array, header, error);
    if (!status)
        status = parse_shape(array, header, error);
    fplt__free(header);
    array->numbers = source->text + start + length;
    return status ? status : check_size(array, source->size - start - length, error);
}

static uint64_t bits_at(const struct array *array, const unsigned char *place)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < array->size; i++)
        bits = bits << 8 | place[array->big ? i : array->size - 1 - i];
    return bits;
}

/* As NumPy's astype(float): whole numbers above 2^53 are rounded. */
static double number_at(const struct array *array, size_t row, size_t column)
{
    size_t index = array->by_column ? column * array->rows + row : row * array->columns + column;
    uint64_t bits = bits_at(array, (const unsigned char *)array->numbers + index * array->size);
    unsigned unused = 64 - 8 * (unsigned)array->size;
    if (array->kind == 'i')
        return (double)((int64_t)(bits << unused) >> unused);
    if (array->kind != 'f')
        return (double)bits;
    if (array->size == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint32_t half = (uint32_t)bits;
    float value;
    memcpy(&value, &half, sizeof value);
    return value;
}

/* 0-based; the number of columns when there are no labels. */
static fplt_status label_column(const struct array *array, const fplt__builder *builder,
                                size_t *column, fplt_error *error)
{
    const char *label = builder->settings->label;
    long long number = (long long)array->columns;
    *column = array->columns;
    if (builder->labels.mode == FPLT__LABEL_NONE)
        return FPLT_OK;
    if (label &&
        (fplt__parse_integer(label, &number) || number < 1 || (size_t)number > array->columns))
        return fplt__bad_data(error, array->source->name, 0,
                              "label is '%.80s', but it must be the number of a column, 1 to %zu",
                              label, array->columns);
    *column = (size_t)number - 1;
    return FPLT_OK;
}

/* Labels that were seen lately, so that their texts are not made again for each row. */
struct recent {
    uint64_t bits[16];
    double label[16];
    fplt__label_mode mode; /* in which they were taken; another empties the table */
    unsigned used;
};

static fplt_status take_label(const struct array *array, fplt__builder *builder, double value,
                              struct recent *recent, double *label, fplt_error *error)
{
    enum { MAX = sizeof recent->bits / sizeof *recent->bits };
    uint64_t bits;
    char text[32];
    *label = value;
    if (builder->labels.mode == FPLT__LABEL_NUMBER)
        return FPLT_OK;
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < recent->used && recent->mode == builder->labels.mode; i++)
        if (recent->bits[i] == bits) {
            *label = recent->label[i];
            return FPLT_OK;
        }
    fplt__number_name(value, text);
    fplt_status status =
        fplt__builder_label(builder, array->source, 0, fplt__span_of(text), label, error);
    if (recent->mode != builder->labels.mode || recent->used == MAX)
        recent->used = 0;
    recent->mode = builder->labels.mode;
    recent->bits[recent->used] = bits;
    recent->label[recent->used++] = *label;
    return status;
}

static fplt_status bad_number(const struct array *array, size_t row, size_t column, double value,
                              fplt_error *error)
{
    return fplt__bad_data(error, array->source->name, 0,
                          "row %zu, column %zu: %g is not a finite number", row + 1, column + 1,
                          value);
}

static fplt_status check_row(const struct array *array, const fplt__builder *builder, size_t row,
                             const double *value, size_t label_at, fplt_error *error)
{
    size_t j = fplt__first_not_finite(value, array->columns);
    for (; j < array->columns; j++)
        if (!isfinite(value[j]) &&
            !(isnan(value[j]) && j != label_at && builder->settings->keep_missing))
            return bad_number(array, row, j, value[j], error);
    return FPLT_OK;
}

/* The row as it lies in the file, or put together in `room`. */
static const double *row_of(const struct array *array, size_t row, double *room)
{
    const char *place = array->numbers + row * array->columns * array->size;
    if (array->plain && (uintptr_t)place % _Alignof(double) == 0)
        return (const double *)(const void *)place;
    if (array->plain)
        memcpy(room, place, array->columns * sizeof *room);
    for (size_t j = 0; j < array->columns && !array->plain; j++)
        room[j] = number_at(array, row, j);
    return room;
}

static fplt_status read_row(const struct array *array, fplt__builder *builder, const double *row,
                            size_t label_at, uint32_t agent, struct recent *recent,
                            fplt_error *error)
{
    double *cells, label = 0;
    fplt_status status = fplt__builder_cells(builder, &cells, error);
    if (status)
        return status;
    memcpy(cells, row, label_at * sizeof *cells);
    if (label_at < array->columns) {
        memcpy(cells + label_at, row + label_at + 1,
               (array->columns - label_at - 1) * sizeof *cells);
        status = take_label(array, builder, row[label_at], recent, &label, error);
    }
    return status ? status : fplt__builder_row(builder, label, agent, error);
}

/* Pages that are read are given back, where the file is mapped. */
static fplt_status read_rows(const struct array *array, fplt__builder *builder, size_t label_at,
                             uint32_t agent, fplt_error *error)
{
    enum { STEP = 1 << 22 };
    const fplt__source *source = array->source;
    struct recent recent = {.used = 0};
    double *room;
    size_t kept = 0;
    fplt_status status = fplt__alloc_into(&room, array->columns, sizeof *room, "a row", error);
    if (!status)
        status = fplt__grow(&builder->row, &builder->row_capacity, builder->rows + array->rows,
                            sizeof *builder->row, "rows", error);
    if (!status)
        status = fplt__grow(&builder->cells.value, &builder->cells.capacity,
                            builder->cells.count + array->rows * builder->cells.width,
                            sizeof *builder->cells.value, "rows", error);
    for (size_t r = 0; r < array->rows && !status; r++) {
        const double *row = row_of(array, r, room);
        status = check_row(array, builder, r, row, label_at, error);
        if (!status)
            status = read_row(array, builder, row, label_at, agent, &recent, error);
        size_t done =
            (size_t)(array->numbers - source->text) + (r + 1) * array->columns * array->size;
        if (!array->by_column && done - kept >= STEP) {
            fplt__view_forget(&source->view, kept, done - kept);
            kept = done;
        }
    }
    fplt__free(room);
    return status;
}

static fplt_status read_npy(const fplt__source *source, fplt__builder *builder, fplt_error *error)
{
    struct array array;
    size_t label_at = 0;
    uint32_t agent = 0;
    fplt_status status = open_array(source, &array, error);
    if (!status)
        status = label_column(&array, builder, &label_at, error);
    if (status)
        return status;
    size_t features = array.columns - (label_at < array.columns);
    if (features == 0)
        return fplt__bad_data(error, source->name, 0, "there are no features");
    if (features > UINT32_MAX)
        return fplt__bad_data(error, source->name, 0, "%zu features, but at most %u are legal",
                              features, UINT32_MAX);
    if (builder->first_source && features != builder->features)
        return fplt__bad_data(error, source->name, 0, "%zu features, but %.200s has %zu", features,
                              builder->first_source, builder->features);
    builder->first_source = builder->first_source ? builder->first_source : source->name;
    builder->features = builder->cells.width = features;
    status = fplt__source_agent(source, &builder->agents, &agent, error);
    if (!status)
        status = read_rows(&array, builder, label_at, agent, error);
    return status ? status : fplt__view_unchanged(&source->view, source->name, error);
}

fplt_status fplt__npy_columns(const fplt__source *source, size_t *columns, fplt_error *error)
{
    struct array array;
    fplt_status status = open_array(source, &array, error);
    *columns = array.columns;
    return status;
}

fplt_status fplt__npy_visit(const fplt__source *source, fplt__npy_row *take, void *context,
                            fplt_error *error)
{
    struct array array;
    double *room;
    fplt_status status = open_array(source, &array, error);
    if (!status)
        status = fplt__alloc_into(&room, array.columns, sizeof *room, "a row", error);
    if (status)
        return status;
    for (size_t r = 0; r < array.rows && !status; r++)
        status = take(context, row_of(&array, r, room), array.columns, r + 1, error);
    fplt__free(room);
    return status ? status : fplt__view_unchanged(&source->view, source->name, error);
}

static fplt_status write_number(fplt__file *file, double value, fplt_error *error)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = htole64(bits);
    return fplt__file_write(file, &bits, sizeof bits, error);
}

/* Version 1.0; the header is filled with blanks so that the numbers start at a multiple of 64. Its length. */
static size_t put_header(const struct array *array, char bytes[FPLT__NPY_HEADER])
{
    memcpy(bytes, fplt__npy_magic, sizeof fplt__npy_magic);
    bytes[6] = 1;
    bytes[7] = 0;
    int used =
        snprintf(bytes + 10, FPLT__NPY_HEADER - 10,
                 "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (%zu, %zu), }",
                 array->big ? '>' : '<', array->kind, array->size, array->rows, array->columns);
    size_t whole = (10 + (size_t)used + 1 + 63) / 64 * 64;
    memset(bytes + 10 + used, ' ', whole - 10 - (size_t)used - 1);
    bytes[whole - 1] = '\n';
    bytes[8] = (char)(whole - 10);
    bytes[9] = 0;
    return whole;
}

fplt_status fplt__npy_rows(const fplt__source *source, size_t *start, size_t *row,
                           fplt_error *error)
{
    struct array array;
    fplt_status status = open_array(source, &array, error);
    if (status)
        return status;
    if (array.by_column)
        return fplt_error_set(error, FPLT_UNSUPPORTED, "%s: the array has column after column",
                              source->name);
    *start = (size_t)(array.numbers - source->text);
    *row = array.columns * array.size;
    return FPLT_OK;
}

fplt_status fplt__npy_header(const fplt__source *source, size_t rows, char text[FPLT__NPY_HEADER],
                             size_t *length, fplt_error *error)
{
    struct array array;
    fplt_status status = open_array(source, &array, error);
    array.rows = rows;
    if (!status)
        *length = put_header(&array, text);
    return status;
}

static fplt_status write_header(const fplt_dataset *dataset, fplt__file *file, fplt_error *error)
{
    char bytes[FPLT__NPY_HEADER];
    const struct array array = {
        .kind = 'f', .size = 8, .rows = dataset->rows, .columns = dataset->features + 1};
    return fplt__file_write(file, bytes, put_header(&array, bytes), error);
}

static fplt_status write_npy(const fplt_dataset *dataset, fplt__file *file, fplt_error *error)
{
    fplt_rows rows = fplt_dataset_all(dataset);
    fplt_status status = write_header(dataset, file, error);
    for (size_t r = 0; r < rows.count && !status; r++) {
        size_t k = rows.dense ? 0 : rows.start[r];
        for (size_t j = 0; j < rows.features && !status; j++) {
            double value = 0;
            if (rows.dense)
                value = rows.dense[r * rows.features + j];
            else if (k < rows.start[r + 1] && rows.column[k] == j)
                value = rows.value[k++];
            status = write_number(file, value, error);
        }
        if (!status)
            status = write_number(file, rows.label[r], error);
    }
    return status;
}

const fplt__format fplt__format_npy = {
    "npy", "an array of NumPy; the last column is the label", ".npy", 0, NULL, read_npy, write_npy,
    NULL,
};
