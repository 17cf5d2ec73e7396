/* Rows that are left out because a value is missing: counted by site, and remembered by number. */
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "data/left_out.h"

void fplt__left_out_clear(fplt__left_out *left_out)
{
    fplt__free(left_out->row);
    fplt__free(left_out->of_site);
    fplt__lookup_clear(&left_out->sites);
    *left_out = (fplt__left_out){0};
}

static fplt_status count_site(fplt__left_out *left_out, fplt__span site, fplt_error *error)
{
    uint32_t number, before = left_out->sites.count;
    fplt_status status = fplt__lookup_add(&left_out->sites, site, &number, error);
    if (!status)
        status = fplt__grow(&left_out->of_site, &left_out->site_capacity, (size_t)number + 1,
                            sizeof *left_out->of_site, "sites", error);
    if (!status)
        left_out->of_site[number] = number < before ? left_out->of_site[number] + 1 : 1;
    return status;
}

fplt_status fplt__left_out_add(fplt__left_out *left_out, size_t rows, fplt__span site,
                               fplt_error *error)
{
    fplt_status status = fplt__grow(&left_out->row, &left_out->row_capacity, left_out->count + 1,
                                    sizeof *left_out->row, "rows", error);
    if (!status && site.length)
        status = count_site(left_out, site, error);
    if (!status) {
        left_out->row[left_out->count] = rows + left_out->count;
        left_out->count++;
    }
    return status;
}

void fplt__left_out_log(const fplt__left_out *left_out, const char *path)
{
    char sites[400] = "";
    size_t used = 0;
    uint32_t i = 0;
    for (; i < left_out->sites.count && used + 120 < sizeof sites; i++)
        used += (size_t)snprintf(sites + used, sizeof sites - used, "%s%zu of %s", i ? ", " : ": ",
                                 left_out->of_site[i],
                                 fplt__show(fplt__lookup_word(&left_out->sites, i)).text);
    if (left_out->count)
        fplt__log(FPLT_LOG_WARNING, "%s: %zu row%s with missing values %s left out%s%s", path,
                  left_out->count, left_out->count == 1 ? "" : "s",
                  left_out->count == 1 ? "was" : "were", sites,
                  i < left_out->sites.count ? ", ..." : "");
}
