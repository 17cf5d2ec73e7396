/* Drafts of schemas, from files that may be looked at, and schemas of numbers only. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/builder.h"
#include "data/dataset_access.h"
#include "data/schema_access.h"

enum { MAX_LEVELS = 50, MAX_CLASSES = 20 };

/* What was seen in a column. */
struct seen {
    fplt__lookup values; /* distinct texts, up to one more than MAX_LEVELS */
    size_t numbers, words, missing;
    double low, high;
};

struct draft {
    const fplt__source *source;
    const fplt_read_settings *read;
    fplt__lookup names;
    struct seen *seen; /* owned, one a name */
    uint32_t *column;  /* owned: of the file at hand -> number of its name */
    uint32_t columns;
    size_t capacity;
};

static void draft_clear(struct draft *draft)
{
    for (uint32_t i = 0; i < draft->names.count && draft->seen; i++)
        fplt__lookup_clear(&draft->seen[i].values);
    fplt__free(draft->seen);
    fplt__free(draft->column);
    fplt__lookup_clear(&draft->names);
}

/* ---- looking ---- */

static fplt_status see_columns(void *context, const fplt__lookup *names, size_t line,
                               fplt_error *error)
{
    struct draft *draft = context;
    (void)line;
    fplt__free(draft->column);
    draft->columns = names->count;
    fplt_status status =
        fplt__alloc_into(&draft->column, names->count, sizeof *draft->column, "columns", error);
    for (uint32_t i = 0; i < names->count && !status; i++) {
        status = fplt__grow(&draft->seen, &draft->capacity, (size_t)draft->names.count + 1,
                            sizeof *draft->seen, "columns", error);
        if (!status)
            status = fplt__lookup_add(&draft->names, fplt__lookup_word(names, i), &draft->column[i],
                                      error);
    }
    return status;
}

static fplt_status see_field(struct seen *seen, const fplt__field *field, fplt_error *error)
{
    double value;
    uint32_t number;
    if (fplt__field_missing(field)) {
        seen->missing++;
        return FPLT_OK;
    }
    fplt__span text = fplt__span_trim(field->span);
    if (fplt__number_parse(text, &value) == FPLT__NUMBER) {
        seen->low = seen->numbers ? fmin(seen->low, value) : value;
        seen->high = seen->numbers ? fmax(seen->high, value) : value;
        seen->numbers++;
    } else
        seen->words++;
    if (seen->values.count > MAX_LEVELS)
        return FPLT_OK;
    return fplt__lookup_add(&seen->values, field->span, &number, error);
}

static fplt_status see_row(void *context, const fplt__field *fields, size_t line, fplt_error *error)
{
    struct draft *draft = context;
    fplt_status status = FPLT_OK;
    (void)line;
    for (uint32_t i = 0; i < draft->columns && !status; i++)
        status = see_field(&draft->seen[draft->column[i]], &fields[i], error);
    return status;
}

/* ---- writing ---- */

/* A text as YAML has it; quoted unless it is a plain word or number. */
static void write_word(fplt__buffer *out, fplt__span word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    double value;
    int simple = word.length && strspn(word.text, plain) >= word.length &&
                 !fplt__span_is(word, "null") && !fplt__span_is(word, "NULL");
    if (simple || fplt__number_parse(word, &value) == FPLT__NUMBER) {
        fplt__buffer_add_bytes(out, word.text, word.length);
        return;
    }
    fplt__buffer_add(out, "\"");
    for (size_t i = 0; i < word.length; i++) {
        unsigned char c = (unsigned char)word.text[i];
        if (c < 0x20)
            fplt__buffer_format(out, "\\x%02x", c);
        else if (c == '"' || c == '\\')
            fplt__buffer_format(out, "\\%c", c);
        else
            fplt__buffer_add_bytes(out, word.text + i, 1);
    }
    fplt__buffer_add(out, "\"");
}

static fplt_status write_values(fplt__buffer *out, const char *key, const fplt__lookup *values,
                                fplt_error *error)
{
    uint32_t *order;
    fplt_status status = fplt__alloc_into(&order, values->count, sizeof *order, "levels", error);
    if (status)
        return status;
    fplt__lookup_sort(values, order);
    fplt__buffer_format(out, "%s: [", key);
    for (uint32_t i = 0; i < values->count; i++) {
        if (i)
            fplt__buffer_add(out, ", ");
        write_word(out, fplt__lookup_word(values, order[i]));
    }
    fplt__buffer_add(out, "]");
    fplt__free(order);
    return FPLT_OK;
}

/* Bounds rounded outwards to about two digits of their width; what is missing becomes their middle,
 * or 0 where zeros are not written. */
static void write_bounds(fplt__buffer *out, double low, double high, int sparse)
{
    double width = high > low ? high - low : fmax(fabs(high), 1);
    double unit = pow(10, floor(log10(width)) - 1);
    double least = floor(low / unit) * unit, most = ceil(high / unit) * unit;
    char from[32], to[32], middle[32];
    if (!(most > least))
        most = least + width;
    snprintf(from, sizeof from, "%.10g", least);
    snprintf(to, sizeof to, "%.10g", most);
    snprintf(middle, sizeof middle, "%.10g", sparse ? 0 : least + (most - least) / 2);
    fplt__buffer_format(out, "bounds: %s..%s, missing: %s", from, to, middle);
}

static int is_named(const fplt__lookup *names, uint32_t number, const char *wanted,
                    const char *standard)
{
    fplt__span name = fplt__lookup_word(names, number);
    long long position;
    if (!wanted)
        return fplt__span_is(name, standard);
    return fplt__span_is(name, wanted) ||
           (!fplt__parse_integer(wanted, &position) && position == (long long)number + 1);
}

static int is_ignored(const struct draft *draft, uint32_t number)
{
    const char *list = draft->read->ignore;
    char name[256];
    while (list && *list) {
        list = fplt__list_next(list, name, sizeof name);
        if (is_named(&draft->names, number, name, ""))
            return 1;
    }
    return 0;
}

static fplt_status write_label(fplt__buffer *out, const struct seen *seen, fplt_error *error)
{
    fplt__buffer_add(out, "{type: label, ");
    if (!seen->words && seen->values.count > MAX_CLASSES) {
        write_bounds(out, seen->low, seen->high, 0);
        fplt__buffer_add(out, "}\n");
        return FPLT_OK;
    }
    fplt_status status = write_values(out, "classes", &seen->values, error);
    fplt__buffer_add(out, ", missing: neutral-row, other: neutral-row}\n");
    return status;
}

static fplt_status write_column(const struct draft *draft, uint32_t i, fplt__buffer *out,
                                fplt_error *error)
{
    const struct seen *seen = &draft->seen[i];
    fplt_status status = FPLT_OK;
    fplt__buffer_add(out, "  ");
    write_word(out, fplt__lookup_word(&draft->names, i));
    fplt__buffer_add(out, ": ");
    if (is_named(&draft->names, i, draft->read->label, "label"))
        return write_label(out, seen, error);
    if (is_ignored(draft, i) ||
        (draft->read->id && is_named(&draft->names, i, draft->read->id, ""))) {
        fplt__buffer_add(out, is_ignored(draft, i) ? "ignore\n" : "id\n");
        return FPLT_OK;
    }
    if (is_named(&draft->names, i, draft->read->site, "site")) {
        fplt__buffer_add(out, "{type: site");
        if (seen->values.count && seen->values.count <= MAX_LEVELS) {
            fplt__buffer_add(out, ", ");
            status = write_values(out, "names", &seen->values, error);
        }
        fplt__buffer_add(out, "}\n");
    } else if (!seen->words && seen->numbers) {
        fplt__buffer_add(out, "{type: number, ");
        write_bounds(out, seen->low, seen->high, 0);
        fplt__buffer_add(out, "}\n");
    } else if (seen->values.count && seen->values.count <= MAX_LEVELS) {
        fplt__buffer_add(out, "{type: category, ");
        status = write_values(out, "levels", &seen->values, error);
        fplt__buffer_add(out, ", missing: neutral-row, other: neutral-row}\n");
    } else
        fplt__buffer_add(out, seen->values.count ? "ignore # many different words\n"
                                                 : "ignore # nothing in it\n");
    return status;
}

static void write_head(fplt__buffer *out)
{
    fplt__buffer_add(out,
                     "# Drafted by looking at the records. Before a promise of privacy, replace\n"
                     "# bounds, levels and classes by what is known without them, and say what a\n"
                     "# missing value becomes: a constant, or neutral-row for the whole row. Then\n"
                     "# delete the next line: until then, the promise says that it is a draft.\n"
                     "drafted: yes\n");
}

static fplt_status write_csv(const struct draft *draft, fplt__buffer *out, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    int labelled = 0;
    for (uint32_t i = 0; i < draft->names.count; i++)
        labelled |= is_named(&draft->names, i, draft->read->label, "label");
    if (draft->read->label && !labelled)
        return fplt__bad_data(error, draft->source->name, 1, "there is no label column '%.80s'",
                              draft->read->label);
    write_head(out);
    if (!labelled)
        fplt__buffer_add(out, "# No column is called label: give one of them the type label.\n");
    fplt__buffer_format(out, "header: %s\ncolumns:\n", draft->read->no_header ? "no" : "yes");
    for (uint32_t i = 0; i < draft->names.count && !status; i++)
        status = write_column(draft, i, out, error);
    return status;
}

static fplt_status draft_csv(const char *const *paths, size_t count, const fplt_read_settings *read,
                             fplt__buffer *out, fplt_error *error)
{
    struct draft draft = {.read = read};
    fplt__source source = {NULL, NULL, 0, NULL};
    fplt__dialect dialect;
    fplt_status status = fplt__dialect_init(&dialect, read, error);
    for (size_t i = 0; i < count && !status; i++) {
        fplt__csv_visitor visitor = {see_columns, see_row, &draft, read->separator,
                                     fplt__dialect_is_plain(&dialect) ? NULL : &dialect};
        draft.source = &source;
        if ((status = fplt__source_load(paths[i], read, &source, error)))
            break;
        status = fplt__csv_visit(&source, read->no_header, &visitor, error);
        fplt__source_release(&source);
    }
    fplt__dialect_clear(&dialect);
    if (!status)
        status = write_csv(&draft, out, error);
    draft_clear(&draft);
    return status;
}

static void write_classes(fplt__buffer *out, const fplt_dataset *dataset)
{
    fplt__buffer_add(out, "label: {classes: [");
    for (uint32_t k = 0; k < fplt_dataset_outputs(dataset); k++) {
        const char *name = fplt_dataset_class_name(dataset, k);
        if (k)
            fplt__buffer_add(out, ", ");
        write_word(out, fplt__span_of(name ? name : ""));
    }
    fplt__buffer_add(out, "], missing: neutral-row, other: neutral-row}\n");
}

static fplt_status draft_libsvm(const char *const *paths, size_t count,
                                const fplt_read_settings *read, fplt__buffer *out,
                                fplt_error *error)
{
    fplt_dataset *dataset;
    double low = 0, high = 0;
    fplt_status status = fplt_dataset_read(paths, count, read, &dataset, error);
    if (status)
        return status;
    for (size_t k = 0; k < dataset->start[dataset->rows]; k++) {
        low = fmin(low, dataset->value[k]);
        high = fmax(high, dataset->value[k]);
    }
    write_head(out);
    fplt__buffer_format(out, "format: libsvm\nfeatures: %zu\nentries: {other: neutral-row, ",
                        dataset->features);
    write_bounds(out, low, high, 1);
    fplt__buffer_add(out, "}\n");
    fplt__description about = fplt__dataset_describe(dataset);
    if (dataset->task == FPLT_TASK_REGRESSION) {
        fplt__buffer_add(out, "label: {");
        write_bounds(out, about.lowest_label, about.highest_label, 0);
        fplt__buffer_add(out, "}\n");
    } else
        write_classes(out, dataset);
    fplt_dataset_destroy(dataset);
    return FPLT_OK;
}

fplt_status fplt__schema_draft(const char *const *paths, size_t count,
                               const fplt_read_settings *read, char **text, fplt_error *error)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    const char *format;
    *text = NULL;
    if (!count)
        return fplt_error_set(error, FPLT_BAD_VALUE, "there is no file to read");
    fplt_status status = fplt__format_of(paths[0], read, &format, error);
    if (status)
        return status;
    locale_t locale = fplt__locale_enter();
    if (strcmp(format, "libsvm") == 0)
        status = draft_libsvm(paths, count, read, &out, error);
    else if (read->features)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: features is for LIBSVM files, but this file is read as %s",
                                paths[0], format);
    else if (strcmp(format, "csv") == 0)
        status = draft_csv(paths, count, read, &out, error);
    else
        status = fplt_error_set(error, FPLT_UNSUPPORTED,
                                "%s: a schema is for CSV and LIBSVM files, not for %s", paths[0],
                                format);
    fplt__locale_leave(locale);
    if (!status)
        status = fplt__buffer_take(&out, text, error);
    fplt__buffer_clear(&out);
    return status;
}

/* ---- numbers only ---- */

enum { MAX_PAIRS = 100, LONGEST_LABEL = 256 };

/* "no=-1,yes=1": the keys of each value, in the order of the values. */
struct labels {
    char key[MAX_PAIRS][LONGEST_LABEL];
    double value[MAX_PAIRS];
    size_t count;
};

static fplt_status read_pairs(const char *text, struct labels *labels, fplt_error *error)
{
    labels->count = 0;
    for (const char *c = text; *c; labels->count++) {
        char value[64];
        if (labels->count == MAX_PAIRS)
            return fplt_error_set(error, FPLT_BAD_VALUE, "labels has more than %d pairs",
                                  MAX_PAIRS);
        c = fplt__pairs_next(c, labels->key[labels->count], LONGEST_LABEL, value, sizeof value);
        if (fplt__parse_real(value, &labels->value[labels->count]))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "labels: '%.60s' is not a pair such as "
                                  "yes=1",
                                  labels->key[labels->count]);
    }
    return FPLT_OK;
}

/* The least value above `last`; infinity: none. */
static double next_value(const struct labels *labels, double last)
{
    double next = INFINITY;
    for (size_t i = 0; i < labels->count; i++)
        if (labels->value[i] > last)
            next = fmin(next, labels->value[i]);
    return next;
}

static void write_pairs(const struct labels *labels, fplt__buffer *out)
{
    const char *between = "classes: {";
    for (double value = next_value(labels, -INFINITY); value < INFINITY;
         value = next_value(labels, value)) {
        int named = 0;
        for (size_t i = 0; i < labels->count; i++) {
            if (labels->value[i] != value)
                continue;
            if (!named) {
                fplt__buffer_add(out, between);
                write_word(out, fplt__span_of(labels->key[i]));
            }
            fplt__buffer_add(out, named ? ", " : ": [");
            write_word(out, fplt__span_of(labels->key[i]));
            named = 1;
        }
        fplt__buffer_add(out, "]");
        between = ", ";
    }
    fplt__buffer_add(out, "}, missing: neutral-row, other: neutral-row}\n");
}

static fplt_status skip_row(void *context, const fplt__field *fields, size_t line,
                            fplt_error *error)
{
    (void)context, (void)fields, (void)line, (void)error;
    return FPLT_OK;
}

static fplt_status read_names(const char *path, struct draft *draft, fplt_error *error)
{
    fplt__source source;
    fplt__csv_visitor visitor = {see_columns, skip_row, draft, draft->read->separator, NULL};
    fplt_status status = fplt__source_load(path, draft->read, &source, error);
    if (status)
        return status;
    status = fplt__csv_visit(&source, draft->read->no_header, &visitor, error);
    fplt__source_release(&source);
    return status;
}

static fplt_status flat_csv(const char *path, const fplt_read_settings *read, const char *bounds,
                            const struct labels *labels, fplt__buffer *out, fplt_error *error)
{
    struct draft draft = {.read = read};
    size_t features = 0;
    fplt_status status = read_names(path, &draft, error);
    fplt__buffer_format(out, "header: %s\ncolumns:\n", read->no_header ? "no" : "yes");
    for (uint32_t i = 0; i < draft.names.count && !status; i++) {
        fplt__buffer_add(out, "  ");
        write_word(out, fplt__lookup_word(&draft.names, i));
        if (is_named(&draft.names, i, read->label, "label")) {
            fplt__buffer_add(out, ": {type: label, ");
            write_pairs(labels, out);
        } else if (is_named(&draft.names, i, read->site, "site"))
            fplt__buffer_add(out, ": site\n");
        else {
            fplt__buffer_format(out, ": {type: number, bounds: %s, missing: centre}\n", bounds);
            features++;
        }
    }
    if (!status && read->features && read->features != features)
        status = fplt__bad_data(error, path, 0, "%zu features, but %zu are wanted", features,
                                read->features);
    draft_clear(&draft);
    return status;
}

/* The columns of an array of NumPy have numbers; the last is the label where the settings do not say which. */
static fplt_status flat_npy(const char *path, const fplt_read_settings *read, const char *bounds,
                            const struct labels *labels, fplt__buffer *out, fplt_error *error)
{
    fplt__source source;
    size_t columns = 0;
    long long label = 0;
    fplt_status status = fplt__source_load(path, read, &source, error);
    if (!status)
        status = fplt__npy_columns(&source, &columns, error);
    fplt__source_release(&source);
    if (status)
        return status;
    if (read->label && (fplt__parse_integer(read->label, &label) || label < 1))
        return fplt__bad_data(error, path, 0,
                              "label is '%.80s', but it must be the number of a column, 1 to %zu",
                              read->label, columns);
    fplt__buffer_add(out, "header: no\ncolumns:\n");
    for (size_t i = 1; i <= columns; i++) {
        if (i == (label ? (size_t)label : columns)) {
            fplt__buffer_format(out, "  '%zu': {type: label, ", i);
            write_pairs(labels, out);
        } else
            fplt__buffer_format(out, "  '%zu': {type: number, bounds: %s, missing: centre}\n", i,
                                bounds);
    }
    return FPLT_OK;
}

static fplt_status flat_libsvm(const fplt_read_settings *read, const char *bounds,
                               const struct labels *labels, fplt__buffer *out, fplt_error *error)
{
    if (!read->features)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "bounds of a LIBSVM file need features: how many there are is not "
                              "read from the records");
    fplt__buffer_format(out,
                        "format: libsvm\nfeatures: %zu\nentries: {bounds: %s, missing: centre, "
                        "other: neutral-row}\nlabel: {",
                        read->features, bounds);
    write_pairs(labels, out);
    return FPLT_OK;
}

fplt_status fplt__schema_flat(const char *path, const fplt_read_settings *read, const char *bounds,
                              fplt_schema **schema, fplt_error *error)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    const char *format;
    struct labels *labels;
    *schema = NULL;
    if (!read->labels)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "bounds need labels, such as no=-1,yes=1: which classes there are is "
                              "not read from the records");
    fplt_status status = fplt__format_of(path, read, &format, error);
    if (status || (status = fplt__alloc_into(&labels, 1, sizeof *labels, "labels", error)))
        return status;
    if (!(status = read_pairs(read->labels, labels, error)))
        status = strcmp(format, "libsvm") == 0 ? flat_libsvm(read, bounds, labels, &out, error)
                 : strcmp(format, "npy") == 0  ? flat_npy(path, read, bounds, labels, &out, error)
                                               : flat_csv(path, read, bounds, labels, &out, error);
    fplt__free(labels);
    if (!status && (status = out.status))
        fplt_error_set(error, status, "no memory for a schema");
    if (!status)
        status = fplt__schema_parse(out.text, out.length, "bounds", schema, error);
    fplt__buffer_clear(&out);
    return status;
}
