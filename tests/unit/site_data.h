/* The data of a site as its agent reads them: a file that the test writes, settings of site.yaml and a proposal. */
#ifndef FPLT_TESTS_SITE_DATA_H
#define FPLT_TESTS_SITE_DATA_H

#include "testing.h"

#include "base/buffer.h"
#include "federation/agent/local_data.h"
#include "federation/agent/site_memory.h"
#include "fedplt/federation.h"
#include "fedplt/memory.h"

struct site_data {
    char folder[300];
    fplt_settings *site;
    fplt__proposal proposal;
    fplt__local_data *rows; /* NULL: not read yet */
};

/* A folder and a site that agrees to runs without privacy; `words` are further settings of site.yaml, up to a NULL. */
static inline void site_data_found(struct site_data *data, const char *const (*words)[2])
{
    static char roster[3][FPLT__NAME] = {"basel", "bern", "geneva"};
    const char *place = getenv("TMPDIR");
    fplt_error error;
    memset(data, 0, sizeof *data);
    snprintf(data->folder, sizeof data->folder, "%s/fedplt-site-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(data->folder));
    data->proposal =
        (fplt__proposal){.federation = "heart", .run = 1, .members = 3, .roster = roster};
    assert_ok(fplt_settings_create(&data->site, &error), error);
    assert_ok(fplt_federation_site_declare(data->site, &error), error);
    assert_ok(fplt_settings_set(data->site, "policy.federations", "heart", "test", &error), error);
    assert_ok(fplt_settings_set(data->site, "policy.epsilon", "off", "test", &error), error);
    for (; words && (*words)[0]; words++)
        assert_ok(fplt_settings_set(data->site, (*words)[0], (*words)[1], "test", &error), error);
}

/* Reads a file of this name with this text; rows are hashed under the secret (NULL: not). */
static inline fplt_status site_data_try(struct site_data *data, const char *name, const char *text,
                                        const uint8_t *secret, fplt_error *error)
{
    char path[400], abroad[FPLT__SENTENCE];
    fplt__local_source from = {0, secret};
    snprintf(path, sizeof path, "%s/%s", data->folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        fail_msg("%s cannot be written", path);
    assert_ok(fplt_settings_set(data->site, "data", path, "test", error), *error);
    fplt__local_data_destroy(data->rows);
    data->rows = NULL;
    return fplt__local_data_create(data->site, &data->proposal, &from, &data->rows, abroad, error);
}

static inline void site_data_read(struct site_data *data, const char *name, const char *text,
                                  const uint8_t *secret)
{
    fplt_error error;
    assert_ok(site_data_try(data, name, text, secret, &error), error);
}

/* The columns of the run are those of the file. */
static inline void site_data_settle(struct site_data *data)
{
    char *names, abroad[FPLT__SENTENCE];
    fplt_error error;
    assert_ok(fplt__local_data_names(data->rows, &names, &error), error);
    if (names)
        assert_ok(fplt__local_data_settle(data->rows, names, abroad, &error), error);
    fplt_free(names);
}

static inline void site_data_clear(struct site_data *data)
{
    char command[400];
    fplt__local_data_destroy(data->rows);
    fplt_settings_destroy(data->site);
    snprintf(command, sizeof command, "rm -r '%s'", data->folder);
    assert_int_equal(system(command), 0);
}

#endif
