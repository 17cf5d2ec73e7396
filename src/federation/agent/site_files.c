/* The data files of a site by themselves: how much there is, and a digest of their bytes. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "base/text.h"
#include "data/address.h"
#include "data/schema_access.h"
#include "data/source.h"
#include "federation/agent/local_data.h"
#include "job/job.h"

fplt_status fplt__site_no_data(fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_VALUE, "no data are given: add `data: FILE`");
}

fplt_status fplt__site_data_look(const fplt_settings *site, size_t *rows, size_t *features,
                                 fplt_error *error)
{
    const char *list = fplt_settings_text(site, "data");
    char path[4096];
    const char *paths[] = {path};
    fplt_read_settings read = fplt__job_read(site);
    fplt_schema *schema = NULL;
    fplt_status status = list ? fplt__job_schema(site, &schema, error) : fplt__site_no_data(error);
    *rows = *features = 0;
    read.schema = schema;
    while (!status && *list) {
        fplt_dataset *dataset;
        list = fplt__list_next(list, path, sizeof path);
        if (!(status = fplt_dataset_read(paths, 1, &read, &dataset, error))) {
            *rows += fplt_dataset_rows(dataset);
            *features = fplt_dataset_features(dataset);
            fplt_dataset_destroy(dataset);
        }
    }
    fplt_schema_destroy(schema);
    return status;
}

/* The rows of a database or workbook, in the order in which they are read. */
static fplt_status add_table(const char *address, const fplt_settings *site,
                             crypto_generichash_state *state, fplt_error *error)
{
    const fplt_read_settings read = fplt__job_read(site);
    fplt__source source = FPLT__NO_SOURCE;
    fplt_status status = fplt__source_load(address, &read, &source, error);
    if (!status)
        crypto_generichash_update(state, (const unsigned char *)source.text, source.size);
    fplt__source_release(&source);
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
    fplt_status status = list ? FPLT_OK : fplt__site_no_data(error);
    crypto_generichash_init(&state, NULL, 0, sizeof *digest);
    while (!status && *list) {
        list = fplt__list_next(list, path, sizeof path);
        status = fplt__address_kind(path) ? add_table(path, site, &state, error)
                                          : add_file(path, &state, error);
    }
    crypto_generichash_final(&state, digest->byte, sizeof *digest);
    return status;
}

/* Settings */

fplt_status fplt__site_take_reading(const fplt_settings *site, fplt_settings *settings,
                                    fplt_error *error)
{
    const fplt_setting *row;
    const char *group;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && (row = fplt_settings_row(site, i, &group)); i++)
        if (strcmp(group, "data") == 0 && fplt_settings_given(site, row->name))
            status = fplt_settings_set(settings, row->name, fplt_settings_text(site, row->name),
                                       fplt__settings_origin(site, row->name), error);
    return status;
}

static const fplt__setting_need site_needs[] = {
    {"agents", NULL, "a site is one agent"},
    {"site", "!schema", NULL}, /* whose rows they are is known */
    {NULL, NULL, NULL},
};

fplt_status fplt__site_effective(const fplt_settings *site, fplt_error *error)
{
    fplt_status status = fplt__settings_effective(site, error);
    return status ? status : fplt__settings_effective_alone(site, "agent", site_needs, error);
}

/* A schema that was agreed on says how rows are read: one of the site's own must be the same. */
fplt_status fplt__site_check_schema(const fplt_settings *site, const fplt_schema *schema,
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
    if (!status && strcmp(fplt__schema_digest(own), fplt__schema_digest(schema)) != 0)
        status =
            fplt_error_set(error, FPLT_BAD_DATA,
                           "%s: not the schema of the proposal; leave it out, or agree with the "
                           "coordinator on one",
                           path);
    fplt_schema_destroy(own);
    return status;
}
