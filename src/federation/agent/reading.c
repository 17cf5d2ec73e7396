/* A site's file without a schema of the federation: read as the site says, with what the proposal declares. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/builder.h"
#include "fedplt/job.h"
#include "federation/plan/columns.h"
#include "job/job.h"

struct reading {
    fplt_settings *settings;
    const fplt__dictionary *declared;
    char *abroad;
    char path[4096];
    fplt_schema *schema; /* of the site itself, or NULL */
    fplt__lookup header; /* none: no CSV file */
    fplt__buffer categories;
    fplt_read_settings read;
};

static fplt_status no_header(struct reading *r, fplt_error *error)
{
    snprintf(r->abroad, FPLT__SENTENCE,
             "its file has no header, so its columns have no names: agree on a schema that says "
             "`header: no`");
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s: the file has no header, so its columns have positions only, and a "
                          "federation compares names; add a header, or agree with the coordinator "
                          "on a schema that says `header: no`",
                          r->path);
}

static fplt_status no_names(struct reading *r, size_t features, fplt_error *error)
{
    snprintf(r->abroad, FPLT__SENTENCE,
             "its file has no names of columns: declare `features: %zu` in federation.yaml if "
             "positions mean the same at all sites, or a schema",
             features);
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s: the columns have positions only, and nobody declared that these "
                          "mean the same at all sites; ask the coordinator to declare `features: "
                          "%zu`, or a schema",
                          r->path, features);
}

/* Settings */

/* The label is the proposal's where the site says nothing. */
static fplt_status take_label(struct reading *r, fplt_error *error)
{
    const char *name = r->declared->label.name;
    if (!name || r->schema || !r->header.count || fplt_settings_given(r->settings, "label"))
        return FPLT_OK;
    if (fplt__lookup_find(&r->header, fplt__span_of(name)) == FPLT__NOWHERE) {
        snprintf(r->abroad, FPLT__SENTENCE, "column '%s', the label, is missing",
                 fplt__show(fplt__span_of(name)).text);
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: column '%s' is missing, which the proposal declares as the "
                              "label; rename the one that it is",
                              r->path, fplt__show(fplt__span_of(name)).text);
    }
    fplt_status status = fplt_settings_set(r->settings, "label", name, "the proposal", error);
    r->read.label = fplt_settings_text(r->settings, "label");
    return status;
}

static void add_category(struct reading *r, const char *name)
{
    fplt__buffer_format(&r->categories, "%s%s", r->categories.length ? "," : "", name);
}

/* Columns whose levels are declared are categories, whatever is in them. Of a file without them another sentence
 * says so. */
static void declare_categories(struct reading *r)
{
    for (size_t j = 0; j < r->declared->columns; j++)
        if (r->declared->column[j].levels &&
            fplt__lookup_find(&r->header, fplt__span_of(r->declared->column[j].name)) !=
                FPLT__NOWHERE)
            add_category(r, r->declared->column[j].name);
}

/* Those of the site's own settings, and the declared ones. */
static void list_categories(struct reading *r)
{
    if (r->read.categories)
        fplt__buffer_add(&r->categories, r->read.categories);
    declare_categories(r);
    if (r->categories.length)
        r->read.categories = r->categories.text;
}

/* Reading */

static fplt_status prepare(struct reading *r, fplt_error *error)
{
    const char *format;
    fplt_status status;
    fplt__list_next(fplt_settings_text(r->settings, "data"), r->path, sizeof r->path);
    r->read = fplt__job_read(r->settings);
    if ((status = fplt__job_schema(r->settings, &r->schema, error)) ||
        (status = fplt__format_of(r->path, &r->read, &format, error)))
        return status;
    r->read.schema = r->schema;
    r->read.unchecked = 1; /* the numbers are looked at when they are packed */
    r->read.drop_first_level = 0;
    int named = strcmp(format, fplt__format_csv.name) == 0;
    if (!named && !r->schema && r->declared->positions && !r->read.features)
        r->read.features = (size_t)r->declared->positions;
    if (!named || r->schema)
        return FPLT_OK;
    if (r->read.no_header)
        return no_header(r, error);
    if ((status = fplt__csv_header(r->path, &r->read, &r->header, error)))
        return status;
    list_categories(r);
    if (r->categories.status)
        return fplt_error_set(error, r->categories.status, "no memory for the names of columns");
    return take_label(r, error);
}

static fplt_status read_once(struct reading *r, fplt_dataset **rows, fplt_error *error)
{
    return fplt__job_dataset(r->settings, 0, NULL, 0, &r->read, rows, error);
}

/* By the declared classes: a site need not have all. Where its words are others, they are read as they are, so
 * that they can be compared and counted. */
static fplt_status read_labelled(struct reading *r, fplt_dataset **rows, fplt_error *error)
{
    const fplt__dictionary_column *label = &r->declared->label;
    if (!label->levels || r->schema)
        return read_once(r, rows, error);
    r->read.class_names = (const char *const *)label->level;
    r->read.class_count = (uint32_t)label->levels;
    fplt_status status = read_once(r, rows, error);
    if (status != FPLT_BAD_DATA)
        return status;
    fplt_error ignored;
    r->read.class_names = NULL;
    r->read.class_count = 0;
    return read_once(r, rows, &ignored) ? status : FPLT_OK;
}

static fplt_status read_rows(struct reading *r, fplt_dataset **rows, fplt__dictionary *own,
                             fplt_error *error)
{
    fplt__columns_match match = {
        .wanted = r->declared, .path = r->path, .whose = "the proposal", .abroad = r->abroad};
    fplt_status status;
    if ((status = prepare(r, error)) || (status = read_labelled(r, rows, error)))
        return status;
    if ((status = fplt__columns_describe(*rows, r->settings, &r->header, own, error)))
        return status;
    if (own->positions && !r->declared->positions && !r->declared->is_whole)
        return no_names(r, (*rows)->features, error);
    return fplt__columns_check(&match, own, error);
}

fplt_status fplt__columns_read_rows(fplt_settings *settings, const fplt__dictionary *declared,
                                    fplt_dataset **rows, fplt__dictionary *own,
                                    char abroad[FPLT__SENTENCE], fplt_error *error)
{
    struct reading r = {.settings = settings, .declared = declared, .abroad = abroad};
    *rows = NULL;
    *abroad = 0;
    memset(own, 0, sizeof *own);
    fplt_status status = read_rows(&r, rows, own, error);
    fplt_schema_destroy(r.schema);
    fplt__lookup_clear(&r.header);
    fplt__buffer_clear(&r.categories);
    if (status) {
        fplt__dictionary_clear(own);
        fplt_dataset_destroy(*rows);
        *rows = NULL;
    }
    return status;
}
