/* An agent's data: read as its own settings and the proposal say, put into the columns of the run, prepared. */
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/dataset_access.h"
#include "data/schema.h"
#include "data/schema_access.h"
#include "fedplt/noise.h"
#include "job/job.h"
#include "objective/objective_access.h"
#include "federation/plan/columns.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/run_design.h"
#include "federation/agent/local_data_parts.h"
#include "promise/promise.h"

/* The fold of each row, and the rows of that which the proposal leaves out. `hashes` NULL: by the seed. */
static fplt_status mark_fold(fplt__local_data *material, const fplt__local_source *from,
                             const fplt__row_set *hashes, unsigned char *held, fplt_error *error)
{
    size_t rows = material->training->rows;
    uint32_t folds = material->part.folds;
    fplt_status status =
        fplt__alloc_into(&material->fold, rows, sizeof *material->fold, "folds", error);
    if (!status && hashes)
        status = fplt__row_set_deal(hashes, from->secret, folds, material->fold, error);
    else if (!status)
        fplt__deal_folds(rows, from->member_index, folds,
                         (uint64_t)fplt_settings_integer(material->settings, "seed"),
                         material->fold);
    for (size_t r = 0; r < rows && !status; r++)
        held[r] = material->fold[r] == material->part.fold;
    return status;
}

/* By the secret of the site: which rows are held out is nothing that a proposal chooses. */
static fplt_status hold_out_by_secret(fplt__local_data *material, const fplt__local_source *from,
                                      double share, fplt_dataset **kept, fplt_error *error)
{
    const uint8_t *secret = from->secret;
    const fplt_dataset *rows = material->training;
    fplt__row_set hashes;
    unsigned char *held = NULL;
    fplt_status status =
        fplt__row_set_read(material->settings, material->schema, rows, secret, &hashes, error);
    if (!status)
        status = fplt__alloc_into(&held, rows->rows, 1, "held-out rows", error);
    if (!status && material->part.kind == FPLT__PART_FOLD)
        status = mark_fold(material, from, &hashes, held, error);
    else if (!status && share > 0)
        status = fplt__row_set_hold_out(&hashes, secret, share, held, error);
    if (!status)
        status = fplt__row_set_used(&hashes, rows, material->schema, held, 0, &material->sets.used,
                                    error);
    if (!status && share > 0 &&
        !(status = fplt__row_set_used(&hashes, rows, material->schema, held, 1,
                                      &material->sets.held, error)) &&
        !(status = fplt__rows_of_side(rows, held, 0, kept, error)))
        status = fplt__rows_of_side(rows, held, 1, &material->held_out, error);
    fplt__row_set_sort(&hashes);
    material->sets.all = hashes;
    fplt__free(held);
    return status;
}

/* Where the rules are off, as one process deals them. */
static fplt_status hold_out_by_seed(fplt__local_data *material, const fplt__local_source *from,
                                    fplt_dataset **kept, fplt_error *error)
{
    unsigned char *held;
    fplt_status status =
        fplt__alloc_into(&held, material->training->rows, 1, "held-out rows", error);
    if (status)
        return status;
    if (!(status = mark_fold(material, from, NULL, held, error)) &&
        !(status = fplt__rows_of_side(material->training, held, 0, kept, error)))
        status = fplt__rows_of_side(material->training, held, 1, &material->held_out, error);
    fplt__free(held);
    return status;
}

static fplt_status hold_out(fplt__local_data *material, const fplt__local_source *from,
                            fplt_error *error)
{
    double share = fplt_settings_real(material->settings, "holdout");
    uint64_t seed = (uint64_t)fplt_settings_integer(material->settings, "seed");
    fplt_dataset *kept = NULL;
    fplt_status status = FPLT_OK;
    if (from->secret)
        status = hold_out_by_secret(material, from, share, &kept, error);
    else if (material->part.kind == FPLT__PART_FOLD)
        status = hold_out_by_seed(material, from, &kept, error);
    else if (share > 0)
        status = fplt__dataset_split_from(material->training, from->member_index, share, seed,
                                          &kept, &material->held_out, error);
    if (status || !kept) {
        fplt_dataset_destroy(kept);
        return status;
    }
    fplt_dataset_destroy(material->training);
    material->training = kept;
    return FPLT_OK;
}

/* Of the run that begins a validation. */
static fplt_status count_folds(fplt__local_data *material, const fplt_settings *site,
                               const fplt__proposal *proposal, const uint8_t *secret,
                               fplt_error *error)
{
    fplt__validation validation;
    fplt__folds_of of = {.site = site,
                         .reading = material->settings,
                         .schema = material->schema,
                         .rows = material->training,
                         .secret = secret,
                         .is_pooled = proposal->secure};
    if (!*proposal->validation)
        return FPLT_OK;
    fplt_status status = fplt__validation_read(proposal, &validation, error);
    return status ? status : fplt__folds_count(&of, validation.folds, &material->most_folds, error);
}

/* By the proposal's schema, or as the site says with what the proposal declares. */
static fplt_status read_rows(fplt__local_data *material, const fplt__proposal *proposal,
                             char *abroad, fplt_error *error)
{
    fplt_read_settings read = fplt__job_read(material->settings);
    fplt__dictionary declared;
    read.schema = material->schema;
    read.site = "none"; /* whose rows they are is known */
    if (material->schema)
        return fplt__job_dataset(material->settings, 0, NULL, 0, &read, &material->training, error);
    fplt_status status = fplt__columns_read(proposal->dictionary, &declared, error);
    if (!status)
        status = fplt__columns_read_rows(material->settings, &declared, &material->training,
                                         &material->own, abroad, error);
    fplt__dictionary_clear(&declared);
    return status;
}

/* Each of several files is read as a site of its own, whatever `site` says. */
static int is_list(const char *data)
{
    char first[4096];
    return *fplt__list_next(data, first, sizeof first) != 0;
}

static fplt_status read_data(fplt__local_data *material, const fplt__proposal *proposal,
                             char *abroad, fplt_error *error)
{
    fplt_read_settings read = fplt__job_read(material->settings);
    const char *data = fplt_settings_text(material->settings, "data"),
               *agreed = fplt__pair_find(proposal->setting, proposal->settings, "missing"),
               *own = fplt_settings_text(material->settings, "missing");
    if (!data)
        return fplt__site_no_data(error);
    if (read.keep_missing && (!agreed || strcmp(agreed, own) != 0))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "%s: missing is %s, but what to fill in is found over all sites, and the proposal says "
            "missing %s; leave it out here, or ask the coordinator for `train: {missing: %s}`",
            fplt__settings_origin(material->settings, "missing"), own, agreed ? agreed : "refuse",
            own);
    fplt_status status = read_rows(material, proposal, abroad, error);
    if (!status)
        status = fplt__job_labelled(material->settings,
                                    fplt__job_cost(material->settings, &material->source,
                                                   fplt_dataset_task(material->training))
                                        .loss,
                                    error);
    material->inputs = material->training ? fplt_dataset_features(material->training) : 0;
    if (!status && fplt_dataset_agents(material->training) != 1)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s has the rows of %u sites, but an agent has one; %s", data,
                                fplt_dataset_agents(material->training),
                                is_list(data) ? "put the rows of all files into one file"
                                              : "say `site: none` if they are all its own");
    return status;
}

/* What the formula of the proposal needs of the rows. */
static fplt__formula_rows formula_rows(const fplt__local_data *material, char *abroad)
{
    return (fplt__formula_rows){.settings = material->settings,
                                .schema = material->schema,
                                .label = material->schema ? NULL : material->own.label.name,
                                .training = material->training,
                                .held_out = material->held_out,
                                .abroad = abroad};
}

/* Before columns are settled, and before missing values are filled, only how many there will be is known. */
static fplt_status begin_formula(fplt__local_data *material, int settled, char *abroad,
                                 fplt_error *error)
{
    fplt__formula_rows rows = formula_rows(material, abroad);
    if (!settled ||
        (!material->schema && fplt__preparation_fills(material->terms) && !material->prepared))
        return fplt__local_formula_count(&material->formula, &rows, error);
    return fplt__local_formula_begin(&material->formula, &rows, error);
}

const fplt__local_formula *fplt__local_data_formula(const fplt__local_data *material)
{
    return &material->formula;
}

fplt_status fplt__local_data_expand(fplt__local_data *material, const char *numbers,
                                    char abroad[FPLT__SENTENCE], fplt_error *error)
{
    fplt__formula_rows rows = formula_rows(material, abroad);
    return fplt__local_formula_expand(&material->formula, &rows, numbers, error);
}

/* With a promise the gradients of a custom cost's records are shortened. */
static fplt_status clip_lent(fplt__local_data *material, fplt_error *error)
{
    material->source.own_costs = 1;
    fplt_status status = fplt_promise_prepare(material->settings, &material->source, error);
    return status || !fplt__promise_wanted(material->settings)
               ? status
               : fplt__objective_clip_records(material->lent, material->source.clip,
                                              &material->objective, error);
}

fplt_status fplt__local_data_create(const fplt_settings *site, const fplt__proposal *proposal,
                                    const fplt__local_source *from, fplt__local_data **out,
                                    char abroad[FPLT__SENTENCE], fplt_error *error)
{
    *out = NULL;
    *abroad = 0;
    fplt__local_data *material;
    fplt_status status = fplt__alloc_into(&material, 1, sizeof *material, "the data", error);
    if (status)
        return status;
    int reads = !fplt__is_custom(proposal);
    material->lent = reads ? NULL : from->cost->objective;
    material->members = proposal->members;
    if ((status = fplt__plan_resolution_settings(proposal, reads, &material->settings, error)) ||
        (status = fplt__plan_resolution_settings(proposal, 0, &material->terms, error))) {
        fplt__local_data_destroy(material);
        return status;
    }
    if ((status = fplt__validation_part_read(proposal, &material->part, error))) {
        fplt__local_data_destroy(material);
        return status;
    }
    if (!reads) {
        if ((status = clip_lent(material, error))) {
            fplt__local_data_destroy(material);
            return status;
        }
        *out = material;
        return FPLT_OK;
    }
    if ((status = fplt__site_take_reading(site, material->settings, error)) ||
        (status = fplt__proposal_schema(proposal, &material->schema, error)) ||
        (status = fplt__site_check_schema(site, material->schema, error))) {
        fplt__local_data_destroy(material);
        return status;
    }
    if (fplt__promise_wanted(material->settings))
        fplt__schema_be_lenient(material->schema);
    material->source.schema = material->schema;
    if ((!material->schema && (status = fplt__local_formula_reading(material->settings, error))) ||
        (status = fplt_promise_prepare(material->settings, &material->source, error)) ||
        (status = read_data(material, proposal, abroad, error)) ||
        (status = count_folds(material, site, proposal, from->secret, error)) ||
        (status = hold_out(material, from, error)) ||
        (status = begin_formula(material, material->schema != NULL, abroad, error))) {
        fplt__local_data_destroy(material);
        return status;
    }
    *out = material;
    return FPLT_OK;
}

void fplt__local_data_destroy(fplt__local_data *material)
{
    if (!material)
        return;
    fplt_objective_destroy(material->objective);
    fplt_objective_destroy(material->scored);
    fplt_dataset_destroy(material->training);
    fplt_dataset_destroy(material->held_out);
    fplt_schema_destroy(material->schema);
    fplt_settings_destroy(material->settings);
    fplt_settings_destroy(material->terms);
    fplt__dictionary_clear(&material->own);
    fplt__free(material->settled);
    fplt__free(material->prepared);
    fplt__local_formula_clear(&material->formula);
    fplt_noise_destroy(material->noise);
    fplt__free(material->scratch);
    fplt__free(material->norms);
    fplt__free(material->fold);
    fplt__row_set_clear(&material->sets.all);
    fplt__row_set_clear(&material->sets.used);
    fplt__row_set_clear(&material->sets.held);
    fplt__free(material);
}

uint64_t fplt__local_data_records(const fplt__local_data *material)
{
    return material->lent ? fplt_objective_records(material->lent, 0)
                          : fplt_dataset_rows(material->training);
}

uint32_t fplt__local_data_most_folds(const fplt__local_data *material)
{
    return material->most_folds;
}

const uint32_t *fplt__local_data_folds(const fplt__local_data *material)
{
    return material->fold;
}

uint64_t fplt__local_data_held_out(const fplt__local_data *material)
{
    return material->held_out ? fplt_dataset_rows(material->held_out) : 0;
}

uint64_t fplt__local_data_inputs(const fplt__local_data *material)
{
    return material->inputs;
}

const fplt__row_sets *fplt__local_data_row_sets(const fplt__local_data *material)
{
    return &material->sets;
}

fplt__form fplt__local_data_form(const fplt__local_data *material)
{
    if (material->lent)
        return fplt__custom_form_of(fplt_objective_dimension(material->lent));
    return (fplt__form){.task = fplt_dataset_task(material->training),
                        .features = material->formula.columns
                                        ? material->formula.columns
                                        : fplt_dataset_features(material->training),
                        .outputs = fplt_dataset_outputs(material->training),
                        .dense = material->training->dense != NULL};
}

const fplt_dataset *fplt__local_data_rows(const fplt__local_data *material)
{
    return material->training;
}

const char *fplt__local_data_cluster(const fplt__local_data *material)
{
    return fplt__job_read(material->settings).cluster;
}

/* Columns */

fplt_status fplt__local_data_names(const fplt__local_data *material, char **text, fplt_error *error)
{
    *text = NULL;
    return material->schema ? FPLT_OK : fplt__dictionary_text(&material->own, text, error);
}

int fplt__local_data_is_settled(const fplt__local_data *material)
{
    return material->schema || material->settled || material->lent;
}

int fplt__local_data_is_changed(const fplt__local_data *material)
{
    return material->settled || material->prepared || material->formula.numbers ||
           (material->objective && !material->lent);
}

/* Levels that other sites have are missing, too, where a category is. */
static fplt_status spread_missing(fplt__local_data *material, const fplt__dictionary *common,
                                  fplt_error *error)
{
    uint32_t *group;
    fplt_status status =
        fplt__alloc_into(&group, fplt__columns_count(common), sizeof *group, "columns", error);
    if (status)
        return status;
    fplt__columns_groups(common, group);
    status = fplt__dataset_spread_missing(material->training, group, error);
    if (!status && material->held_out)
        status = fplt__dataset_spread_missing(material->held_out, group, error);
    fplt__free(group);
    return status;
}

static fplt_status conform(fplt__local_data *material, const fplt__dictionary *common,
                           fplt_error *error)
{
    fplt__names features = {0, NULL}, classes = {0, NULL};
    fplt_status status = fplt__columns_features(common, &features, error);
    if (!status)
        status = fplt__columns_classes(common, &classes, error);
    if (!status)
        status = fplt__dataset_conform(material->training, &features, &classes, error);
    if (!status && material->held_out)
        status = fplt__dataset_conform(material->held_out, &features, &classes, error);
    if (!status && fplt__preparation_fills(material->terms))
        status = spread_missing(material, common, error);
    fplt__names_clear(&features);
    fplt__names_clear(&classes);
    return status;
}

/* Only a dictionary that settles everything can be read by. */
static fplt_status check_settled(const fplt__dictionary *common, fplt_error *error)
{
    int open = !common->is_whole || common->label.kind == FPLT__DICTIONARY_ANY ||
               fplt__columns_count(common) == 0 || common->label.levels == 1;
    for (size_t j = 0; j < common->columns; j++)
        open |= common->column[j].kind == FPLT__DICTIONARY_ANY ||
                (common->column[j].kind == FPLT__DICTIONARY_CATEGORY && !common->column[j].levels);
    return open ? fplt_error_set(error, FPLT_BAD_DATA,
                                 "the coordinator does not say what the columns of the run are")
                : FPLT_OK;
}

fplt_status fplt__local_data_settle(fplt__local_data *material, const char *text,
                                    char abroad[FPLT__SENTENCE], fplt_error *error)
{
    fplt__dictionary common;
    fplt__columns_match match = {.wanted = &common,
                                 .path = fplt_settings_text(material->settings, "data"),
                                 .whose = "the run",
                                 .told = 1,
                                 .abroad = abroad};
    if (material->settled && strcmp(material->settled, text) == 0)
        return FPLT_OK;
    if (material->schema || material->settled)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the coordinator changes the columns of a run; start the agent again "
                              "for a new one");
    fplt_status status = fplt__columns_read(text, &common, error);
    if (status)
        return status;
    if (!(status = check_settled(&common, error)) &&
        !(status = fplt__columns_check(&match, &material->own, error)) &&
        !(status = conform(material, &common, error)))
        status = begin_formula(material, 1, abroad, error);
    if (!status && !(material->settled = fplt__strdup(text)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the names of columns");
    fplt__dictionary_clear(&common);
    return status;
}

/* Preparation */

fplt_status fplt__local_data_preparation(const fplt__local_data *material, fplt__preparation *made,
                                         fplt_error *error)
{
    fplt__form form = fplt__local_data_form(material);
    return fplt__preparation_make(material->terms, material->settled, &form, made, error);
}

int fplt__local_data_is_prepared(const fplt__local_data *material)
{
    return material->prepared || !fplt__preparation_steps(material->terms);
}

static fplt_status fill_rows(fplt_dataset *rows, const double *fill, size_t fills,
                             fplt_error *error)
{
    fplt_transform filling = {.features = fills, .fill = (double *)fill};
    return rows && fills ? fplt_transform_apply(&filling, rows, error) : FPLT_OK;
}

fplt_status fplt__local_data_prepare(fplt__local_data *material, const fplt__prepared *told,
                                     char abroad[FPLT__SENTENCE], fplt_error *error)
{
    double *kept;
    size_t count = told->fills + told->classes;
    fplt_status status = fplt__alloc_into(&kept, count + 1, sizeof *kept, "fill values", error);
    if (status)
        return status;
    if (told->fills)
        memcpy(kept, told->fill, told->fills * sizeof *kept);
    for (size_t k = 0; k < told->classes; k++)
        kept[told->fills + k] = (double)told->class_rows[k];
    if (material->prepared) {
        int same = count == material->prepared_count;
        for (size_t i = 0; same && i < count; i++)
            same = kept[i] == material->prepared[i];
        fplt__free(kept);
        return same
                   ? FPLT_OK
                   : fplt_error_set(error, FPLT_BAD_DATA,
                                    "the coordinator changes what fills missing values or the rows "
                                    "of classes during a run; start the agent again for a new "
                                    "one");
    }
    material->prepared = kept;
    material->prepared_count = count;
    if (!(status = fill_rows(material->training, told->fill, told->fills, error)) &&
        !(status = fill_rows(material->held_out, told->fill, told->fills, error)) && told->classes)
        status = fplt__dataset_balance_by(material->training, told->class_rows, error);
    return status || !told->fills ? status : begin_formula(material, 1, abroad, error);
}
