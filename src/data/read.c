/* Reading and writing of data sets: files, formats, settings. */
#include "base/log.h"
#include "base/memory.h"
#include "data/builder.h"

static const fplt__format *const formats[] = {&fplt__format_csv, &fplt__format_libsvm,
                                              &fplt__format_npy};

enum { FORMATS = sizeof formats / sizeof *formats };

const char *fplt_format_list(size_t index, const char **help)
{
    if (index >= FORMATS)
        return NULL;
    if (help)
        *help = formats[index]->help;
    return formats[index]->name;
}

static fplt_reading watching;
static void *watcher;

void fplt_read_watch(fplt_reading watch, void *context)
{
    watching = watch;
    watcher = context;
}

void fplt__read_tell(const fplt__source *source, const char *at)
{
    if (watching)
        watching(watcher, source->name, (size_t)(at - source->text), source->size);
}

fplt_read_settings fplt_read_defaults(void)
{
    return (fplt_read_settings){0};
}

size_t fplt__unpacked_length(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".gz") == 0 ? length - 3 : length;
}

static const fplt__format *by_extension(const char *path)
{
    size_t length = fplt__unpacked_length(path);
    for (size_t i = 0; i < FORMATS; i++) {
        size_t size = strlen(formats[i]->extension);
        if (length > size && memcmp(path + length - size, formats[i]->extension, size) == 0)
            return formats[i];
    }
    return NULL;
}

/* NPY has a magic string; the first line of a CSV file that is no comment has a comma. */
static const fplt__format *by_content(const fplt__source *source)
{
    const char *at = source->text, *end = at + source->size;
    if (source->size >= 6 && memcmp(at, "\x93NUMPY", 6) == 0)
        return &fplt__format_npy;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (*at != '#' && *at != '\r' && *at != '\n')
            return memchr(at, ',', (size_t)(stop - at)) ? &fplt__format_csv : &fplt__format_libsvm;
        at = stop < end ? stop + 1 : end;
    }
    return &fplt__format_csv;
}

static fplt_status find_format(const char *name, const fplt__format **format, fplt_error *error)
{
    for (size_t i = 0; i < FORMATS; i++) {
        if (strcmp(name, formats[i]->name) == 0) {
            *format = formats[i];
            return FPLT_OK;
        }
    }
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "format is '%.80s', but it must be one of csv, libsvm, npy", name);
}

static fplt_status choose_format(const fplt__source *source, const fplt_read_settings *settings,
                                 const fplt__format **format, fplt_error *error)
{
    if (settings->schema) {
        *format = settings->schema->libsvm ? &fplt__format_libsvm : &fplt__format_csv;
        return FPLT_OK;
    }
    if (settings->format && strcmp(settings->format, "auto") != 0)
        return find_format(settings->format, format, error);
    *format = by_extension(source->name);
    if (!*format)
        *format = by_content(source);
    return FPLT_OK;
}

fplt_status fplt__format_of(const char *path, const fplt_read_settings *settings,
                            const char **format, fplt_error *error)
{
    const fplt__format *found;
    fplt__source source;
    if (strcmp(path, "-") == 0)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "standard input can be read only once, and here the columns are looked "
            "at before the rows: give a file");
    fplt_status status = fplt__source_load(path, settings, &source, error);
    if (status)
        return status;
    if (!(status = choose_format(&source, settings, &found, error)))
        *format = found->name;
    fplt__source_release(&source);
    return status;
}

static fplt_status check_settings(const fplt__source *source, const fplt__format *format,
                                  const fplt_read_settings *settings, fplt_error *error)
{
    const char *site = settings->site, *label = settings->label;
    if (format->columns)
        return FPLT_OK;
    const char *name = site && strcmp(site, "none") != 0        ? "site"
                       : settings->categories                   ? "categories"
                       : settings->columns                      ? "columns"
                       : settings->ignore                       ? "ignore"
                       : settings->row_weight                   ? "row-weight"
                       : settings->id && !settings->id_if_there ? "id"
                                                                : NULL;
    if (name)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: %s is for CSV files, but this file is read as %s", source->name,
                              name, format->name);
    if (format == &fplt__format_libsvm && label && strcmp(label, "none") != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: label names a column, but in a LIBSVM file the label is always "
                              "first",
                              source->name);
    return FPLT_OK;
}

static size_t sequence(const unsigned char *c, const unsigned char *end)
{
    static const unsigned char lead[] = {0x80, 0xc0, 0xe0, 0xf0}, mask[] = {0x80, 0xe0, 0xf0, 0xf8};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    for (size_t length = 2; length <= 4; length++) {
        if ((*c & mask[length - 1]) != lead[length - 1])
            continue;
        uint32_t code = *c & (unsigned char)~mask[length - 1];
        if ((size_t)(end - c) < length)
            return 0;
        for (size_t i = 1; i < length; i++) {
            if ((c[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (c[i] & 0x3fu);
        }
        return code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000)
                   ? length
                   : 0;
    }
    return 0;
}

/* Steps over ASCII without NUL, a block at a time: as signed bytes these are the positive ones. */
static const unsigned char *skip_plain(const unsigned char *c, const unsigned char *end)
{
    enum { BLOCK = 64 };
    for (; end - c >= BLOCK; c += BLOCK) {
        int other = 0;
        for (int i = 0; i < BLOCK; i++)
            other |= (signed char)c[i] <= 0;
        if (other)
            break;
    }
    while (c < end && (signed char)*c > 0)
        c++;
    return c;
}

static size_t line_of(const fplt__source *source, const unsigned char *place)
{
    size_t line = 1;
    for (const unsigned char *c = (const unsigned char *)source->text; c < place; c++)
        line += *c == '\n';
    return line;
}

fplt_status fplt__text_check(const fplt__source *source, fplt_error *error)
{
    const unsigned char *c = (const unsigned char *)source->text, *end = c + source->size;
    while ((c = skip_plain(c, end)) < end) {
        size_t length = *c >= 0x80 ? sequence(c, end) : 0;
        if (*c == 0)
            return fplt__bad_data(error, source->name, line_of(source, c),
                                  "a NUL byte: this is not a text file");
        if (length == 0)
            return fplt__bad_data(error, source->name, line_of(source, c),
                                  "byte 0x%02x is not UTF-8: this is not a text file, or one in "
                                  "another encoding",
                                  *c);
        c += length;
    }
    return FPLT_OK;
}

/* One pass of a reader over a file; the format of the first file is that of all. */
static fplt_status visit(const fplt__source *source, fplt__builder *builder,
                         const fplt__format **format, int scan, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (!*format) {
        status = choose_format(source, builder->settings, format, error);
        if (!status)
            status = check_settings(source, *format, builder->settings, error);
    }
    if (status)
        return status;
    builder->number = 0;
    if (builder->schema && *format == &fplt__format_csv)
        return scan ? FPLT_OK : fplt__declared_csv(source, builder, error);
    if (!scan)
        return (*format)->read(source, builder, error);
    return (*format)->scan ? (*format)->scan(source, builder, error) : FPLT_OK;
}

/* Standard input is kept in `input` from its first visit: it cannot be read again. */
static fplt_status visit_path(const char *path, fplt__builder *builder, const fplt__format **format,
                              int scan, fplt__source *input, fplt_error *error)
{
    fplt__source own = {NULL, NULL, 0, NULL};
    fplt__source *source = strcmp(path, "-") == 0 ? input : &own;
    fplt_status status =
        source->owned ? FPLT_OK : fplt__source_load(path, builder->settings, source, error);
    if (!status)
        status = visit(source, builder, format, scan, error);
    fplt__source_release(&own);
    return status;
}

static fplt_status read_paths(const char *const *paths, size_t count, fplt__builder *builder,
                              fplt_dataset **dataset, fplt_error *error)
{
    const fplt__format *format = NULL;
    const char *categories = builder->settings->categories;
    fplt__source input = {NULL, NULL, 0, NULL};
    fplt_status status = FPLT_OK;
    if (categories && strcmp(categories, "auto") == 0)
        for (size_t i = 0; i < count && !status; i++)
            status = visit_path(paths[i], builder, &format, 1, &input, error);
    for (size_t i = 0; i < count && !status; i++)
        status = visit_path(paths[i], builder, &format, 0, &input, error);
    fplt__source_release(&input);
    if (!status)
        fplt__left_out_log(&builder->left_out, paths[0]);
    return status ? status : fplt__builder_finish(builder, dataset, error);
}

static fplt_status check_paths(const char *const *paths, size_t count,
                               const fplt_read_settings *settings, fplt_error *error)
{
    fplt__lookup seen = {0};
    fplt_status status = FPLT_OK;
    if (count == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE, "there is no file to read");
    if (count > 1 && settings->site && strcmp(settings->site, "none") != 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "site is '%.80s', but with several files each file is one agent",
                              settings->site);
    for (size_t i = 0; i < count && !status; i++) {
        uint32_t number;
        status = fplt__lookup_add(&seen, fplt__span_of(paths[i]), &number, error);
        if (!status && number < i)
            status =
                fplt_error_set(error, FPLT_BAD_VALUE, "%s: this file is given twice", paths[i]);
    }
    fplt__lookup_clear(&seen);
    return status;
}

fplt_status fplt_dataset_read(const char *const *paths, size_t count,
                              const fplt_read_settings *settings, fplt_dataset **dataset,
                              fplt_error *error)
{
    fplt__builder builder;
    *dataset = NULL;
    fplt_status status = check_paths(paths, count, settings, error);
    if (status)
        return status;
    locale_t locale = fplt__locale_enter();
    status = fplt__builder_init(&builder, settings, count, error);
    if (!status)
        status = read_paths(paths, count, &builder, dataset, error);
    fplt__builder_clear(&builder);
    fplt__locale_leave(locale);
    return status;
}

fplt_status fplt__dataset_read_memory(const char *name, const void *bytes, size_t size,
                                      const fplt_read_settings *settings, fplt_dataset **dataset,
                                      fplt_error *error)
{
    fplt__builder builder;
    fplt__source source = {name, bytes, size, NULL};
    const fplt__format *format = NULL;
    *dataset = NULL;
    locale_t locale = fplt__locale_enter();
    fplt_status status = fplt__builder_init(&builder, settings, 1, error);
    if (!status)
        status = visit(&source, &builder, &format, 1, error);
    if (!status)
        status = visit(&source, &builder, &format, 0, error);
    if (!status)
        status = fplt__builder_finish(&builder, dataset, error);
    fplt__builder_clear(&builder);
    fplt__locale_leave(locale);
    return status;
}

fplt_status fplt_dataset_write(const fplt_dataset *dataset, const char *path, const char *format,
                               fplt_error *error)
{
    const fplt__format *found = by_extension(path);
    fplt__file *file;
    fplt_status status = FPLT_OK;
    if (format && strcmp(format, "auto") != 0)
        status = find_format(format, &found, error);
    else if (!found)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: the name does not end with .csv, .libsvm or .npy; say the "
                                "format",
                                path);
    if (!status && (dataset->weight || dataset->offset || dataset->person))
        status =
            fplt_error_set(error, FPLT_UNSUPPORTED,
                           "%s: rows with a %s cannot be written: the file would not hold it", path,
                           dataset->weight   ? "weight"
                           : dataset->offset ? "offset"
                                             : "person");
    if (!status)
        status = fplt__file_open(path, 0666, &file, error);
    if (status)
        return status;
    locale_t locale = fplt__locale_enter();
    status = found->write(dataset, file, error);
    fplt__locale_leave(locale);
    if (status) {
        fplt__file_abort(file);
        return status;
    }
    return fplt__file_commit(file, error);
}
