/* Reading and writing of data sets: files, formats, settings. */
#include "base/file.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/memory.h"
#include "data/address.h"
#include "data/builder.h"
#include "data/dataset_access.h"
#include "data/declared.h"
#include "data/schema.h"

static const fplt__format *const formats[] = {&fplt__format_csv, &fplt__format_libsvm,
                                              &fplt__format_npy, &fplt__format_fplt};

/* Long enough that a thread is worth its while, short enough to stay in the cache. */
enum { PIECE = 1 << 19 };

enum { FORMATS = sizeof formats / sizeof *formats };

const char *fplt__format_list(size_t index, const char **help)
{
    if (index >= FORMATS)
        return NULL;
    if (help)
        *help = formats[index]->help;
    return formats[index]->name;
}

fplt_read_settings fplt_read_defaults(void)
{
    return (fplt_read_settings){0};
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

/* Whether a line separates fields as CSV does: by a comma, a semicolon or a bar, or by a tab where what
 * follows is no index:value of LIBSVM. */
static int is_separated(const char *line, const char *end)
{
    size_t length = (size_t)(end - line);
    const char *tab = memchr(line, '\t', length);
    return memchr(line, ',', length) || memchr(line, ';', length) || memchr(line, '|', length) ||
           (tab && !memchr(tab, ':', (size_t)(end - tab)));
}

/* NPY has a magic string; the first line of a text that is no comment tells. */
static const fplt__format *by_content(const fplt__source *source)
{
    const char *at = source->text, *end = at + source->size;
    if (fplt__npy_is(source->text, source->size))
        return &fplt__format_npy;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (*at != '#' && *at != '\r' && *at != '\n')
            return is_separated(at, stop) ? &fplt__format_csv : &fplt__format_libsvm;
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
                          "format is '%.80s', but it must be one of csv, libsvm, npy, fplt", name);
}

/* Files of numbers begin with their magic. With privacy the first bytes may be a record, so that the name decides. */
static const fplt__format *by_magic(const fplt__source *source, const fplt_read_settings *settings)
{
    const fplt__format *found = fplt__fplt_is(source->text, source->size)  ? &fplt__format_fplt
                                : fplt__npy_is(source->text, source->size) ? &fplt__format_npy
                                                                           : NULL;
    if (fplt__schema_is_lenient(settings->schema) && by_extension(source->name) != found)
        return NULL;
    return found;
}

static fplt_status choose_format(const fplt__source *source, const fplt_read_settings *settings,
                                 const fplt__format **format, fplt_error *error)
{
    const fplt__format *binary = by_magic(source, settings);
    if (source->is_table) {
        *format = &fplt__format_csv;
        return FPLT_OK;
    }
    int given = settings->format && strcmp(settings->format, "auto") != 0;
    if (!given && binary == &fplt__format_fplt) {
        *format = binary;
        return FPLT_OK;
    }
    if (settings->schema) {
        *format = settings->schema->libsvm      ? &fplt__format_libsvm
                  : binary == &fplt__format_npy ? binary
                                                : &fplt__format_csv;
        return FPLT_OK;
    }
    if (given)
        return find_format(settings->format, format, error);
    fplt_status status = fplt__refuse_foreign(source, error);
    if (status)
        return status;
    *format = by_extension(source->name);
    if (!*format)
        *format = by_content(source);
    return FPLT_OK;
}

static fplt_status only_once(const char *name, fplt_error *error)
{
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "%s can be read only once, and here the columns are looked at before the "
                          "rows: give a file",
                          strcmp(name, "-") == 0 ? "standard input" : name);
}

fplt_status fplt__format_of(const char *path, const fplt_read_settings *settings,
                            const char **format, fplt_error *error)
{
    const fplt__format *found;
    fplt__source source;
    if (fplt__is_stream(path))
        return only_once(path, error);
    fplt_status status = fplt__source_head(path, settings, PIECE, &source, error);
    if (status)
        return status;
    if (!(status = choose_format(&source, settings, &found, error)))
        *format = found->name;
    fplt__source_release(&source);
    return status;
}

/* By a schema clusters are what it declares as persons. */
static fplt_status check_cluster(const fplt_read_settings *settings, fplt_error *error)
{
    const fplt__declared *person =
        settings->schema ? fplt__schema_column(settings->schema, FPLT__PERSON) : NULL;
    if (!settings->schema || !settings->cluster || settings->cluster_if_there ||
        (person && strcmp(person->name, settings->cluster) == 0))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "random-intercept is '%.80s', but the schema declares %s%.80s: declare "
                          "the column of the clusters with type: person and most: the most rows "
                          "of one",
                          settings->cluster, person ? "another column of type person, " : "none",
                          person ? person->name : "");
}

static fplt_status check_settings(const fplt__source *source, const fplt__format *format,
                                  const fplt_read_settings *settings, fplt_error *error)
{
    const char *site = settings->site, *label = settings->label, *separator = settings->separator;
    const fplt_read_settings *asked = settings->asked ? settings->asked : settings;
    fplt_status status = check_cluster(settings, error);
    if (status || format->columns || format->open)
        return status;
    const char *name = site && strcmp(site, "none") != 0             ? "site"
                       : settings->categories                        ? "categories"
                       : settings->columns                           ? "columns"
                       : settings->ignore                            ? "ignore"
                       : settings->row_weight                        ? "row-weight"
                       : settings->cluster                           ? "random-intercept"
                       : settings->no_header                         ? "header"
                       : separator && strcmp(separator, "auto") != 0 ? "separator"
                       : settings->id && !settings->id_if_there      ? "id"
                                                                     : fplt__dialect_asked(asked);
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
    builder->bytes = fplt__source_bytes(source);
    if (builder->declared.schema && *format != &fplt__format_libsvm)
        return scan ? FPLT_OK
                    : fplt__declared_table(source, builder, *format == &fplt__format_npy, error);
    if (!scan)
        return (*format)->read(source, builder, error);
    return (*format)->scan ? (*format)->scan(source, builder, error) : FPLT_OK;
}

/* What was read of a stream does not come again, and a table is not read twice: the first is kept in `input` from its
 * first visit. */
static int belongs_to(const fplt__source *input, const char *path)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    return (fplt__is_stream(path) || fplt__address_kind(path)) &&
           (!input->owned || strcmp(input->name, name) == 0);
}

static fplt_status open_path(const char *path, const fplt__builder *builder, fplt__source *own,
                             fplt__source *input, fplt__source **source, fplt_error *error)
{
    *source = belongs_to(input, path) ? input : own;
    return (*source)->owned
               ? FPLT_OK
               : fplt__source_open(path, builder->settings, builder->pieces.size, *source, error);
}

static fplt_status visit_path(const char *path, fplt__builder *builder, const fplt__format **format,
                              int scan, fplt__source *input, fplt_error *error)
{
    fplt__source own = FPLT__NO_SOURCE, *source;
    if (scan && fplt__is_stream(path) && !belongs_to(input, path))
        return only_once(path, error);
    fplt_status status = open_path(path, builder, &own, input, &source, error);
    if (!status)
        status = visit(source, builder, format, scan, error);
    fplt__source_release(&own);
    return status;
}

/* Where rows name their site every file is read. */
static int names_sites(const fplt_read_settings *settings)
{
    return fplt__schema_column(settings->schema, FPLT__SITE) &&
           !(settings->site && strcmp(settings->site, "none") == 0);
}

/* Whether file number `index` is an agent of another part. */
static int is_elsewhere(const fplt__builder *builder, size_t index)
{
    return builder->declared.portion && !names_sites(builder->settings) &&
           !fplt__portion_has(builder->declared.portion, (uint32_t)index);
}

/* Its agent still has a name. */
static fplt_status skip_path(const char *path, fplt__builder *builder, fplt_error *error)
{
    const fplt__source source = {.name = path};
    uint32_t agent;
    return fplt__source_agent(&source, &builder->agents, &agent, error);
}

/* A file that is a data set by itself; `opened` says whether the first file is one. */
static fplt_status open_whole(const char *const *paths, size_t count, const fplt__builder *builder,
                              fplt__source *input, int *opened, fplt_dataset **dataset,
                              fplt_error *error)
{
    const fplt__format *format = NULL;
    fplt__source own = FPLT__NO_SOURCE, *source;
    *opened = 0;
    fplt_status status = open_path(paths[0], builder, &own, input, &source, error);
    if (!status)
        status = choose_format(source, builder->settings, &format, error);
    if (!status && format->open) {
        *opened = 1;
        status = count > 1 ? fplt__bad_data(error, source->name, 0,
                                            "an %s file has all agents in it, but there are "
                                            "several files: make one of them",
                                            format->name)
                           : format->open(source, builder->settings, dataset, error);
    }
    fplt__source_release(&own);
    return status;
}

static fplt_status read_paths(const char *const *paths, size_t count, fplt__builder *builder,
                              fplt__source *input, fplt_dataset **dataset, fplt_error *error)
{
    const fplt__format *format = NULL;
    int opened = 0;
    fplt_status status = FPLT_OK;
    if (count == 1 || !is_elsewhere(builder, 0)) /* the first may be another process's */
        status = open_whole(paths, count, builder, input, &opened, dataset, error);
    if (status || opened)
        return status;
    if (fplt__finds_categories(builder->settings))
        for (size_t i = 0; i < count && !status; i++)
            status = visit_path(paths[i], builder, &format, 1, input, error);
    if (!status)
        status = fplt__profile_categories(&builder->profile, builder->settings,
                                          &builder->columns.categories, error);
    for (size_t i = 0; i < count && !status; i++)
        status = is_elsewhere(builder, i) ? skip_path(paths[i], builder, error)
                                          : visit_path(paths[i], builder, &format, 0, input, error);
    if (!status)
        status = fplt__builder_finish(builder, dataset, error);
    if (!status) {
        fplt__left_out_log(&builder->left_out, paths[0]);
        if (!builder->settings->silent)
            fplt__clipped_log(&builder->declared, paths[0]);
    }
    return status;
}

/* What must be seen whole before it is read, or row after row, is not read in pieces. */
static void choose_pieces(fplt__builder *builder, size_t piece)
{
    const fplt_read_settings *settings = builder->settings;
    int automatic = fplt__finds_categories(settings);
    builder->pieces.size =
        builder->declared.schema || automatic || !fplt__dialect_is_plain(&builder->dialect) ? 0
                                                                                            : piece;
    builder->pieces.threads = fplt__cores(settings->threads);
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

static fplt_status attempt(const char *const *paths, size_t count,
                           const fplt_read_settings *settings, const fplt__portion *part,
                           size_t piece, fplt__source *input, int *in_pieces,
                           fplt_dataset **dataset, fplt_error *error)
{
    fplt__builder builder;
    fplt_status status = fplt__builder_init(&builder, settings, count, error);
    builder.declared.portion = part;
    choose_pieces(&builder, piece);
    if (!status)
        status = read_paths(paths, count, &builder, input, dataset, error);
    *in_pieces = builder.pieces.used;
    fplt__builder_clear(&builder);
    return status;
}

/* A file that cannot be read in pieces is read again whole: that way has the sentences. */
static fplt_status read_some(const char *const *paths, size_t count, size_t piece,
                             const fplt_read_settings *settings, const fplt__portion *part,
                             fplt_dataset **dataset, fplt_error *error)
{
    fplt__source input = FPLT__NO_SOURCE;
    int in_pieces;
    *dataset = NULL;
    fplt_status status = check_paths(paths, count, settings, error);
    if (status)
        return status;
    locale_t locale = fplt__locale_enter();
    status = attempt(paths, count, settings, part, piece, &input, &in_pieces, dataset, error);
    if (status && status != FPLT_NO_MEMORY && in_pieces)
        status = attempt(paths, count, settings, part, 0, &input, &in_pieces, dataset, error);
    fplt__source_release(&input);
    fplt__locale_leave(locale);
    return status;
}

static fplt_status attempt_memory(fplt__source *source, size_t piece,
                                  const fplt_read_settings *settings, int *in_pieces,
                                  fplt_dataset **dataset, fplt_error *error)
{
    fplt__builder builder;
    const fplt__format *format = NULL;
    fplt_status status = fplt__builder_init(&builder, settings, 1, error);
    choose_pieces(&builder, piece);
    if (!status)
        status = choose_format(source, settings, &format, error);
    if (!status && format->open) {
        status = format->open(source, settings, dataset, error);
    } else if (!status) {
        format = NULL;
        if (!(status = visit(source, &builder, &format, 1, error)) &&
            !(status = fplt__profile_categories(&builder.profile, settings,
                                                &builder.columns.categories, error)) &&
            !(status = visit(source, &builder, &format, 0, error)))
            status = fplt__builder_finish(&builder, dataset, error);
    }
    *in_pieces = builder.pieces.used;
    fplt__builder_clear(&builder);
    return status;
}

fplt_status fplt__dataset_read_pieces(const char *name, const void *bytes, size_t size,
                                      size_t piece, const fplt_read_settings *settings,
                                      fplt_dataset **dataset, fplt_error *error)
{
    fplt__source source = {.name = name, .text = bytes, .size = size, .view = {.handle = -1}};
    int in_pieces;
    *dataset = NULL;
    locale_t locale = fplt__locale_enter();
    fplt_status status = attempt_memory(&source, piece, settings, &in_pieces, dataset, error);
    if (status && status != FPLT_NO_MEMORY && in_pieces)
        status = attempt_memory(&source, 0, settings, &in_pieces, dataset, error);
    fplt__locale_leave(locale);
    return status;
}

fplt_status fplt_dataset_read(const char *const *paths, size_t count,
                              const fplt_read_settings *settings, fplt_dataset **dataset,
                              fplt_error *error)
{
    return read_some(paths, count, PIECE, settings, NULL, dataset, error);
}

fplt_status fplt__dataset_read_file(const char *path, size_t piece,
                                    const fplt_read_settings *settings, fplt_dataset **dataset,
                                    fplt_error *error)
{
    return read_some(&path, 1, piece, settings, NULL, dataset, error);
}

/* Of a file that is a data set by itself every row is there. */
static fplt_status keep_part(const fplt__portion *part, fplt_dataset **dataset, fplt_error *error)
{
    fplt_dataset *all = *dataset;
    if (all->first[part->end] - all->first[part->first] == all->rows)
        return FPLT_OK;
    fplt_status status = fplt__dataset_keep(all, part->first, part->end, dataset, error);
    fplt_dataset_destroy(all);
    return status;
}

fplt_status fplt__dataset_read_part(const char *const *paths, size_t count,
                                    const fplt_read_settings *settings, unsigned number,
                                    unsigned parts, fplt_dataset **dataset, fplt_error *error)
{
    const fplt__declared *site = fplt__schema_column(settings->schema, FPLT__SITE);
    size_t agents = names_sites(settings) ? site->levels.names.count : count;
    /* sites that the rows name first: how many there are is known when all are read */
    int unknown = names_sites(settings) && !site->levels.names.count;
    fplt__portion part = fplt__portion_make((uint32_t)agents, number, parts);
    fplt_status status =
        read_some(paths, count, PIECE, settings, unknown ? NULL : &part, dataset, error);
    if (status)
        return status;
    part = fplt__portion_make((*dataset)->agents, number, parts);
    if ((status = keep_part(&part, dataset, error)) || (*dataset)->census)
        return status;
    status = fplt__alloc_into(&(*dataset)->census, part.agents, sizeof *(*dataset)->census,
                              "agents", error);
    for (uint32_t i = part.first; !status && i < part.end; i++) {
        fplt__census *census = (*dataset)->census;
        (*dataset)->census = NULL; /* of the rows that are here */
        fplt__census own = {fplt__dataset_count(*dataset, i), fplt__dataset_weight(*dataset, i)};
        (*dataset)->census = census;
        census[i] = own;
    }
    if (status) {
        fplt_dataset_destroy(*dataset);
        *dataset = NULL;
    }
    return status;
}

fplt_status fplt__dataset_read_memory(const char *name, const void *bytes, size_t size,
                                      const fplt_read_settings *settings, fplt_dataset **dataset,
                                      fplt_error *error)
{
    return fplt__dataset_read_pieces(name, bytes, size, PIECE, settings, dataset, error);
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
        status =
            fplt_error_set(error, FPLT_BAD_VALUE,
                           "%s: the name does not end with .csv, .libsvm, .npy or .fplt; say the "
                           "format",
                           path);
    if (!status && !found->open && (dataset->weight || dataset->offset || dataset->person))
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
