/* From the words that stand for labels to -1 and +1, classes 0, 1, ..., or numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "data/builder.h"
#include "base/sorting.h"

/* Without a task, more classes than these are hardly meant. */
enum { MAX_CLASSES = 100 };

/* What the user or a model says of labels: key i means value[i]. */
struct map {
    fplt__lookup keys;
    double *value;
    size_t capacity;
};

static void map_clear(struct map *map)
{
    fplt__lookup_clear(&map->keys);
    fplt__free(map->value);
}

static fplt_status map_add(struct map *map, fplt__span key, double value, fplt_error *error)
{
    uint32_t number, before = map->keys.count;
    fplt_status status = fplt__lookup_add(&map->keys, key, &number, error);
    if (status)
        return status;
    if (number < before)
        return fplt_error_set(error, FPLT_BAD_VALUE, "labels: '%s' is there twice",
                              fplt__show(key).text);
    status = fplt__grow(&map->value, &map->capacity, (size_t)number + 1, sizeof *map->value,
                        "labels", error);
    if (!status)
        map->value[number] = value;
    return status;
}

/* key=value pairs; the last = of a pair separates, so that a key may hold one. */
static fplt_status map_parse(struct map *map, const char *text, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (const char *c = text; !status && *c;) {
        size_t length = strcspn(c, ",");
        const char *equals = memrchr(c, '=', length);
        double value;
        fplt__span pair = {c, length};
        if (!equals || fplt__number_parse(fplt__span_trim((fplt__span){
                                              equals + 1, (size_t)(c + length - equals - 1)}),
                                          &value) != FPLT__NUMBER)
            return fplt_error_set(error, FPLT_BAD_VALUE, "labels: '%s' is not a pair such as yes=1",
                                  fplt__show(pair).text);
        fplt__span key = fplt__span_trim((fplt__span){c, (size_t)(equals - c)});
        status = map_add(map, key, value, error);
        c += length;
        c += *c == ',';
    }
    if (!status && !map->keys.count)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "labels is empty: pairs such as "
                                "yes=1,no=-1 are wanted");
    return status;
}

static fplt_status map_classes(struct map *map, const fplt_read_settings *settings,
                               fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < settings->class_count && !status; i++)
        status = map_add(map, fplt__span_of(settings->class_names[i]), i, error);
    return status;
}

/* As text, then as a number: 1, +1 and 1.0 are one label. */
static uint32_t map_find(const struct map *map, fplt__span word)
{
    uint32_t found = fplt__lookup_find(&map->keys, word);
    double number, key;
    if (found != FPLT__NOWHERE || fplt__number_parse(word, &number) != FPLT__NUMBER)
        return found;
    for (uint32_t i = 0; i < map->keys.count; i++)
        if (fplt__number_parse(fplt__lookup_word(&map->keys, i), &key) == FPLT__NUMBER &&
            key == number)
            return i;
    return FPLT__NOWHERE;
}

static fplt_status unknown_label(const fplt__builder *builder, const struct map *map, uint32_t word,
                                 fplt_error *error)
{
    char list[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < map->keys.count && used + 60 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 fplt__show(fplt__lookup_word(&map->keys, i)).text);
    return fplt__bad_data(error, builder->labels.origin[word].name,
                          builder->labels.origin[word].line,
                          "the label '%s' is not one of the known labels (%s)",
                          fplt__show(fplt__lookup_word(&builder->labels.words, word)).text, list);
}

static uint32_t sort_unique(double *value, uint32_t count)
{
    uint32_t kept = 0;
    fplt__sort(value, count);
    for (uint32_t i = 0; i < count; i++)
        if (!kept || value[i] != value[kept - 1])
            value[kept++] = value[i];
    return kept;
}

static uint32_t rank_of(double number, const double *sorted, uint32_t count)
{
    const double *found = bsearch(&number, sorted, count, sizeof *sorted, fplt__ascending);
    return found ? (uint32_t)(found - sorted) : 0;
}

static int task_is(const fplt__builder *builder, const char *task)
{
    return builder->settings->task && strcmp(builder->settings->task, task) == 0;
}

/* Two classes or more; the task says what is meant and must fit. */
static fplt_status settle_task(const fplt__builder *builder, uint32_t classes,
                               fplt_dataset *dataset, fplt_error *error)
{
    if (classes < 2)
        return fplt__bad_data(error, builder->first_source, 0,
                              "only one class (label '%s'): classification needs two",
                              builder->labels.words.count
                                  ? fplt__show(fplt__lookup_word(&builder->labels.words, 0)).text
                                  : "");
    if (classes > 2 && task_is(builder, "binary"))
        return fplt__bad_data(error, builder->first_source, 0,
                              "%u classes, but the task is binary: say which are +1 and -1 with "
                              "labels, or use the task classes",
                              classes);
    if (classes == 2 && task_is(builder, "classes"))
        return fplt__bad_data(error, builder->first_source, 0,
                              "two classes, but the task classes is for three or more: use binary");
    if (classes > FPLT__CLASSES_MAX)
        return fplt__bad_data(error, builder->first_source, 0,
                              "%u classes, but at most %d are legal", classes, FPLT__CLASSES_MAX);
    dataset->task = classes == 2 ? FPLT_TASK_BINARY : FPLT_TASK_CLASSES;
    dataset->outputs = classes;
    return FPLT_OK;
}

static double class_value(const fplt_dataset *dataset, uint32_t rank)
{
    return dataset->task == FPLT_TASK_BINARY ? 2.0 * rank - 1 : rank;
}

/* The first key of each value names its class; a model's own names win. */
static fplt_status name_mapped(const fplt_read_settings *settings, const struct map *map,
                               const double *sorted, uint32_t classes, fplt_dataset *dataset,
                               fplt_error *error)
{
    fplt__span *spans;
    fplt_status status = fplt__alloc_into(&spans, classes, sizeof *spans, "class names", error);
    if (status)
        return status;
    for (uint32_t i = map->keys.count; i-- > 0;)
        spans[rank_of(map->value[i], sorted, classes)] = fplt__lookup_word(&map->keys, i);
    for (uint32_t i = 0; i < classes && settings->class_names; i++)
        spans[i] = fplt__span_of(settings->class_names[i]);
    status = fplt__names_make(spans, classes, &dataset->class_names, error);
    fplt__free(spans);
    return status;
}

static fplt_status settle_mapped_classes(const fplt__builder *builder, const struct map *map,
                                         double *value, fplt_dataset *dataset, fplt_error *error)
{
    double *sorted;
    const fplt_read_settings *settings = builder->settings;
    fplt_status status =
        fplt__alloc_into(&sorted, map->keys.count, sizeof *sorted, "classes", error);
    if (status)
        return status;
    for (uint32_t i = 0; i < map->keys.count; i++)
        sorted[i] = map->value[i];
    uint32_t classes = sort_unique(sorted, map->keys.count);
    if (settings->class_names && classes != settings->class_count)
        status =
            fplt_error_set(error, FPLT_BAD_VALUE, "labels has %u classes, but the model has %u",
                           classes, settings->class_count);
    if (!status)
        status = settle_task(builder, classes, dataset, error);
    if (!status)
        status = name_mapped(settings, map, sorted, classes, dataset, error);
    for (uint32_t i = 0; i < builder->labels.words.count && !status; i++)
        value[i] = class_value(dataset, rank_of(value[i], sorted, classes));
    fplt__free(sorted);
    return status;
}

static fplt_status settle_mapped(const fplt__builder *builder, double *value, fplt_dataset *dataset,
                                 fplt_error *error)
{
    struct map map = {0};
    fplt_status status = builder->settings->labels
                             ? map_parse(&map, builder->settings->labels, error)
                             : map_classes(&map, builder->settings, error);
    for (uint32_t i = 0; i < builder->labels.words.count && !status; i++) {
        uint32_t key = map_find(&map, fplt__lookup_word(&builder->labels.words, i));
        if (key == FPLT__NOWHERE)
            status = unknown_label(builder, &map, i, error);
        else
            value[i] = map.value[key];
    }
    if (!status && task_is(builder, "regression")) {
        dataset->task = FPLT_TASK_REGRESSION;
        dataset->outputs = 1;
    } else if (!status)
        status = settle_mapped_classes(builder, &map, value, dataset, error);
    map_clear(&map);
    return status;
}

/* Words in sorted order are the classes. */
static fplt_status settle_words(const fplt__builder *builder, double *value, fplt_dataset *dataset,
                                fplt_error *error)
{
    uint32_t *order, count = builder->labels.words.count;
    fplt__span *spans;
    fplt_status status = settle_task(builder, count, dataset, error);
    if (status)
        return status;
    status = fplt__alloc_into(&order, count, sizeof *order, "classes", error);
    if (status)
        return status;
    fplt__lookup_sort(&builder->labels.words, order);
    status = fplt__alloc_into(&spans, count, sizeof *spans, "classes", error);
    for (uint32_t i = 0; i < count && !status; i++) {
        spans[i] = fplt__lookup_word(&builder->labels.words, order[i]);
        value[order[i]] = class_value(dataset, i);
    }
    if (!status)
        status = fplt__names_make(spans, count, &dataset->class_names, error);
    fplt__free(spans);
    fplt__free(order);
    return status;
}

static fplt_status name_numbers(const double *sorted, uint32_t count, fplt_dataset *dataset,
                                fplt_error *error)
{
    fplt__lookup names = {0};
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        char text[32];
        uint32_t number;
        fplt__number_name(sorted[i], text);
        status = fplt__lookup_add(&names, fplt__span_of(text), &number, error);
    }
    if (!status)
        status = fplt__lookup_names(&names, &dataset->class_names, error);
    fplt__lookup_clear(&names);
    return status;
}

/* Decimals are hardly the names of classes. */
static int are_decimals(const double *value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (value[i] != trunc(value[i]))
            return 1;
    return 0;
}

static void note_regression(const fplt__builder *builder, const char *path)
{
    fplt__log(FPLT_LOG_INFO,
              "%s: the labels are decimal numbers, so the task is regression; where they are "
              "classes, give task classes",
              path ? path : builder->labels.origin[0].name);
}

fplt_status fplt__labels_turn(fplt__builder *builder, int *turned, fplt_error *error)
{
    double *value;
    fplt_status status =
        fplt__alloc_into(&value, builder->labels.words.count, sizeof *value, "labels", error);
    if (status)
        return status;
    *turned = !builder->settings->labels && !builder->settings->class_names;
    for (uint32_t i = 0; i < builder->labels.words.count && *turned; i++)
        *turned = fplt__number_parse(fplt__lookup_word(&builder->labels.words, i), &value[i]) ==
                  FPLT__NUMBER;
    *turned = *turned && are_decimals(value, builder->labels.words.count);
    for (size_t r = 0; r < builder->rows && *turned; r++)
        builder->row[r].label = value[(size_t)builder->row[r].label];
    if (*turned) {
        builder->labels.mode = FPLT__LABEL_NUMBER;
        if (!builder->pieces.is_part)
            note_regression(builder, builder->first_source);
    }
    fplt__free(value);
    return FPLT_OK;
}

static fplt_status check_automatic(const fplt__builder *builder, const double *sorted,
                                   uint32_t count, fplt_error *error)
{
    int whole = count <= MAX_CLASSES && !are_decimals(sorted, count);
    if (count <= 2 || !builder->labels.automatic || whole)
        return FPLT_OK;
    return fplt__bad_data(error, builder->first_source, 0,
                          "%u distinct labels: say whether the task is regression or classes",
                          count);
}

static fplt_status settle_numbers(const fplt__builder *builder, double *value,
                                  fplt_dataset *dataset, fplt_error *error)
{
    uint32_t count = builder->labels.words.count;
    double *sorted;
    fplt_status status = fplt__alloc_into(&sorted, count, sizeof *sorted, "classes", error);
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = value[i];
    uint32_t classes = sort_unique(sorted, count);
    if (builder->labels.automatic && classes > 2 && are_decimals(sorted, classes)) {
        dataset->task = FPLT_TASK_REGRESSION;
        dataset->outputs = 1;
        note_regression(builder, builder->first_source);
        fplt__free(sorted);
        return FPLT_OK;
    }
    status = check_automatic(builder, sorted, classes, error);
    if (!status)
        status = settle_task(builder, classes, dataset, error);
    if (!status)
        status = name_numbers(sorted, classes, dataset, error);
    for (uint32_t i = 0; i < count && !status; i++)
        value[i] = class_value(dataset, rank_of(value[i], sorted, classes));
    fplt__free(sorted);
    return status;
}

/* Whether labels are words: all of them, or as the task says. One word among numbers is a mistake. */
static int are_words(const fplt__builder *builder)
{
    double number;
    for (uint32_t i = 0; i < builder->labels.words.count; i++)
        if (fplt__number_parse(fplt__lookup_word(&builder->labels.words, i), &number) !=
            FPLT__NOT_A_NUMBER)
            return task_is(builder, "classes");
    return 1;
}

/* So many words are hardly classes unless the task says so. */
static fplt_status check_words(const fplt__builder *builder, fplt_error *error)
{
    uint32_t count = builder->labels.words.count;
    if (count <= MAX_CLASSES || !builder->labels.automatic)
        return FPLT_OK;
    return fplt__bad_data(error, builder->labels.origin[0].name, builder->labels.origin[0].line,
                          "the label '%s' is one of %u different words: add --task classes if they "
                          "are classes, or name another column with --label",
                          fplt__show(fplt__lookup_word(&builder->labels.words, 0)).text, count);
}

static fplt_status settle_unmapped(const fplt__builder *builder, double *value,
                                   fplt_dataset *dataset, fplt_error *error)
{
    fplt_status status;
    for (uint32_t i = 0; i < builder->labels.words.count; i++) {
        fplt__span word = fplt__lookup_word(&builder->labels.words, i);
        fplt__number kind = fplt__number_parse(word, &value[i]);
        if (kind == FPLT__NUMBER)
            continue;
        if (kind == FPLT__NOT_A_NUMBER && are_words(builder))
            return (status = check_words(builder, error))
                       ? status
                       : settle_words(builder, value, dataset, error);
        return fplt__bad_data(error, builder->labels.origin[i].name, builder->labels.origin[i].line,
                              kind == FPLT__NOT_FINITE
                                  ? "the label '%s' is not a finite number"
                                  : "the label '%s' is not a number, and not every label is a "
                                    "word: say what it means with labels, such as yes=1,no=-1",
                              fplt__show(word).text);
    }
    return settle_numbers(builder, value, dataset, error);
}

fplt_status fplt__labels_settle(const fplt__builder *builder, double *value, fplt_dataset *dataset,
                                fplt_error *error)
{
    if (builder->labels.mode != FPLT__LABEL_WORD) {
        dataset->task = FPLT_TASK_REGRESSION;
        dataset->outputs = 1;
        return FPLT_OK;
    }
    if (builder->settings->labels || builder->settings->class_names)
        return settle_mapped(builder, value, dataset, error);
    return settle_unmapped(builder, value, dataset, error);
}
