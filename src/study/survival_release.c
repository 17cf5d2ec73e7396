/* What the sites release of their rows, and its sums over sites and strata. */
#include <math.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/memory.h"
#include "study/life_grid.h"
#include "study/survival_inside.h"
#include "study/times.h"

fplt__life_table *fplt__survival_part(const fplt_survival *survival, size_t site, size_t stratum)
{
    FPLT__ASSERT(site && site < survival->sites.count);
    FPLT__ASSERT(stratum && stratum < survival->strata.count);
    return &survival->part[stratum * survival->sites.count + site];
}

static int is_protected(const fplt_survival *survival)
{
    return survival->settings.minimum > 1 && (survival->grid.boundary || survival->grid.width > 0);
}

fplt_status fplt__survival_release(fplt_survival *survival, fplt_error *error)
{
    size_t sites = survival->sites.count, strata = survival->strata.count;
    fplt_status status =
        fplt__study_order(&survival->strata, 1, survival->by, &survival->order, error);
    if (!status)
        status = fplt__alloc_into(&survival->part, sites * strata, sizeof *survival->part,
                                  "life tables", error);
    for (size_t k = 1; k < strata && !status; k++)
        for (size_t i = 1; i < sites && !status; i++) {
            uint32_t from = survival->order[k - 1];
            fplt__life_table *seen = &survival->seen[(size_t)from * survival->site_capacity + i],
                             *own = fplt__survival_part(survival, i, k);
            *own = *seen;
            *seen = (fplt__life_table){NULL, 0, 0, 0};
            fplt__life_table_settle(own);
            if (is_protected(survival))
                status = fplt__life_table_protect(own, &survival->grid, survival->settings.minimum,
                                                  error);
            else if (own->steps)
                fplt__life_table_cut(own, survival->settings.minimum);
        }
    for (int i = 0; i < FPLT__LEFT_OUT; i++)
        if (!fplt__is_told(survival->left_out[i].high, survival->settings.minimum))
            survival->left_out[i] = (fplt__count){1, survival->settings.minimum - 1};
    return status;
}

/* ---- sums ---- */

/* Numbers first .. end - 1. */
struct range {
    size_t first, end;
};

/* One number, or for 0 all of them. */
static struct range range_of(size_t number, size_t count)
{
    return number ? (struct range){number, number + 1} : (struct range){1, count};
}

/* The parts of some sites and strata, in an array that is newly allocated. */
static fplt_status list_parts(const fplt_survival *survival, struct range sites,
                              struct range strata, const fplt__life_table ***list, size_t *count,
                              fplt_error *error)
{
    size_t all = (sites.end - sites.first) * (strata.end - strata.first);
    fplt_status status =
        fplt__alloc_into(list, all, sizeof(fplt__life_table *), "life tables", error);
    *count = 0;
    for (size_t k = strata.first; k < strata.end && !status; k++)
        for (size_t i = sites.first; i < sites.end; i++)
            (*list)[(*count)++] = fplt__survival_part(survival, i, k);
    return status;
}

/* The sum of the parts of some sites and strata. */
static fplt_status pool(const fplt_survival *survival, struct range sites, struct range strata,
                        const fplt__life_common *common, fplt__life_table *sum, fplt_error *error)
{
    const fplt__life_table **list = NULL;
    size_t count;
    fplt_status status = list_parts(survival, sites, strata, &list, &count, error);
    if (!status)
        status = fplt__life_pool(list, count, common, sum, error);
    fplt__free(list);
    return status;
}

/* The steps that parts have in common; to be cleared. */
static fplt_status find_common(const fplt_survival *survival, struct range sites,
                               struct range strata, fplt__life_common *common, fplt_error *error)
{
    const fplt__life_table **list = NULL;
    size_t count;
    *common = (fplt__life_common){{NULL, NULL}, {0, 0}};
    fplt_status status = list_parts(survival, sites, strata, &list, &count, error);
    if (!status)
        status = fplt__life_common_make(list, count, common, error);
    fplt__free(list);
    return status;
}

static fplt_status add_up(fplt_survival *survival, size_t site, size_t stratum, fplt_error *error)
{
    struct range sites = range_of(site, survival->sites.count),
                 strata = range_of(stratum, survival->strata.count);
    fplt__life_table *sum = &survival->table[stratum * survival->sites.count + site];
    double *widest = &survival->resolution[site == 0 && stratum == 0];
    fplt__life_common common;
    fplt_status status = find_common(survival, sites, strata, &common, error);
    if (!status)
        status = pool(survival, sites, strata, &common, sum, error);
    if ((site && stratum) || (!site && !stratum))
        *widest = fmax(*widest, fplt__life_resolution(&common));
    fplt__life_common_clear(&common);
    if (!status && site && stratum)
        sum->is_cut = fplt__survival_part(survival, site, stratum)->is_cut;
    return status;
}

fplt_status fplt__survival_groups(const fplt_survival *survival, size_t site, int of_sites,
                                  fplt__life_table *group, fplt_error *error)
{
    struct range sites = range_of(site, survival->sites.count),
                 strata = range_of(0, survival->strata.count);
    struct range groups = of_sites ? sites : strata;
    fplt__life_common common;
    fplt_status status = find_common(survival, sites, strata, &common, error);
    for (size_t g = groups.first; g < groups.end && !status; g++) {
        struct range own = {g, g + 1};
        status = pool(survival, of_sites ? own : sites, of_sites ? strata : own, &common,
                      &group[g - groups.first], error);
    }
    fplt__life_common_clear(&common);
    return status;
}

/* ---- notes ---- */

/* How a note calls a curve: "site 'north', stratum 'drug'". */
static void name_curve(const fplt_survival *survival, size_t site, size_t stratum, char *name,
                       size_t size)
{
    if (survival->settings.by && stratum)
        snprintf(name, size, "site '%.300s', stratum '%.300s'", fplt__survival_site(survival, site),
                 fplt__survival_stratum(survival, stratum));
    else
        snprintf(name, size, "site '%.300s'", fplt__survival_site(survival, site));
}

static fplt_status note_cut(fplt_survival *survival, size_t site, size_t stratum, fplt_error *error)
{
    const fplt__life_table *table = fplt__survival_part(survival, site, stratum);
    char name[700], what[64] = "is withheld";
    if (!table->is_cut)
        return FPLT_OK;
    name_curve(survival, site, stratum, name, sizeof name);
    if (table->steps)
        snprintf(what, sizeof what, "ends at %.6g", table->step[table->steps - 1].time);
    return fplt__notes_add(&survival->notes, error, "%s: the curve %s, fewer than %zu are %s", name,
                           what, survival->settings.minimum,
                           is_protected(survival) ? "at risk, have the event or leave later"
                                                  : "at risk");
}

static fplt_status note_left_out(fplt_survival *survival, fplt_error *error)
{
    static const char *const what[] = {"time", "event", "stratum"};
    fplt_status status = FPLT_OK;
    for (int i = 0; i < FPLT__LEFT_OUT && !status; i++) {
        fplt__count count = survival->left_out[i];
        char between[32] = "";
        if (count.low < count.high)
            snprintf(between, sizeof between, "%zu to ", count.low);
        if (count.high)
            status = fplt__notes_add(&survival->notes, error,
                                     "%s%zu row%s without a value of the %s %s left out", between,
                                     count.high, count.high == 1 ? "" : "s", what[i],
                                     count.high == 1 ? "is" : "are");
    }
    return status;
}

/* How exactly times are known where cells were merged. */
static fplt_status note_resolution(fplt_survival *survival, fplt_error *error)
{
    const double *widest = survival->resolution;
    return is_protected(survival) && widest[1] > 0
               ? fplt__notes_add(
                     &survival->notes, error,
                     "each step has at least %zu events, or as many who leave: an event "
                     "is up to %.6g before its step at a site, and up to %.6g over all "
                     "sites and strata",
                     survival->settings.minimum, widest[0], widest[1])
               : FPLT_OK;
}

static double last_time(const fplt_survival *survival)
{
    const fplt__life_table *all = fplt__survival_table(survival, 0, 0);
    return all->steps ? all->step[all->steps - 1].time : 0;
}

fplt_status fplt__survival_conclude(fplt_survival *survival, fplt_error *error)
{
    size_t sites = survival->sites.count, strata = survival->strata.count;
    fplt_status status = fplt__alloc_into(&survival->table, sites * strata, sizeof *survival->table,
                                          "life tables", error);
    for (size_t k = 0; k < strata && !status; k++)
        for (size_t i = 0; i < sites && !status; i++)
            status = add_up(survival, i, k, error);
    for (size_t k = 1; k < strata && !status; k++)
        for (size_t i = 1; i < sites && !status; i++)
            status = note_cut(survival, i, k, error);
    if (!status)
        status = note_resolution(survival, error);
    if (!status)
        status = fplt__times_choose(survival->settings.times, last_time(survival), &survival->time,
                                    &survival->times, error);
    return status ? status : note_left_out(survival, error);
}
