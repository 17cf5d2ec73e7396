#include "federation/plan/naming.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "data/schema.h"
#include "federation/plan/columns.h"

void fplt__naming_clear(fplt__naming *naming)
{
    fplt__names_clear(&naming->features);
    fplt__names_clear(&naming->classes);
    fplt__dictionary_clear(&naming->dictionary);
}

static fplt_status name_declared(const fplt_schema *schema, const fplt__form *form,
                                 fplt__naming *naming, fplt_error *error)
{
    size_t count = form->features > form->outputs ? form->features : form->outputs;
    int named = fplt_schema_feature(schema, 0, NULL, NULL, NULL, NULL) != NULL;
    fplt__span *spans;
    fplt_status status = fplt__alloc_into(&spans, count, sizeof *spans, "the names", error);
    for (size_t j = 0; named && !status && j < form->features; j++) {
        const char *name = fplt_schema_feature(schema, j, NULL, NULL, NULL, NULL);
        spans[j] = (fplt__span){name, strlen(name)};
    }
    if (!status && named)
        status = fplt__names_make(spans, form->features, &naming->features, error);
    if (!status && fplt_task_classifies(form->task)) {
        for (uint32_t k = 0; k < form->outputs; k++) {
            const char *name = fplt__schema_class(schema, k);
            spans[k] = (fplt__span){name, strlen(name)};
        }
        status = fplt__names_make(spans, form->outputs, &naming->classes, error);
    }
    fplt__free(spans);
    return status;
}

/* A plan of before dictionaries: classes by their numbers. */
static fplt_status number_classes(const fplt__form *form, fplt__naming *naming, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    naming->dictionary.label.kind = FPLT__DICTIONARY_CATEGORY;
    for (uint32_t k = 0; fplt_task_classifies(form->task) && k < form->outputs && !status; k++) {
        char text[16];
        int length = snprintf(text, sizeof text, "%d",
                              form->task == FPLT_TASK_BINARY ? 2 * (int)k - 1 : (int)k);
        status = fplt__dictionary_add_level(&naming->dictionary.label, text, (size_t)length, error);
    }
    return status ? status : fplt__columns_classes(&naming->dictionary, &naming->classes, error);
}

fplt_status fplt__naming_make(const fplt__plan_resolution *terms, const fplt__agreement *agreement,
                              fplt__naming *naming, fplt_error *error)
{
    const fplt__form *form = &terms->job.form;
    memset(naming, 0, sizeof *naming);
    if (terms->schema)
        return name_declared(terms->schema, form, naming, error);
    if (!agreement->dictionary)
        return number_classes(form, naming, error);
    fplt_status status = fplt__columns_read(agreement->dictionary, &naming->dictionary, error);
    if (!status)
        status = fplt__columns_features(&naming->dictionary, &naming->features, error);
    if (!status)
        status = fplt__columns_classes(&naming->dictionary, &naming->classes, error);
    int classifies = fplt_task_classifies(form->task);
    if (!status && (fplt__columns_count(&naming->dictionary) != form->features ||
                    naming->classes.count != (classifies ? form->outputs : 0)))
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "the plan has %zu features and %u classes, but other names for "
                                "them",
                                form->features, form->outputs);
    return status;
}

/* Beginning at a model */

static fplt_status list_names(const char *const *features, size_t count, const char *const *classes,
                              size_t class_count, char **names, fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    *names = NULL;
    if (!features)
        return FPLT_OK;
    for (size_t j = 0; j < count; j++)
        fplt__buffer_format(&text, "%s\n", features[j]);
    for (size_t k = 0; classes && k < class_count; k++)
        fplt__buffer_format(&text, "\n%s", classes[k]);
    return fplt__buffer_take(&text, names, error);
}

fplt_status fplt__naming_list(const fplt_model_info *info, char **names, fplt_error *error)
{
    return list_names(info->feature_names, info->features, info->class_names, info->classes, names,
                      error);
}

fplt_status fplt__naming_compare(const char *names, const fplt__agreement *agreement,
                                 const char *what, fplt_error *error)
{
    fplt__plan_resolution terms;
    fplt__form form;
    fplt__naming naming = {.features = {0, NULL}};
    char *own = NULL;
    fplt_status status = fplt__agreement_form(agreement, &form, error);
    if (status || (status = fplt__plan_resolution_of(&agreement->proposal, &form, &terms, error)))
        return status;
    if (!(status = fplt__naming_make(&terms, agreement, &naming, error)))
        status = list_names(naming.features.item, naming.features.count, naming.classes.item,
                            naming.classes.count, &own, error);
    if (!status && names && own && strcmp(names, own) != 0)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: the model's features or classes are others than those of this "
                                "run, or in another order; declare `columns` in its order, or "
                                "begin at zero",
                                what);
    fplt_free(own);
    fplt__naming_clear(&naming);
    fplt__plan_resolution_clear(&terms);
    return status;
}
