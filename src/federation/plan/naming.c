#include "federation/plan/naming.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "data/dataset_access.h"
#include "data/schema.h"
#include "data/schema_access.h"
#include "federation/plan/columns.h"
#include "federation/plan/run_design.h"

void fplt__naming_clear(fplt__naming *naming)
{
    fplt__names_clear(&naming->features);
    fplt__names_clear(&naming->classes);
    fplt__design_destroy(naming->design);
    fplt__dictionary_clear(&naming->dictionary);
}

fplt_status fplt__naming_columns(const fplt_schema *schema, const char *dictionary,
                                 fplt__names *columns, fplt_error *error)
{
    fplt__dictionary read;
    *columns = (fplt__names){0, NULL};
    if (schema)
        return fplt__schema_feature_names(schema, columns, error);
    fplt_status status = fplt__columns_read(dictionary, &read, error);
    if (!status)
        status = fplt__columns_features(&read, columns, error);
    fplt__dictionary_clear(&read);
    return status;
}

static fplt_status name_declared(const fplt_schema *schema, const fplt__form *form,
                                 fplt__naming *naming, fplt_error *error)
{
    fplt__span *spans;
    fplt_status status = fplt__schema_feature_names(schema, &naming->features, error);
    if (status ||
        (status = fplt__alloc_into(&spans, form->outputs, sizeof *spans, "the names", error)))
        return status;
    if (fplt__task_classifies(form->task)) {
        for (uint32_t k = 0; k < form->outputs; k++) {
            const char *name = fplt__schema_class(schema, k);
            spans[k] = (fplt__span){name, strlen(name)};
        }
        status = fplt__names_make(spans, form->outputs, &naming->classes, error);
    }
    fplt__free(spans);
    return status;
}

static fplt_status refuse_names(const fplt__form *form, fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the plan has %zu features and %u classes, but other names for them",
                          form->features, form->outputs);
}

/* A plan of before dictionaries: classes by their numbers. */
static fplt_status number_classes(const fplt__form *form, fplt__naming *naming, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    naming->dictionary.label.kind = FPLT__DICTIONARY_CATEGORY;
    for (uint32_t k = 0; fplt__task_classifies(form->task) && k < form->outputs && !status; k++) {
        char text[16];
        int length = snprintf(text, sizeof text, "%d",
                              form->task == FPLT_TASK_BINARY ? 2 * (int)k - 1 : (int)k);
        status = fplt__dictionary_add_level(&naming->dictionary.label, text, (size_t)length, error);
    }
    return status ? status : fplt__columns_classes(&naming->dictionary, &naming->classes, error);
}

static fplt_status name_by_dictionary(const fplt__form *form, const fplt__agreement *agreement,
                                      fplt__naming *naming, fplt_error *error)
{
    fplt_status status = fplt__columns_read(agreement->dictionary, &naming->dictionary, error);
    if (!status)
        status = fplt__columns_features(&naming->dictionary, &naming->features, error);
    if (!status)
        status = fplt__columns_classes(&naming->dictionary, &naming->classes, error);
    if (!status && naming->classes.count != (fplt__task_classifies(form->task) ? form->outputs : 0))
        status = refuse_names(form, error);
    return status;
}

/* The columns of the run become those of its formula. */
static fplt_status name_by_formula(const fplt__plan_resolution *terms,
                                   const fplt__agreement *agreement, fplt__naming *naming,
                                   fplt_error *error)
{
    const char *label = naming->dictionary.label.name;
    const char *numbers = fplt__pair_find(agreement->resolved, agreement->resolves, "formula");
    fplt_status status = fplt__run_design_make(terms->settings, terms->schema, &naming->features,
                                               label, numbers, &naming->design, error);
    if (status || !naming->design)
        return status;
    fplt__names_clear(&naming->features);
    return fplt__names_copy(fplt__design_names(naming->design), &naming->features, error);
}

fplt_status fplt__naming_make(const fplt__plan_resolution *terms, const fplt__agreement *agreement,
                              fplt__naming *naming, fplt_error *error)
{
    const fplt__form *form = &terms->job.form;
    memset(naming, 0, sizeof *naming);
    fplt_status status = terms->schema ? name_declared(terms->schema, form, naming, error)
                         : agreement->dictionary
                             ? name_by_dictionary(form, agreement, naming, error)
                             : number_classes(form, naming, error);
    if (!status)
        status = name_by_formula(terms, agreement, naming, error);
    if (!status && naming->features.count && naming->features.count != form->features)
        status = refuse_names(form, error);
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
