/* What is declared of columns, and what a dictionary means for the features of a model. */
#include "federation/plan/columns.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/text.h"

fplt_status fplt__columns_read(const char *text, fplt__dictionary *dictionary, fplt_error *error)
{
    memset(dictionary, 0, sizeof *dictionary);
    return text ? fplt__dictionary_read(text, strlen(text), dictionary, error) : FPLT_OK;
}

fplt_status fplt__columns_sort(fplt__dictionary_column *column, fplt_error *error)
{
    fplt__lookup words = {0};
    uint32_t *order = NULL, number;
    char **sorted = NULL;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < column->levels && !status; i++) {
        status = fplt__lookup_add(&words, fplt__span_of(column->level[i]), &number, error);
        if (!status && number < i)
            status = fplt_error_set(error, FPLT_BAD_VALUE, "%s: '%.80s' stands there twice",
                                    column->name ? column->name : "classes", column->level[i]);
    }
    if (!status)
        status = fplt__alloc_into(&order, column->levels, sizeof *order, "levels", error);
    if (!status)
        status = fplt__alloc_into(&sorted, column->levels, sizeof *sorted, "levels", error);
    if (!status) {
        locale_t locale = fplt__locale_enter();
        fplt__lookup_sort(&words, order);
        fplt__locale_leave(locale);
        for (size_t i = 0; i < column->levels; i++) {
            FPLT__ASSERT(order[i] < column->levels);
            sorted[i] = column->level[order[i]];
        }
        if (column->levels)
            memcpy(column->level, sorted, column->levels * sizeof *sorted);
    }
    fplt__free(sorted);
    fplt__free(order);
    fplt__lookup_clear(&words);
    return status;
}

/* Declaring */

/* The items of a list as levels of a column. */
static fplt_status add_words(fplt__dictionary_column *column, const char *list, char *item,
                             size_t size, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    column->kind = FPLT__DICTIONARY_CATEGORY;
    while (*list && !status) {
        list = fplt__list_next(list, item, size);
        status = fplt__dictionary_add_level(column, item, strlen(item), error);
    }
    return status;
}

static fplt_status declare_columns(const char *list, fplt__dictionary *dictionary, char *item,
                                   size_t size, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    dictionary->is_whole = list && *list;
    while (list && *list && !status) {
        list = fplt__list_next(list, item, size);
        if (fplt__dictionary_find(dictionary, item))
            return fplt_error_set(error, FPLT_BAD_VALUE, "columns: '%.80s' stands there twice",
                                  item);
        status = fplt__dictionary_add_column(dictionary, item, strlen(item), FPLT__DICTIONARY_ANY,
                                             error);
    }
    return status;
}

static fplt_status declare_levels(const char *pairs, fplt__dictionary *dictionary, char *item,
                                  size_t size, fplt_error *error)
{
    char name[FPLT__DICTIONARY_MAX_WORD + 2], *levels;
    fplt_status status = fplt__alloc_into(&levels, size, 1, "levels", error);
    while (pairs && *pairs && !status) {
        pairs = fplt__pairs_next(pairs, name, sizeof name, levels, size);
        fplt__dictionary_column *column = fplt__dictionary_find(dictionary, name);
        if (!column && dictionary->is_whole)
            status = fplt_error_set(error, FPLT_BAD_VALUE,
                                    "levels: '%.80s' is not one of the declared columns", name);
        else if (!column &&
                 !(status = fplt__dictionary_add_column(dictionary, name, strlen(name),
                                                        FPLT__DICTIONARY_CATEGORY, error)))
            column = &dictionary->column[dictionary->columns - 1];
        if (!status && !(status = add_words(column, levels, item, size, error)) &&
            !(status = fplt__columns_sort(column, error)) && !column->levels)
            status = fplt_error_set(error, FPLT_BAD_VALUE,
                                    "levels: '%.80s' has none; list them, as in {%.80s: [a, b]}",
                                    name, name);
    }
    fplt__free(levels);
    return status;
}

/* 1, +1 and 1.0 are one label: where all are numbers, each has the name that readers give it. */
static fplt_status name_numbers(fplt__dictionary_column *label, fplt_error *error)
{
    char text[32];
    double value;
    for (size_t i = 0; i < label->levels; i++)
        if (fplt__number_parse(fplt__span_of(label->level[i]), &value) != FPLT__NUMBER)
            return FPLT_OK;
    for (size_t i = 0; i < label->levels; i++) {
        fplt__number_parse(fplt__span_of(label->level[i]), &value);
        fplt__number_name(value, text);
        char *copy = fplt__strdup(text);
        if (!copy)
            return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for classes");
        fplt__free(label->level[i]);
        label->level[i] = copy;
    }
    return FPLT_OK;
}

static fplt_status declare_label(const char *name, const char *classes,
                                 fplt__dictionary *dictionary, char *item, size_t size,
                                 fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (name && !(dictionary->label.name = fplt__strdup(name)))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a name");
    if (!classes)
        return FPLT_OK;
    locale_t locale = fplt__locale_enter();
    if (!(status = add_words(&dictionary->label, classes, item, size, error)))
        status = name_numbers(&dictionary->label, error);
    fplt__locale_leave(locale);
    if (!status)
        status = fplt__columns_sort(&dictionary->label, error);
    if (!status && dictionary->label.levels < 2)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "classes: there is one only, but classification needs two");
    return status;
}

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

static fplt_status declare(const fplt_settings *leader, fplt__dictionary *dictionary,
                           fplt_error *error)
{
    const char *columns = fplt_settings_text(leader, "columns"),
               *levels = fplt_settings_text(leader, "levels"),
               *classes = fplt_settings_text(leader, "classes"),
               *label = fplt_settings_text(leader, "label");
    size_t size = length_of(columns) + length_of(levels) + length_of(classes) + 1;
    char *item;
    fplt_status status = fplt__alloc_into(&item, size, 1, "a list", error);
    if (status)
        return status;
    if (fplt_settings_given(leader, "features"))
        dictionary->positions = (uint64_t)fplt_settings_integer(leader, "features");
    if (dictionary->positions && (columns || levels))
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "features: is for files without names of columns, which have no "
                                "%s; leave one of them out",
                                columns ? "columns" : "levels");
    if (!status && !(status = declare_columns(columns, dictionary, item, size, error)) &&
        !(status = declare_levels(levels, dictionary, item, size, error)))
        status = declare_label(label, classes, dictionary, item, size, error);
    if (!status && label && fplt__dictionary_find(dictionary, label))
        status =
            fplt_error_set(error, FPLT_BAD_VALUE,
                           "columns: '%.80s' is the label; leave it out of the columns", label);
    fplt__free(item);
    return status;
}

fplt_status fplt__columns_declare(const fplt_settings *leader, char **text, fplt_error *error)
{
    static const char *const names[] = {"columns", "label", "classes", "levels", "features"};
    fplt__dictionary dictionary = {.is_whole = 0};
    int given = 0;
    *text = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        given |= fplt_settings_given(leader, names[i]);
    if (!given)
        return FPLT_OK;
    fplt_status status = declare(leader, &dictionary, error);
    if (!status)
        status = fplt__dictionary_text(&dictionary, text, error);
    fplt__dictionary_clear(&dictionary);
    return status;
}

/* Showing */

static void show_words(fplt__buffer *lines, const char *title,
                       const fplt__dictionary_column *column)
{
    if (!column->levels)
        return;
    fplt__buffer_format(lines, "\n%-11s", title);
    for (size_t i = 0; i < column->levels; i++)
        fplt__buffer_format(lines, "%s%s", i ? ", " : " ", column->level[i]);
}

void fplt__columns_show(const char *text, fplt__buffer *lines)
{
    fplt__dictionary dictionary;
    char title[FPLT__DICTIONARY_MAX_WORD + 16];
    if (!text || fplt__columns_read(text, &dictionary, NULL))
        return;
    if (dictionary.positions)
        fplt__buffer_format(lines, "\nfeatures    %llu, by position",
                            (unsigned long long)dictionary.positions);
    for (size_t i = 0; dictionary.is_whole && i < dictionary.columns; i++)
        fplt__buffer_format(lines, "%s%s", i ? ", " : "\ncolumns     ", dictionary.column[i].name);
    for (size_t i = 0; i < dictionary.columns; i++) {
        snprintf(title, sizeof title, "levels of %s:", dictionary.column[i].name);
        show_words(lines, title, &dictionary.column[i]);
    }
    if (dictionary.label.name)
        fplt__buffer_format(lines, "\nlabel       %s", dictionary.label.name);
    show_words(lines, "classes", &dictionary.label);
    fplt__dictionary_clear(&dictionary);
}

/* Features and classes */

static size_t features_of(const fplt__dictionary *dictionary, const fplt__dictionary_column *column)
{
    if (column->kind != FPLT__DICTIONARY_CATEGORY)
        return 1;
    return column->levels - (column->levels && dictionary->drops_first);
}

size_t fplt__columns_count(const fplt__dictionary *dictionary)
{
    size_t count = (size_t)dictionary->positions;
    for (size_t i = 0; i < dictionary->columns; i++)
        count += features_of(dictionary, &dictionary->column[i]);
    return count;
}

void fplt__columns_groups(const fplt__dictionary *dictionary, uint32_t *group)
{
    size_t at = (size_t)dictionary->positions;
    for (size_t i = 0; i < dictionary->columns; i++) {
        const fplt__dictionary_column *column = &dictionary->column[i];
        size_t features = features_of(dictionary, column);
        for (size_t k = 0; k < features; k++)
            group[at++] = column->kind == FPLT__DICTIONARY_CATEGORY ? (uint32_t)i + 1 : (uint32_t)0;
    }
}

fplt_status fplt__columns_features(const fplt__dictionary *dictionary, fplt__names *features,
                                   fplt_error *error)
{
    size_t count = dictionary->columns ? fplt__columns_count(dictionary) : 0, at = 0, used = 0;
    enum { WIDE = 2 * FPLT__DICTIONARY_MAX_WORD + 2 };
    char *text = NULL;
    fplt__span *spans;
    *features = (fplt__names){0, NULL};
    fplt_status status = fplt__alloc_into(&spans, count, sizeof *spans, "features", error);
    if (!status && count)
        status = fplt__alloc_into(&text, count, WIDE, "features", error);
    for (size_t i = 0; i < dictionary->columns && !status; i++) {
        const fplt__dictionary_column *column = &dictionary->column[i];
        size_t own = features_of(dictionary, column);
        for (size_t k = 0; k < own; k++) {
            int length = column->kind == FPLT__DICTIONARY_CATEGORY
                             ? snprintf(text + used, WIDE, "%s=%s", column->name,
                                        column->level[k + (size_t)dictionary->drops_first])
                             : snprintf(text + used, WIDE, "%s", column->name);
            spans[at++] = (fplt__span){text + used, (size_t)length};
            used += (size_t)length + 1;
        }
    }
    if (!status && count)
        status = fplt__names_make(spans, count, features, error);
    fplt__free(text);
    fplt__free(spans);
    return status;
}

fplt_status fplt__columns_classes(const fplt__dictionary *dictionary, fplt__names *classes,
                                  fplt_error *error)
{
    size_t count =
        dictionary->label.kind == FPLT__DICTIONARY_CATEGORY ? dictionary->label.levels : 0;
    fplt__names names = {count, (const char **)dictionary->label.level};
    *classes = (fplt__names){0, NULL};
    return count ? fplt__names_copy(&names, classes, error) : FPLT_OK;
}
