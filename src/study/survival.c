/* Survival curves: reads the rows of CSV files into the life tables of every site and stratum. */
#include "study/survival.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/memory.h"
#include "study/survival_inside.h"
#include "study/times.h"

enum { WITHOUT_TIME, WITHOUT_EVENT, WITHOUT_STRATUM };

void fplt_survival_destroy(fplt_survival *survival)
{
    if (!survival)
        return;
    size_t seen = (size_t)survival->site_capacity * survival->stratum_capacity,
           made = survival->table ? (size_t)survival->sites.count * survival->strata.count : 0;
    for (size_t i = 0; i < seen; i++)
        fplt__life_table_clear(&survival->seen[i]);
    for (size_t i = 0; i < made; i++)
        fplt__life_table_clear(&survival->table[i]);
    fplt__free(survival->seen);
    fplt__free(survival->table);
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

static fplt_status see_row(void *context, const fplt__field *fields, size_t line, fplt_error *error)
{
    fplt_survival *survival = context;
    const fplt__field *time_field = &fields[survival->time_at],
                      *event_field = &fields[survival->event_at];
    uint32_t site = survival->file_site, stratum = 1;
    fplt__span word;
    char room[32];
    double time;
    int event;
    fplt_status status;
    if (fplt__field_missing(time_field) || fplt__field_missing(event_field)) {
        survival->left_out[fplt__field_missing(time_field) ? WITHOUT_TIME : WITHOUT_EVENT]++;
        return FPLT_OK;
    }
    if ((status = read_time(survival, time_field, line, &time, error)) ||
        (status = read_event(survival, event_field, line, &event, error)))
        return status;
    if (survival->by_at != FPLT__NOWHERE &&
        !fplt__study_word(survival->by, &fields[survival->by_at], room, &word)) {
        survival->left_out[WITHOUT_STRATUM]++;
        return FPLT_OK;
    }
    if (survival->by_at != FPLT__NOWHERE)
        status = fplt__lookup_add(&survival->strata, word, &stratum, error);
    if (!status && survival->site_at != FPLT__NOWHERE)
        status = fplt__lookup_add(&survival->sites, fields[survival->site_at].span, &site, error);
    if (status || (status = reserve(survival, error)))
        return status;
    survival->has_events |= event;
    time = fplt__time_grid_place(&survival->grid, time, &event);
    return fplt__life_table_see(&survival->seen[(size_t)stratum * survival->site_capacity + site],
                                time, event, error);
}

/* ---- what is released ---- */

static fplt__life_table *released(const fplt_survival *survival, size_t site, size_t stratum)
{
    return &survival->table[stratum * survival->sites.count + site];
}

static fplt_status note_cut(fplt_survival *survival, uint32_t site, uint32_t stratum,
                            fplt_error *error)
{
    const fplt__life_table *table = released(survival, site, stratum);
    char where[700], what[64] = "is withheld";
    snprintf(where, sizeof where, "site '%.300s'%s%.300s%s", fplt__survival_site(survival, site),
             survival->settings.by ? ", stratum '" : "",
             survival->settings.by ? fplt__survival_stratum(survival, stratum) : "",
             survival->settings.by ? "'" : "");
    if (table->steps)
        snprintf(what, sizeof what, "ends at %.6g", table->step[table->steps - 1].time);
    return fplt__notes_add(&survival->notes, error, "%s: the curve %s, fewer than %zu are at risk",
                           where, what, survival->settings.minimum);
}

/* Moves what was seen into the order in which it is shown, cut by itself, and adds up. */
static fplt_status release(fplt_survival *survival, fplt_error *error)
{
    uint32_t sites = survival->sites.count, strata = survival->strata.count;
    fplt_status status = fplt__alloc_into(&survival->table, (size_t)sites * strata,
                                          sizeof *survival->table, "life tables", error);
    for (uint32_t k = 1; k < strata && !status; k++)
        for (uint32_t i = 1; i < sites && !status; i++) {
            uint32_t from = survival->order[k - 1];
            fplt__life_table *seen = &survival->seen[(size_t)from * survival->site_capacity + i],
                             *own = released(survival, i, k);
            *own = *seen;
            *seen = (fplt__life_table){NULL, 0, 0, 0};
            fplt__life_table_settle(own);
            if (!own->steps)
                continue;
            fplt__life_table_cut(own, survival->settings.minimum);
            if (own->is_cut)
                status = note_cut(survival, i, k, error);
            if (!status)
                status = fplt__life_table_join(released(survival, 0, k), own, error);
            if (!status)
                status = fplt__life_table_join(released(survival, i, 0), own, error);
        }
    for (uint32_t k = 1; k < strata && !status; k++)
        status = fplt__life_table_join(released(survival, 0, 0), released(survival, 0, k), error);
    return status;
}

static fplt_status note_left_out(fplt_survival *survival, fplt_error *error)
{
    static const char *const what[] = {"time", "event", "stratum"};
    fplt_status status = FPLT_OK;
    for (int i = 0; i < 3 && !status; i++)
        if (survival->left_out[i])
            status = fplt__notes_add(&survival->notes, error,
                                     "%zu row%s without a value of the %s %s left out",
                                     survival->left_out[i], survival->left_out[i] == 1 ? "" : "s",
                                     what[i], survival->left_out[i] == 1 ? "is" : "are");
    return status;
}

static double last_time(const fplt_survival *survival)
{
    const fplt__life_table *all = released(survival, 0, 0);
    return all->steps ? all->step[all->steps - 1].time : 0;
}

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
    if ((status = fplt__study_order(&survival->strata, 1, survival->by, &survival->order, error)) ||
        (status = release(survival, error)) ||
        (status = fplt__times_choose(survival->settings.times, last_time(survival), &survival->time,
                                     &survival->times, error)))
        return status;
    return note_left_out(survival, error);
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

static fplt_status estimate_curves(const struct curves_input *input,
                                   const fplt_survival_settings *settings, fplt_survival **out,
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
        (settings->by ||
         !(status = fplt__lookup_add(&survival->strata, fplt__span_of("all"), &number, error))) &&
        !(status = fplt__times_grid(settings->grid, &survival->boundary, &survival->grid, error)) &&
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
    return released(survival, site, stratum);
}

const char *fplt_survival_note(const fplt_survival *survival, size_t index)
{
    return fplt__notes_get(&survival->notes, index);
}
