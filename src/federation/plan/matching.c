/* A site's file: what its columns are called, and where that differs from the run's. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/builder.h"
#include "data/dataset_access.h"
#include "federation/plan/columns.h"

/* Describing */

static int is_positive(const fplt_settings *settings, const char *name)
{
    return fplt__settings_find(settings, name) && fplt_settings_switch(settings, name);
}

/* Rows that have a 1 in each feature: of a category, its level. */
static fplt_status count_levels(const fplt_dataset *rows, uint64_t **counts, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(counts, rows->features, sizeof **counts, "levels", error);
    if (status || !rows->group)
        return status;
    for (size_t r = 0; rows->dense && r < rows->rows; r++)
        for (size_t j = 0; j < rows->features; j++)
            (*counts)[j] += rows->dense[r * rows->features + j] == 1;
    for (size_t k = 0; !rows->dense && k < rows->start[rows->rows]; k++)
        (*counts)[rows->column[k]] += rows->value[k] == 1;
    return FPLT_OK;
}

/* How long the name of the column is that a feature `name=level` is of: the longest column of the file that fits,
 * or where the file does not say, up to the first equals sign. */
static size_t column_length(const char *feature, const fplt__lookup *header)
{
    size_t length = strcspn(feature, "=");
    for (const char *c = strchr(feature, '='); c && header->count; c = strchr(c + 1, '='))
        if (fplt__lookup_find(header, (fplt__span){feature, (size_t)(c - feature)}) !=
            FPLT__NOWHERE)
            length = (size_t)(c - feature);
    return length;
}

static fplt_status describe_category(const fplt_dataset *rows, size_t first, size_t end,
                                     const fplt__lookup *header, const uint64_t *counts,
                                     fplt__dictionary *own, fplt_error *error)
{
    const char *const *names = rows->feature_names.item;
    size_t length = column_length(names[first], header);
    fplt_status status =
        fplt__dictionary_add_column(own, names[first], length, FPLT__DICTIONARY_CATEGORY, error);
    if (status)
        return status;
    fplt__dictionary_column *column = &own->column[own->columns - 1];
    for (size_t j = first; j < end && !status; j++)
        status = fplt__dictionary_add_level(column, names[j] + length + 1,
                                            strlen(names[j] + length + 1), error);
    if (!status)
        status =
            fplt__alloc_into(&column->rows, end - first, sizeof *column->rows, "levels", error);
    if (!status)
        memcpy(column->rows, counts + first, (end - first) * sizeof *counts);
    return status;
}

static fplt_status describe_columns(const fplt_dataset *rows, const fplt__lookup *header,
                                    const uint64_t *counts, fplt__dictionary *own,
                                    fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t j = 0, end; j < rows->features && !status; j = end) {
        uint32_t group = rows->group ? rows->group[j] : 0;
        const char *name = rows->feature_names.item[j];
        end = j + 1;
        while (group && end < rows->features && rows->group[end] == group)
            end++;
        status = group ? describe_category(rows, j, end, header, counts, own, error)
                       : fplt__dictionary_add_column(own, name, strlen(name),
                                                     FPLT__DICTIONARY_NUMBER, error);
    }
    return status;
}

static fplt_status describe_classes(const fplt_dataset *rows, fplt__dictionary_column *label,
                                    fplt_error *error)
{
    fplt_status status = FPLT_OK;
    label->kind =
        fplt__task_classifies(rows->task) ? FPLT__DICTIONARY_CATEGORY : FPLT__DICTIONARY_NUMBER;
    if (label->kind == FPLT__DICTIONARY_NUMBER)
        return FPLT_OK;
    for (uint32_t k = 0; k < rows->outputs && !status; k++) {
        char number[16];
        const char *name = fplt_dataset_class_name(rows, k);
        snprintf(number, sizeof number, "%d",
                 rows->task == FPLT_TASK_BINARY ? 2 * (int)k - 1 : (int)k);
        name = name ? name : number;
        status = fplt__dictionary_add_level(label, name, strlen(name), error);
    }
    if (!status)
        status =
            fplt__alloc_into(&label->rows, rows->outputs, sizeof *label->rows, "classes", error);
    for (size_t r = 0; r < rows->rows && !status; r++)
        label->rows[rows->task == FPLT_TASK_BINARY ? rows->label[r] > 0 : (size_t)rows->label[r]]++;
    return status;
}

/* The label's column by name: of the schema, or by the header where it is given by its number. */
static fplt_status name_label(const fplt_dataset *rows, const fplt_settings *settings,
                              const fplt__lookup *header, fplt__dictionary_column *label,
                              fplt_error *error)
{
    const fplt__declared *declared =
        rows->schema ? fplt__schema_column(rows->schema, FPLT__LABEL) : NULL;
    const char *given = fplt_settings_text(settings, "label");
    long long number;
    if (declared)
        given = declared->name;
    else if (rows->schema || !header->count)
        return FPLT_OK;
    given = given ? given : "label";
    if (header->count && fplt__lookup_find(header, fplt__span_of(given)) == FPLT__NOWHERE &&
        !fplt__parse_integer(given, &number) && number >= 1 && number <= header->count)
        given = fplt__lookup_word(header, (uint32_t)number - 1).text;
    label->name = fplt__strdup(given);
    return label->name ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a name");
}

fplt_status fplt__columns_describe(const fplt_dataset *rows, const fplt_settings *settings,
                                   const fplt__lookup *header, fplt__dictionary *own,
                                   fplt_error *error)
{
    uint64_t *counts = NULL;
    fplt_status status = FPLT_OK;
    memset(own, 0, sizeof *own);
    own->is_whole = 1;
    own->drops_first = is_positive(settings, "drop-first-level");
    if (!rows->feature_names.count)
        own->positions = rows->features;
    else if (!(status = count_levels(rows, &counts, error)))
        status = describe_columns(rows, header, counts, own, error);
    if (!status)
        status = describe_classes(rows, &own->label, error);
    if (!status)
        status = name_label(rows, settings, header, &own->label, error);
    fplt__free(counts);
    if (status)
        fplt__dictionary_clear(own);
    return status;
}

/* Comparing */

static void say_abroad(const fplt__columns_match *match, const char *format, ...) FPLT_PRINTF(2, 3);
static void say_abroad(const fplt__columns_match *match, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(match->abroad, FPLT__SENTENCE, format, arguments);
    va_end(arguments);
}

static fplt_status number_names(const fplt__dictionary *dictionary, fplt__lookup *names,
                                fplt_error *error)
{
    fplt_status status = FPLT_OK;
    uint32_t number;
    for (size_t j = 0; j < dictionary->columns && !status; j++) {
        status = fplt__lookup_add(names, fplt__span_of(dictionary->column[j].name), &number, error);
        if (!status && number != j)
            status = fplt_error_set(error, FPLT_BAD_DATA, "two columns are called '%.80s'",
                                    dictionary->column[j].name);
    }
    return status;
}

static fplt_status check_positions(const fplt__columns_match *match, const fplt__dictionary *own,
                                   fplt_error *error)
{
    unsigned long long wanted = match->wanted->positions, here = own->positions;
    if (wanted == here || (!wanted && !match->wanted->is_whole))
        return FPLT_OK;
    if (!wanted) {
        say_abroad(match, "its file has no names of columns, but those of the run have names");
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the columns have positions only, but those of %s have names; "
                              "give a CSV file with a header",
                              match->path, match->whose);
    }
    say_abroad(match, "its file has other columns than the %llu without names of the run", wanted);
    return here ? fplt_error_set(error, FPLT_BAD_DATA,
                                 "%s: %llu features, but %s has %llu; the number must be the same "
                                 "at all sites",
                                 match->path, here, match->whose, wanted)
                : fplt_error_set(
                      error, FPLT_BAD_DATA,
                      "%s: the columns have names, but %s has %llu features by position; "
                      "give a LIBSVM or NPY file, or leave `features` out of the proposal",
                      match->path, match->whose, wanted);
}

static fplt_status check_missing(const fplt__columns_match *match, const fplt__dictionary *own,
                                 const fplt__lookup *here, fplt_error *error)
{
    for (size_t j = 0; j < match->wanted->columns; j++) {
        const char *name = match->wanted->column[j].name;
        if (fplt__lookup_find(here, fplt__span_of(name)) != FPLT__NOWHERE)
            continue;
        char list[300] = "";
        size_t used = 0, k = 0;
        for (; k < own->columns && used + 60 < sizeof list; k++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "",
                                     fplt__show(fplt__span_of(own->column[k].name)).text);
        say_abroad(match, "column '%s' is missing", fplt__show(fplt__span_of(name)).text);
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: column '%s' is missing, which %s has; the columns here are "
                              "%s%s: add it, or rename the one that it is",
                              match->path, fplt__show(fplt__span_of(name)).text, match->whose, list,
                              k < own->columns ? ", ..." : "");
    }
    return FPLT_OK;
}

/* A column that nobody asked for may be a missing one under another name, so it is not left out silently. */
static fplt_status check_extra(const fplt__columns_match *match, const fplt__dictionary *own,
                               const fplt__lookup *there, fplt_error *error)
{
    for (size_t j = 0; match->wanted->is_whole && j < own->columns; j++) {
        fplt__span name = fplt__span_of(own->column[j].name);
        if (fplt__lookup_find(there, name) != FPLT__NOWHERE)
            continue;
        if (match->told)
            say_abroad(match, "column '%s' is not one of the run's", fplt__show(name).text);
        else
            say_abroad(match,
                       "its file has a column that is not one of the run's; its own log names it");
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: column '%s' is one that %s does not have; if it is not to be "
                              "used, name it in `ignore` of site.yaml",
                              match->path, fplt__show(name).text, match->whose);
    }
    return FPLT_OK;
}

/* The first level or class of the file that is not among the words; `levels` of a file that no row has do not
 * count. FPLT__NOWHERE: all are. */
static fplt_status find_foreign(const fplt__dictionary_column *wanted,
                                const fplt__dictionary_column *own, size_t *found,
                                fplt_error *error)
{
    fplt__lookup words = {0};
    uint32_t number;
    fplt_status status = FPLT_OK;
    *found = SIZE_MAX;
    for (size_t i = 0; i < wanted->levels && !status; i++)
        status = fplt__lookup_add(&words, fplt__span_of(wanted->level[i]), &number, error);
    for (size_t i = 0; i < own->levels && !status && *found == SIZE_MAX; i++)
        if ((!own->rows || own->rows[i]) &&
            fplt__lookup_find(&words, fplt__span_of(own->level[i])) == FPLT__NOWHERE)
            *found = i;
    fplt__lookup_clear(&words);
    return status;
}

/* `what` is "column 'sex'" or "the label", `word` is "level" or "class". */
static fplt_status check_levels(const fplt__columns_match *match, const char *what,
                                const char *word, const fplt__dictionary_column *wanted,
                                const fplt__dictionary_column *own, fplt_error *error)
{
    size_t at;
    fplt_status status = find_foreign(wanted, own, &at, error);
    if (status || at == SIZE_MAX)
        return status;
    unsigned long long rows = own->rows ? own->rows[at] : 0;
    const char *key = strcmp(word, "class") == 0 ? "classes" : "levels";
    fplt__shown shown = fplt__show(fplt__span_of(own->level[at]));
    if (rows >= FPLT__DICTIONARY_MIN_ROWS)
        say_abroad(match, "%s has the %s '%s', which %s", what, word, shown.text,
                   match->told ? "no common list has" : "is not declared");
    else
        say_abroad(match,
                   "%s has a %s that is not declared and that fewer than %d of its rows "
                   "have: declare it in `%s`",
                   what, word, FPLT__DICTIONARY_MIN_ROWS, key);
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s: %s has the %s '%s' in %llu rows, which %s does not have; if it is "
                          "meant, declare all in `%s` of the proposal, and if it is another word "
                          "for one of them, agree on a schema, which maps words",
                          match->path, what, word, shown.text, rows, match->whose, key);
}

static const char *kind_name(const fplt__dictionary_column *column)
{
    return column->kind == FPLT__DICTIONARY_CATEGORY ? "words" : "numbers";
}

static fplt_status check_kinds(const fplt__columns_match *match, const fplt__dictionary *own,
                               const fplt__lookup *here, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t j = 0; j < match->wanted->columns && !status; j++) {
        const fplt__dictionary_column *wanted = &match->wanted->column[j], *column;
        char what[80];
        if (wanted->kind == FPLT__DICTIONARY_ANY)
            continue;
        column = &own->column[fplt__lookup_find(here, fplt__span_of(wanted->name))];
        snprintf(what, sizeof what, "column '%s'", fplt__show(fplt__span_of(wanted->name)).text);
        if (wanted->kind == column->kind) {
            status = check_levels(match, what, "level", wanted, column, error);
            continue;
        }
        say_abroad(match, "%s is read as %s there, but as %s elsewhere: declare its `levels`", what,
                   kind_name(column), kind_name(wanted));
        status =
            fplt_error_set(error, FPLT_BAD_DATA,
                           "%s: %s is read as %s, but %s has %s; declare its `levels` in the "
                           "proposal, or say `categories` in site.yaml",
                           match->path, what, kind_name(column), match->whose, kind_name(wanted));
    }
    return status;
}

static fplt_status check_label(const fplt__columns_match *match, const fplt__dictionary_column *own,
                               fplt_error *error)
{
    const fplt__dictionary_column *wanted = &match->wanted->label;
    if (wanted->name && own->name && strcmp(wanted->name, own->name) != 0) {
        say_abroad(match, "its label is another column than '%s'",
                   fplt__show(fplt__span_of(wanted->name)).text);
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s: the label is column '%s', but that of %s is '%s'; rename it, or "
                              "set `label` in site.yaml",
                              match->path, fplt__show(fplt__span_of(own->name)).text, match->whose,
                              fplt__show(fplt__span_of(wanted->name)).text);
    }
    if (wanted->kind == FPLT__DICTIONARY_ANY)
        return FPLT_OK;
    if (wanted->kind == own->kind)
        return check_levels(match, "the label", "class", wanted, own, error);
    say_abroad(match, "its labels are %s, but those of the run are %s",
               own->kind == FPLT__DICTIONARY_NUMBER ? "numbers" : "classes",
               wanted->kind == FPLT__DICTIONARY_NUMBER ? "numbers" : "classes");
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s: the labels are %s, but those of %s are %s; set `task` in site.yaml",
                          match->path, own->kind == FPLT__DICTIONARY_NUMBER ? "numbers" : "classes",
                          match->whose,
                          wanted->kind == FPLT__DICTIONARY_NUMBER ? "numbers" : "classes");
}

static int has_categories(const fplt__dictionary *dictionary)
{
    for (size_t j = 0; j < dictionary->columns; j++)
        if (dictionary->column[j].kind == FPLT__DICTIONARY_CATEGORY)
            return 1;
    return 0;
}

/* Only a common dictionary says it: a proposal leaves it to the sites. */
static fplt_status check_drop(const fplt__columns_match *match, const fplt__dictionary *own,
                              fplt_error *error)
{
    if (!match->told || !has_categories(own) || own->drops_first == match->wanted->drops_first)
        return FPLT_OK;
    say_abroad(match, "drop-first-level is %s there, but %s elsewhere",
               own->drops_first ? "yes" : "no", own->drops_first ? "no" : "yes");
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s: drop-first-level is %s, but %s has %s; it must be the same at all "
                          "sites",
                          match->path, own->drops_first ? "yes" : "no", match->whose,
                          own->drops_first ? "no" : "yes");
}

fplt_status fplt__columns_check(const fplt__columns_match *match, const fplt__dictionary *own,
                                fplt_error *error)
{
    fplt__lookup here = {0}, there = {0};
    fplt_status status;
    if (!(status = number_names(own, &here, error)) &&
        !(status = number_names(match->wanted, &there, error)) &&
        !(status = check_positions(match, own, error)) &&
        !(status = check_missing(match, own, &here, error)) &&
        !(status = check_extra(match, own, &there, error)) &&
        !(status = check_kinds(match, own, &here, error)) &&
        !(status = check_label(match, &own->label, error)))
        status = check_drop(match, own, error);
    fplt__lookup_clear(&here);
    fplt__lookup_clear(&there);
    return status;
}
