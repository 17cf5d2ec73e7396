/* An agent's data: read as its own settings and the proposal say, measured, transformed, made a cost. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/settings.h"
#include "data/dataset.h"
#include "data/schema.h"
#include "engine/member.h"
#include "fedplt/noise.h"
#include "job/job.h"
#include "federation/plan/columns.h"
#include "federation/agent/local_data.h"
#include "promise/promise.h"

struct fplt__local_data {
    fplt_settings *settings;
    fplt_schema *schema;    /* of the proposal, or NULL */
    fplt_job_source source; /* what a promise sets */
    fplt_dataset *training, *held_out;
    fplt__dictionary own; /* what the file has; nothing where a schema of the proposal says it */
    char *
        settled; /* owned: the common dictionary that the rows have; NULL: not yet, or by the schema */
    fplt_objective *objective;
    fplt_noise *noise;
    fplt_noise_source source_of_noise;
    fplt_objective *scored; /* of the held-out rows; made when they are asked for */
    double *scratch;        /* for them */
};

static const fplt_setting_need site_needs[] = {
    {"agents", NULL, "a site is one agent"},
    {"site", "!schema", NULL}, /* whose rows they are is known */
    {NULL, NULL, NULL},
};

fplt_status fplt__site_effective(const fplt_settings *site, fplt_error *error)
{
    fplt_status status = fplt_settings_effective(site, error);
    return status ? status : fplt_settings_effective_alone(site, "agent", site_needs, error);
}

/* What the site says about its files goes beside what the proposal says about everything else. */
static fplt_status take_reading(const fplt_settings *site, fplt_settings *settings,
                                fplt_error *error)
{
    const fplt_setting *row;
    const char *group;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && (row = fplt_settings_row(site, i, &group)); i++)
        if (strcmp(group, "data") == 0 && fplt_settings_given(site, row->name))
            status = fplt_settings_set(settings, row->name, fplt_settings_text(site, row->name),
                                       fplt_settings_origin(site, row->name), error);
    return status;
}

static fplt_status hold_out(fplt__local_data *material, uint32_t identity, fplt_error *error)
{
    double share = fplt_settings_real(material->settings, "holdout");
    uint64_t seed = (uint64_t)fplt_settings_integer(material->settings, "seed");
    fplt_dataset *kept;
    if (!(share > 0))
        return FPLT_OK;
    fplt_status status = fplt_dataset_split_from(material->training, identity, share, seed, &kept,
                                                 &material->held_out, error);
    if (status)
        return status;
    fplt_dataset_destroy(material->training);
    material->training = kept;
    return FPLT_OK;
}

/* A schema that was agreed on says how rows are read: one of the site's own must be the same. */
static fplt_status check_schema(const fplt_settings *site, const fplt_schema *schema,
                                fplt_error *error)
{
    const char *path = fplt_settings_text(site, "schema");
    fplt_schema *own = NULL;
    fplt_status status = !schema ? FPLT_OK
                                 : fplt__settings_effective_beside(site, site_needs, "schema",
                                                                   "the proposal's schema", error);
    if (status || !path || !schema)
        return status;
    status = fplt_schema_read(path, &own, error);
    if (!status && strcmp(fplt_schema_digest(own), fplt_schema_digest(schema)) != 0)
        status =
            fplt_error_set(error, FPLT_BAD_DATA,
                           "%s: not the schema of the proposal; leave it out, or agree with the "
                           "coordinator on one",
                           path);
    fplt_schema_destroy(own);
    return status;
}

/* By the proposal's schema, or as the site says with what the proposal declares. */
static fplt_status read_rows(fplt__local_data *material, const fplt__proposal *proposal,
                             char *abroad, fplt_error *error)
{
    fplt_read_settings read = fplt_job_read(material->settings);
    fplt__dictionary declared;
    read.schema = material->schema;
    read.site = "none"; /* whose rows they are is known */
    if (material->schema)
        return fplt_job_dataset(material->settings, 0, NULL, 0, &read, &material->training, error);
    fplt_status status = fplt__columns_read(proposal->dictionary, &declared, error);
    if (!status)
        status = fplt__columns_read_rows(material->settings, &declared, &material->training,
                                         &material->own, abroad, error);
    fplt__dictionary_clear(&declared);
    return status;
}

static fplt_status read_data(fplt__local_data *material, const fplt__proposal *proposal,
                             char *abroad, fplt_error *error)
{
    fplt_read_settings read = fplt_job_read(material->settings);
    const char *data = fplt_settings_text(material->settings, "data");
    if (!data)
        return fplt_error_set(error, FPLT_BAD_VALUE, "no data are given: add `data: FILE`");
    if (read.keep_missing)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "%s: missing is %s, but what to fill in would have to be found over all "
            "sites; fill it in at the site, or declare a constant in the schema",
            fplt_settings_origin(material->settings, "missing"),
            fplt_settings_text(material->settings, "missing"));
    fplt_status status = read_rows(material, proposal, abroad, error);
    if (!status)
        status = fplt__job_labelled(material->settings,
                                    fplt__job_cost(material->settings, &material->source,
                                                   fplt_dataset_task(material->training))
                                        .loss,
                                    error);
    if (!status && fplt_dataset_agents(material->training) != 1)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s has the rows of %u sites, but an agent has one; say "
                                "`site: none` if they are all its own",
                                data, fplt_dataset_agents(material->training));
    return status;
}

fplt_status fplt__local_data_create(const fplt_settings *site, const fplt__proposal *proposal,
                                    uint32_t identity, fplt__local_data **out,
                                    char abroad[FPLT__SENTENCE], fplt_error *error)
{
    *out = NULL;
    *abroad = 0;
    fplt__local_data *material;
    fplt_status status = fplt__alloc_into(&material, 1, sizeof *material, "the data", error);
    if (status)
        return status;
    if ((status = fplt__plan_resolution_settings(proposal, 1, &material->settings, error)) ||
        (status = take_reading(site, material->settings, error)) ||
        (status = fplt__plan_resolution_schema(proposal, &material->schema, error)) ||
        (status = check_schema(site, material->schema, error))) {
        fplt__local_data_destroy(material);
        return status;
    }
    material->source.schema = material->schema;
    if ((status = fplt_promise_prepare(material->settings, &material->source, error)) ||
        (status = read_data(material, proposal, abroad, error)) ||
        (status = hold_out(material, identity, error))) {
        fplt__local_data_destroy(material);
        return status;
    }
    *out = material;
    return FPLT_OK;
}

/* The files by themselves */

static fplt_status no_data(fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_VALUE, "no data are given: add `data: FILE`");
}

fplt_status fplt__site_data_look(const fplt_settings *site, size_t *rows, size_t *features,
                                 fplt_error *error)
{
    const char *list = fplt_settings_text(site, "data");
    char path[4096];
    const char *paths[] = {path};
    fplt_read_settings read = fplt_job_read(site);
    fplt_schema *schema = NULL;
    fplt_status status = list ? fplt_job_schema(site, &schema, error) : no_data(error);
    *rows = *features = 0;
    read.schema = schema;
    while (!status && *list) {
        fplt_dataset *dataset;
        list = fplt_list_next(list, path, sizeof path);
        if (!(status = fplt_dataset_read(paths, 1, &read, &dataset, error))) {
            *rows += fplt_dataset_rows(dataset);
            *features = fplt_dataset_features(dataset);
            fplt_dataset_destroy(dataset);
        }
    }
    fplt_schema_destroy(schema);
    return status;
}

static fplt_status add_file(const char *path, crypto_generichash_state *state, fplt_error *error)
{
    unsigned char bytes[65536];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file)
        return fplt_error_set(error, FPLT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0)
        crypto_generichash_update(state, bytes, got);
    int failed = ferror(file);
    fclose(file);
    return failed ? fplt_error_set(error, FPLT_IO, "%s: cannot be read", path) : FPLT_OK;
}

fplt_status fplt__site_data_digest(const fplt_settings *site, fplt__digest *digest,
                                   fplt_error *error)
{
    const char *list = fplt_settings_text(site, "data");
    char path[4096];
    crypto_generichash_state state;
    fplt_status status = list ? FPLT_OK : no_data(error);
    crypto_generichash_init(&state, NULL, 0, sizeof *digest);
    while (!status && *list) {
        list = fplt_list_next(list, path, sizeof path);
        status = add_file(path, &state, error);
    }
    crypto_generichash_final(&state, digest->byte, sizeof *digest);
    return status;
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
    fplt__dictionary_clear(&material->own);
    fplt__free(material->settled);
    fplt_noise_destroy(material->noise);
    fplt__free(material->scratch);
    fplt__free(material);
}

uint64_t fplt__local_data_records(const fplt__local_data *material)
{
    return fplt_dataset_rows(material->training);
}

fplt__form fplt__local_data_form(const fplt__local_data *material)
{
    return (fplt__form){.task = fplt_dataset_task(material->training),
                        .features = fplt_dataset_features(material->training),
                        .outputs = fplt_dataset_outputs(material->training),
                        .dense = material->training->dense != NULL};
}

size_t fplt__local_data_dimension(const fplt__local_data *material)
{
    return material->objective ? fplt_objective_dimension(material->objective) : 0;
}

const fplt_dataset *fplt__local_data_rows(const fplt__local_data *material)
{
    return material->training;
}

/* Columns */

fplt_status fplt__local_data_names(const fplt__local_data *material, char **text, fplt_error *error)
{
    *text = NULL;
    return material->schema ? FPLT_OK : fplt__dictionary_text(&material->own, text, error);
}

int fplt__local_data_is_settled(const fplt__local_data *material)
{
    return material->schema || material->settled;
}

int fplt__local_data_is_changed(const fplt__local_data *material)
{
    return material->settled || material->objective;
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
        !(status = fplt__columns_check(&match, &material->own, error)))
        status = conform(material, &common, error);
    if (!status && !(material->settled = fplt__strdup(text)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the names of columns");
    fplt__dictionary_clear(&common);
    return status;
}

/* The cost */

static fplt_status transform(fplt__local_data *material, const fplt__agreement *agreement,
                             fplt_error *error)
{
    fplt_transform made;
    fplt_status status = fplt__plan_resolution_transform(material->settings, &material->source,
                                                         fplt_dataset_features(material->training),
                                                         agreement, &made, error);
    if (!status)
        status = fplt_transform_apply(&made, material->training, error);
    if (!status && material->held_out)
        status = fplt_transform_apply(&made, material->held_out, error);
    fplt_transform_clear(&made);
    return status;
}

fplt_status fplt__local_data_shape(fplt__local_data *material, const fplt__agreement *agreement,
                                   uint32_t all_agents, uint64_t all_records, fplt_error *error)
{
    if (material->objective)
        return FPLT_OK;
    fplt_status status = transform(material, agreement, error);
    if (status)
        return status;
    fplt_objective_settings cost = fplt__job_cost(material->settings, &material->source,
                                                  fplt_dataset_task(material->training));
    cost.all_agents = all_agents;
    cost.all_weight = (double)all_records;
    return fplt_objective_create(&cost, material->training, &material->objective, error);
}

fplt_status fplt__local_data_curvature_bounds(fplt__local_data *material,
                                              fplt_curvature_bounds *bend, fplt_error *error)
{
    FPLT__ASSERT(material->objective);
    *bend = (fplt_curvature_bounds){{0, 0}, 0};
    return fplt_curvature_bounds_find(material->objective, 0, NULL, bend, error);
}

/* The node */

/* What the plan settles and the settings leave open. */
static fplt_status take_resolved(fplt__local_data *material, const fplt__agreement *agreement,
                                 fplt_error *error)
{
    static const char *const names[] = {"epochs", "gamma"};
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < sizeof names / sizeof *names; i++) {
        const char *value = fplt__pair_find(agreement->resolved, agreement->resolves, names[i]);
        if (value)
            status = fplt_settings_set(material->settings, names[i], value, "the plan", error);
    }
    return status;
}

/* Noise from the system; where it is simulated, from the seed. */
static fplt_status make_noise(fplt__local_data *material, fplt_error *error)
{
    if (material->noise ||
        strcmp(fplt_settings_text(material->settings, "privacy.noise"), "secure"))
        return FPLT_OK;
    fplt_status status = fplt_noise_create(&material->noise, error);
    if (!status)
        material->source_of_noise = fplt_promise_noise(material->noise);
    return status;
}

/* With a promise everything comes from public bounds, without one from the rows. */
static fplt_status set_privacy(fplt__local_data *material, const fplt__agreement *agreement,
                               fplt_node_settings *settings, fplt_error *error)
{
    fplt_curvature_bounds bend;
    fplt_status status;
    if (!agreement->private) {
        status = fplt__local_data_curvature_bounds(material, &bend, error);
        settings->curvature = bend.everywhere;
        return status;
    }
    FPLT__ASSERT(settings->member_index < agreement->proposal.members && agreement->tau);
    settings->curvature = agreement->curvature;
    settings->training.noise_tau = agreement->tau[settings->member_index];
    status = make_noise(material, error);
    settings->noise = material->noise ? &material->source_of_noise : NULL;
    return status;
}

fplt_status fplt__local_data_node(fplt__local_data *material, const fplt__agreement *agreement,
                                  uint32_t identity, const double *start, fplt_node **node,
                                  fplt_error *error)
{
    FPLT__ASSERT(material->objective && identity < agreement->proposal.members);
    fplt_participation *participation;
    fplt_node_settings settings = {.objective = material->objective,
                                   .member_index = identity,
                                   .start = start,
                                   .second = start,
                                   .cap = agreement->cap};
    fplt_status status;
    if ((status = take_resolved(material, agreement, error)) ||
        (status = fplt__job_training(material->settings, &material->source, &settings.training,
                                     error)) ||
        (status = set_privacy(material, agreement, &settings, error)) ||
        (status = fplt_job_participation(material->settings, agreement->proposal.members,
                                         &participation, error)))
        return status;
    settings.cohort = fplt_expected_cohort(participation);
    fplt_participation_destroy(participation);
    return fplt_node_create(&agreement->plan, &settings, node, error);
}

/* Held-out rows */

/* Their losses without the regulariser, every row once. */
static fplt_status make_scores(fplt__local_data *material, fplt_error *error)
{
    fplt_objective_settings cost = fplt__job_cost(material->settings, &material->source,
                                                  fplt_dataset_task(material->held_out));
    cost.regulariser = "none";
    cost.weight = 0;
    cost.weigh_rows = 0;
    fplt_status status = fplt_objective_create(&cost, material->held_out, &material->scored, error);
    if (status)
        return status;
    size_t n = fplt_objective_dimension(material->scored);
    return fplt__alloc_into(&material->scratch,
                            n + FPLT_MEASURES + fplt_objective_scratch(material->scored),
                            sizeof *material->scratch, "held-out rows", error);
}

fplt_status fplt__local_data_score(fplt__local_data *material, const double *x,
                                   double out[FPLT_MEASURES])
{
    fplt_error error;
    if (!material->held_out)
        return FPLT_UNSUPPORTED;
    if (!material->scratch && make_scores(material, &error))
        return error.status;
    size_t n = fplt_objective_dimension(material->scored);
    fplt_status status = fplt__member_measure(material->scored, 0, x, material->scratch,
                                              material->scratch + n + FPLT_MEASURES);
    FPLT__ASSERT(!material->objective || n == fplt__local_data_dimension(material));
    memcpy(out, material->scratch + n, FPLT_MEASURES * sizeof *out);
    out[0] *= (double)fplt_dataset_rows(material->held_out);
    return status;
}
