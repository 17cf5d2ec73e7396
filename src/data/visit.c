/* The rows of several CSV files, one by one. */
#include "data/builder.h"

/* Source: loaded; `path` is what `file` of the visitor gets. */
static fplt_status visit_source(const char *path, const fplt__source *source,
                                const fplt_read_settings *settings, const fplt__dialect *dialect,
                                const fplt__csv_files *files, fplt_error *error)
{
    fplt__csv_visitor visitor = {files->columns, files->row, files->context, settings->separator,
                                 fplt__dialect_is_plain(dialect) ? NULL : dialect};
    fplt_status status = files->file(files->context, path, source, error);
    if (!status)
        status = fplt__refuse_foreign(source, error);
    return status ? status : fplt__csv_visit(source, settings->no_header, &visitor, error);
}

static fplt_status visit_file(const char *path, const fplt_read_settings *settings,
                              const fplt__dialect *dialect, const fplt__csv_files *files,
                              fplt_error *error)
{
    fplt__source source = FPLT__NO_SOURCE;
    fplt_status status = fplt__source_load(path, settings, &source, error);
    if (!status)
        status = visit_source(path, &source, settings, dialect, files, error);
    fplt__source_release(&source);
    return status;
}

fplt_status fplt__csv_visit_text(const char *name, const char *text, size_t size,
                                 const fplt_read_settings *settings, const fplt__csv_files *files,
                                 fplt_error *error)
{
    fplt__source source = FPLT__NO_SOURCE;
    fplt__dialect dialect = {0};
    source.name = name;
    source.text = text;
    source.size = size;
    locale_t locale = fplt__locale_enter();
    fplt_status status = fplt__dialect_init(&dialect, settings, error);
    if (!status)
        status = visit_source(name, &source, settings, &dialect, files, error);
    fplt__locale_leave(locale);
    fplt__dialect_clear(&dialect);
    return status;
}

fplt_status fplt__csv_visit_files(const char *const *paths, size_t count,
                                  const fplt_read_settings *settings, const fplt__csv_files *files,
                                  fplt_error *error)
{
    fplt__dialect dialect = {0};
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const char *format = "";
        if (!(status = fplt__format_of(paths[i], settings, &format, error)) &&
            strcmp(format, "csv") != 0)
            status = fplt_error_set(error, FPLT_UNSUPPORTED, "%s: this is no CSV file", paths[i]);
    }
    locale_t locale = fplt__locale_enter();
    if (!status)
        status = fplt__dialect_init(&dialect, settings, error);
    for (size_t i = 0; i < count && !status; i++)
        status = visit_file(paths[i], settings, &dialect, files, error);
    fplt__locale_leave(locale);
    fplt__dialect_clear(&dialect);
    return status;
}
