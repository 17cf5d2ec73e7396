/* An fplt file beside the settings of a reader: settings that the file contradicts, and the agents, classes and features
 * that a model requires. */
#include "base/memory.h"
#include "data/dataset_access.h"
#include "data/dialect.h"
#include "data/fplt_settings.h"

/* The settings are those of a model that reads other data, which knows columns and labels of files. */
static int for_model(const fplt_read_settings *settings)
{
    return settings->asked || settings->class_names || settings->feature_names ||
           settings->id_if_there;
}

fplt_status fplt__fplt_check_settings(const fplt__source *source,
                                      const fplt_read_settings *settings, fplt_task holds,
                                      fplt_error *error)
{
    const fplt_read_settings *s = settings->asked ? settings->asked : settings;
    const char *task = fplt_task_name(holds);
    const char *name = s->label && !fplt__word_is(s->label, "none") ? "label"
                       : s->site && !fplt__word_is(s->site, "none") ? "site"
                       : s->labels                                  ? "labels"
                       : s->categories                              ? "categories"
                       : s->columns                                 ? "columns"
                       : s->ignore                                  ? "ignore"
                       : s->row_weight                              ? "row-weight"
                       : s->cluster                                 ? "random-intercept"
                       : s->id                                      ? "id"
                                                                    : NULL;
    if (for_model(s)) /* the rest may be the model's */
        name = s->id && !s->id_if_there ? "id" : NULL;
    if (s->no_header || (s->separator && strcmp(s->separator, "auto") != 0))
        name = s->no_header ? "header" : "separator";
    if (!name)
        name = fplt__dialect_asked(s);
    if (name)
        return fplt__bad_data(
            error, source->name, 0,
            "%s says how a file is read, but all that is settled in an fplt file: "
            "give it when the file is made",
            name);
    if (!for_model(s) && s->task && strcmp(s->task, "auto") != 0 && strcmp(s->task, task) != 0)
        return fplt__bad_data(error, source->name, 0, "the task is %s, but %s is wanted", task,
                              s->task);
    return FPLT_OK;
}

int fplt__fplt_keeps_ids(const fplt_read_settings *settings)
{
    return settings->id || !for_model(settings);
}

/* All rows are one agent's, the file's. */
static fplt_status one_agent(const fplt__source *source, fplt_dataset *made, fplt_error *error)
{
    fplt__lookup agents = {0};
    uint32_t agent;
    made->agents = 1;
    made->first[1] = made->rows;
    fplt__names_clear(&made->agent_names);
    fplt_status status = fplt__source_agent(source, &agents, &agent, error);
    if (!status)
        status = fplt__lookup_names(&agents, &made->agent_names, error);
    fplt__lookup_clear(&agents);
    return status;
}

static fplt_status no_labels(fplt_dataset *made, fplt_error *error)
{
    made->task = FPLT_TASK_REGRESSION;
    made->outputs = 1;
    made->weight = NULL;
    fplt__names_clear(&made->class_names);
    made->own_label = 1;
    return fplt__alloc_into(&made->label, made->rows, sizeof *made->label, "labels", error);
}

static uint32_t class_at(double label, fplt_task task)
{
    return task == FPLT_TASK_BINARY ? label > 0 : (uint32_t)label;
}

/* Classes become those of a model, found by their names. */
static fplt_status match_classes(const fplt__source *source, const fplt_read_settings *settings,
                                 fplt_dataset *made, fplt_error *error)
{
    uint32_t *index, classes = made->outputs;
    int same = classes == settings->class_count;
    fplt_status status = fplt__alloc_into(&index, classes, sizeof *index, "classes", error);
    for (uint32_t k = 0; k < classes && !status; k++) {
        const char *name = fplt_dataset_class_name(made, k);
        double value = 0, other;
        int number = name && fplt__number_parse(fplt__span_of(name), &value) == FPLT__NUMBER;
        index[k] = name ? FPLT__NOWHERE : k;
        for (uint32_t i = 0; i < settings->class_count && name; i++)
            if (strcmp(name, settings->class_names[i]) == 0 ||
                (number && index[k] == FPLT__NOWHERE &&
                 fplt__number_parse(fplt__span_of(settings->class_names[i]), &other) ==
                     FPLT__NUMBER &&
                 other == value))
                index[k] = i;
        if (index[k] >= settings->class_count)
            status =
                fplt__bad_data(error, source->name, 0, "the model does not know the class '%.80s'",
                               name ? name : "of a higher number");
        same &= index[k] == k;
    }
    fplt_task task = settings->class_count == 2 ? FPLT_TASK_BINARY : FPLT_TASK_CLASSES;
    const double *from = made->label;
    if (!status && !same) {
        double *own;
        status = fplt__alloc_into(&own, made->rows, sizeof *own, "labels", error);
        for (size_t r = 0; r < made->rows && !status; r++) {
            uint32_t k = index[class_at(from[r], made->task)];
            own[r] = task == FPLT_TASK_BINARY ? 2.0 * k - 1 : k;
        }
        if (!status) {
            made->label = own;
            made->own_label = 1;
        }
    }
    fplt__free(index);
    if (status)
        return status;
    made->task = task;
    made->outputs = settings->class_count;
    fplt__names_clear(&made->class_names);
    fplt__names names = {settings->class_count, (const char **)settings->class_names};
    return fplt__names_copy(&names, &made->class_names, error);
}

/* Where each feature of the file goes; FPLT__NOWHERE: the model does not want it. */
static fplt_status find_features(const fplt__source *source, const fplt_read_settings *settings,
                                 const fplt_dataset *made, uint32_t *slot, int *same,
                                 fplt_error *error)
{
    fplt__lookup known = {0};
    fplt_status status = FPLT_OK;
    uint32_t number;
    *same = settings->feature_count == made->features;
    for (size_t j = 0; j < made->features && !status; j++) {
        slot[j] = FPLT__NOWHERE;
        status =
            fplt__lookup_add(&known, fplt__span_of(made->feature_names.item[j]), &number, error);
    }
    for (size_t i = 0; i < settings->feature_count && !status; i++) {
        uint32_t at = fplt__lookup_find(&known, fplt__span_of(settings->feature_names[i]));
        if (at == FPLT__NOWHERE || at >= made->features)
            status = fplt__bad_data(error, source->name, 0,
                                    "there is no column for the feature '%.80s' of the model",
                                    settings->feature_names[i]);
        else
            slot[at] = (uint32_t)i;
        *same &= at == i;
    }
    fplt__lookup_clear(&known);
    return status;
}

static fplt_status move_dense(const fplt_dataset *made, const uint32_t *slot, size_t features,
                              double **out, fplt_error *error)
{
    size_t numbers;
    if (__builtin_mul_overflow(made->rows, features, &numbers))
        numbers = SIZE_MAX;
    fplt_status status = fplt__alloc_into(out, numbers, sizeof **out, "rows", error);
    for (size_t r = 0; r < made->rows && !status; r++)
        for (size_t j = 0; j < made->features; j++)
            if (slot[j] != FPLT__NOWHERE)
                (*out)[r * features + slot[j]] = made->dense[r * made->features + j];
    return status;
}

/* Features in another order, or fewer, need rows of their own. */
static fplt_status match_features(const fplt__source *source, const fplt_read_settings *settings,
                                  fplt_dataset *made, fplt_error *error)
{
    uint32_t *slot;
    int same = 1;
    if (!made->feature_names.count || !settings->feature_count)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&slot, made->features, sizeof *slot, "features", error);
    if (!status)
        status = find_features(source, settings, made, slot, &same, error);
    if (!status && !same && !made->dense)
        status = fplt__bad_data(error, source->name, 0,
                                "the features are in another order than the model's, and sparse "
                                "rows are not put into another");
    if (!status && !same) {
        double *own;
        if (!(status = move_dense(made, slot, settings->feature_count, &own, error))) {
            made->dense = own;
            made->lent_values = 0;
            made->features = settings->feature_count;
            made->group = NULL;
            fplt__names_clear(&made->feature_names);
            fplt__names names = {settings->feature_count, (const char **)settings->feature_names};
            status = fplt__names_copy(&names, &made->feature_names, error);
        }
    }
    fplt__free(slot);
    return status;
}

static fplt_status match_count(const fplt__source *source, const fplt_read_settings *settings,
                               fplt_dataset *made, fplt_error *error)
{
    size_t wanted = settings->feature_count ? settings->feature_count : settings->features;
    if (wanted && !made->dense && wanted > made->features && !made->feature_names.count)
        made->features = wanted;
    if (wanted && made->features != wanted)
        return fplt__bad_data(error, source->name, 0, "%zu features, but %zu are wanted",
                              made->features, wanted);
    return FPLT_OK;
}

fplt_status fplt__fplt_apply_settings(const fplt__source *source,
                                      const fplt_read_settings *settings, fplt_dataset *made,
                                      fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (fplt__word_is(settings->site, "none") && (status = one_agent(source, made, error)))
        return status;
    if (fplt__word_is(settings->label, "none"))
        status = no_labels(made, error);
    else if (settings->class_names && fplt__task_classifies(made->task))
        status = match_classes(source, settings, made, error);
    if (!status)
        status = match_features(source, settings, made, error);
    return status ? status : match_count(source, settings, made, error);
}
