/* Survival curves: reads the rows of CSV files into the life tables of every site and stratum. */
#include "study/survival.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/memory.h"
#include "study/survival_inside.h"
#include "study/times.h"

void fplt_survival_destroy(fplt_survival *survival)
{
    if (!survival)
        return;
    size_t seen = (size_t)survival->site_capacity * survival->stratum_capacity,
           made = (size_t)survival->sites.count * survival->strata.count;
    for (size_t i = 0; i < seen; i++)
        fplt__life_table_clear(&survival->seen[i]);
    for (size_t i = 0; survival->part && i < made; i++)
        fplt__life_table_clear(&survival->part[i]);
    for (size_t i = 0; survival->table && i < made; i++)
        fplt__life_table_clear(&survival->table[i]);
    fplt__free(survival->seen);
    fplt__free(survival->part);
    fplt__free(survival->table);
    fplt__free(survival->place);
    fplt__free(survival->order);
    fplt__free(survival->boundary);
    fplt__free(survival->time);
    fplt__notes_clear(&survival->notes);
    fplt__lookup_clear(&survival->sites);
    fplt__lookup_clear(&survival->strata);
    fplt__free(survival);
}

/* ---- rows ---- */

static fplt_status see_file(void *context, const char *path, const fplt__source *source,
                            fplt_error *error)
{
    fplt_survival *survival = context;
    (void)error;
    survival->source = source;
    survival->path = path;
    return FPLT_OK;
}

/* The column that is named, otherwise that of the schema's type, otherwise `usual`. */
static fplt_status find_column(const fplt_survival *survival, const fplt__lookup *names,
                               const char *given, fplt__type type, const char *usual, uint32_t *at,
                               fplt_error *error)
{
    const fplt_schema *schema = survival->settings.read->schema;
    const fplt__declared *declared = schema ? fplt__schema_column(schema, type) : NULL;
    const char *name = given ? given : declared ? declared->name : usual;
    *at = fplt__lookup_find(names, fplt__span_of(name));
    return *at != FPLT__NOWHERE ? FPLT_OK
                                : fplt_error_set(error, FPLT_BAD_VALUE,
                                                 "%s: %s has no column '%.100s'; name it with --%s",
                                                 usual, survival->source->name, name, usual);
}

void fplt__survival_bound(fplt__time_grid *grid, const fplt__declared *time)
{
    fplt__time_grid open = {NULL, 0, grid->width};
    int event;
    if (grid->width > 0 && time && time->bounded)
        grid->count =
            1 + fplt__time_grid_cell(&open, fplt__time_grid_place(&open, time->high, &event));
}

static fplt_status see_columns(void *context, const fplt__lookup *names, size_t line,
                               fplt_error *error)
{
    fplt_survival *survival = context;
    const fplt_survival_settings *settings = &survival->settings;
    fplt_status status;
    (void)line;
    if ((status = find_column(survival, names, settings->time, FPLT__TIME, "time",
                              &survival->time_at, error)) ||
        (status = find_column(survival, names, settings->event, FPLT__EVENT, "event",
                              &survival->event_at, error)))
        return status;
    survival->event = fplt__study_declared(settings->read->schema,
                                           fplt__lookup_word(names, survival->event_at).text);
    fplt__survival_bound(&survival->grid,
                         fplt__study_declared(settings->read->schema,
                                              fplt__lookup_word(names, survival->time_at).text));
    survival->site_at = fplt__study_site_column(settings->read, names);
    survival->by_at =
        settings->by ? fplt__lookup_find(names, fplt__span_of(settings->by)) : FPLT__NOWHERE;
    if (settings->by && survival->by_at == FPLT__NOWHERE)
        return fplt_error_set(error, FPLT_BAD_VALUE, "by: %s has no column '%.100s'",
                              survival->source->name, settings->by);
    if (settings->by)
        survival->by = fplt__study_declared(settings->read->schema, settings->by);
    return survival->site_at == FPLT__NOWHERE
               ? fplt__lookup_add(&survival->sites, fplt__span_of(survival->path),
                                  &survival->file_site, error)
               : FPLT_OK;
}

/* Makes place for a site and a stratum; life tables move with their groups. */
static fplt_status reserve(fplt_survival *survival, fplt_error *error)
{
    uint32_t sites = survival->site_capacity, strata = survival->stratum_capacity;
    fplt__life_table *grown;
    if (survival->sites.count <= sites && survival->strata.count <= strata)
        return FPLT_OK;
    while (survival->sites.count > sites)
        sites = sites ? 2 * sites : 4;
    while (survival->strata.count > strata)
        strata = strata ? 2 * strata : 4;
    fplt_status status =
        fplt__alloc_into(&grown, (size_t)sites * strata, sizeof *grown, "life tables", error);
    if (status)
        return status;
    for (uint32_t k = 0; k < survival->stratum_capacity; k++)
        for (uint32_t i = 0; i < survival->site_capacity; i++)
            grown[(size_t)k * sites + i] = survival->seen[(size_t)k * survival->site_capacity + i];
    fplt__free(survival->seen);
    survival->seen = grown;
    survival->site_capacity = sites;
    survival->stratum_capacity = strata;
    return FPLT_OK;
}

static fplt_status read_time(const fplt_survival *survival, const fplt__field *field, size_t line,
                             double *time, fplt_error *error)
{
    if (field->foreign || fplt__number_parse(fplt__span_trim(field->span), time) != FPLT__NUMBER ||
        !(*time >= 0))
        return fplt__bad_data(error, survival->source->name, line,
                              "the time is '%s', but it must be a number of at least 0",
                              fplt__show(field->span).text);
    return FPLT_OK;
}

/* Whether the event happened: by the value that was named, by the schema, or 1 and 0. */
static fplt_status read_event(const fplt_survival *survival, const fplt__field *field, size_t line,
                              int *event, fplt_error *error)
{
    const char *happened = survival->settings.happened;
    fplt__span word = {NULL, 0};
    char room[32];
    int known = fplt__study_word(survival->event, field, room, &word) != NULL;
    if (known && happened) {
        *event = fplt__span_is(fplt__span_trim(word), happened) ||
                 fplt__span_is(fplt__span_trim(field->span), happened);
        return FPLT_OK;
    }
    if (known && survival->event && survival->event->levels.names.count == 2) {
        *event = fplt__lookup_find(&survival->event->levels.names, word) == 1;
        return FPLT_OK;
    }
    *event = known && fplt__span_is(word, "1");
    if (known && (*event || fplt__span_is(word, "0")))
        return FPLT_OK;
    return fplt__bad_data(error, survival->source->name, line,
                          "the event is '%s', but it must be 1 (it happened) or 0; --happened "
                          "names another value that means that it happened",
                          fplt__show(field->span).text);
}

/* The stratum of a row, which is left out without one; FPLT__NOWHERE: it has none. */
static fplt_status find_stratum(fplt_survival *survival, const fplt__field *fields,
                                uint32_t *stratum, fplt_error *error)
{
    fplt__span word;
    char room[32];
    *stratum = survival->by_at == FPLT__NOWHERE ? 1 : FPLT__NOWHERE;
    if (survival->by_at == FPLT__NOWHERE ||
        !fplt__study_word(survival->by, &fields[survival->by_at], room, &word))
        return FPLT_OK;
    return fplt__lookup_add(&survival->strata, word, stratum, error);
}

static fplt_status leave_out(fplt_survival *survival, int reason)
{
    survival->left_out[reason].low++;
    survival->left_out[reason].high++;
    return FPLT_OK;
}

static fplt_status see_row(void *context, const fplt__field *fields, size_t line, fplt_error *error)
{
    fplt_survival *survival = context;
    const fplt__field *time_field = &fields[survival->time_at],
                      *event_field = &fields[survival->event_at];
    uint32_t site = survival->file_site, stratum;
    double time;
    int event;
    fplt_status status = fplt__grow(&survival->place, &survival->row_capacity, survival->rows + 1,
                                    sizeof *survival->place, "rows", error);
    if (status)
        return status;
    survival->place[survival->rows++] = 0;
    if (fplt__field_missing(time_field) || fplt__field_missing(event_field))
        return leave_out(survival, fplt__field_missing(time_field) ? FPLT__WITHOUT_TIME
                                                                   : FPLT__WITHOUT_EVENT);
    if ((status = read_time(survival, time_field, line, &time, error)) ||
        (status = read_event(survival, event_field, line, &event, error)) ||
        (status = find_stratum(survival, fields, &stratum, error)))
        return status;
    if (stratum == FPLT__NOWHERE)
        return leave_out(survival, FPLT__WITHOUT_STRATUM);
    if (survival->site_at != FPLT__NOWHERE)
        status = fplt__lookup_add(&survival->sites, fields[survival->site_at].span, &site, error);
    if (status || (status = reserve(survival, error)))
        return status;
    survival->place[survival->rows - 1] = stratum;
    survival->has_events |= event;
    time = fplt__time_grid_place(&survival->grid, time, &event);
    return fplt__life_table_see(&survival->seen[(size_t)stratum * survival->site_capacity + site],
                                time, event, error);
}

/* ---- curves ---- */

static fplt_status settle(fplt_survival *survival, fplt_error *error)
{
    fplt_status status;
    if (survival->sites.count < 2 || survival->strata.count < 2 || !survival->seen)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "there is no row with a time, an event%s: no curve can be estimated",
                              survival->settings.by ? " and a stratum" : "");
    if (survival->settings.happened && !survival->has_events)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "happened: no row has the event '%.100s'; write the value as the "
                              "file has it",
                              survival->settings.happened);
    status = fplt__survival_release(survival, error);
    return status ? status : fplt__survival_conclude(survival, error);
}

/* The rows of `count` files, or of one text where `paths` is NULL. */
struct curves_input {
    const char *const *paths;
    size_t count;
    const char *name, *text;
    size_t size;
};

static fplt_status see_rows(fplt_survival *survival, const struct curves_input *input,
                            fplt_error *error)
{
    const fplt__csv_files visitor = {see_file, see_columns, see_row, survival};
    const fplt_read_settings *read = survival->settings.read;
    return input->paths
               ? fplt__csv_visit_files(input->paths, input->count, read, &visitor, error)
               : fplt__csv_visit_text(input->name, input->text, input->size, read, &visitor, error);
}

fplt_status fplt__survival_begin(const fplt_survival_settings *settings, fplt_survival **out,
                                 fplt_error *error)
{
    fplt_survival *survival;
    uint32_t number;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&survival, 1, sizeof *survival, "curves", error);
    if (status)
        return status;
    survival->settings = *settings;
    if (!(status = fplt__lookup_add(&survival->sites, fplt__span_of(""), &number, error)) &&
        !(status = fplt__lookup_add(&survival->strata, fplt__span_of(""), &number, error)) &&
        !settings->by)
        status = fplt__lookup_add(&survival->strata, fplt__span_of("all"), &number, error);
    if (status)
        fplt_survival_destroy(survival);
    else
        *out = survival;
    return status;
}

static fplt_status estimate_curves(const struct curves_input *input,
                                   const fplt_survival_settings *settings, fplt_survival **out,
                                   fplt_error *error)
{
    fplt_survival *survival;
    fplt_status status = fplt__survival_begin(settings, &survival, error);
    *out = NULL;
    if (status)
        return status;
    if (!(status = fplt__times_grid(settings->grid, &survival->boundary, &survival->grid, error)) &&
        !(status = see_rows(survival, input, error)))
        status = settle(survival, error);
    if (status)
        fplt_survival_destroy(survival);
    else
        *out = survival;
    return status;
}

fplt_status fplt_survival_create(const char *const *paths, size_t count,
                                 const fplt_survival_settings *settings, fplt_survival **survival,
                                 fplt_error *error)
{
    return estimate_curves(&(struct curves_input){.paths = paths, .count = count}, settings,
                           survival, error);
}

fplt_status fplt_survival_create_text(const char *name, const char *text, size_t size,
                                      const fplt_survival_settings *settings,
                                      fplt_survival **survival, fplt_error *error)
{
    return estimate_curves(&(struct curves_input){.name = name, .text = text, .size = size},
                           settings, survival, error);
}

/* ---- access ---- */

size_t fplt__survival_sites(const fplt_survival *survival)
{
    return survival->sites.count;
}

/* Without strata there is one, which is everything. */
size_t fplt__survival_strata(const fplt_survival *survival)
{
    return survival->settings.by ? survival->strata.count : 1;
}

const char *fplt__survival_site(const fplt_survival *survival, size_t site)
{
    return site ? fplt__lookup_word(&survival->sites, (uint32_t)site).text : NULL;
}

const char *fplt__survival_stratum(const fplt_survival *survival, size_t stratum)
{
    return stratum ? fplt__lookup_word(&survival->strata, survival->order[stratum - 1]).text : NULL;
}

const fplt__life_table *fplt__survival_table(const fplt_survival *survival, size_t site,
                                             size_t stratum)
{
    FPLT__ASSERT(site < survival->sites.count && stratum < survival->strata.count);
    return &survival->table[stratum * survival->sites.count + site];
}

const char *fplt_survival_note(const fplt_survival *survival, size_t index)
{
    return fplt__notes_get(&survival->notes, index);
}
