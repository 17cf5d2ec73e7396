/* Which row of which file is to blame. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "data/address.h"
#include "data/dataset_access.h"
#include "job/job.h"

static int is_huge(const fplt_rows *rows, size_t row, int narrow)
{
    size_t first = rows->dense ? row * rows->features : rows->start[row];
    size_t end = rows->dense ? first + rows->features : rows->start[row + 1];
    const double *value = rows->dense ? rows->dense : rows->value;
    double square = 0;
    for (size_t k = first; k < end; k++)
        square += narrow && fabs(value[k]) > (double)FLT_MAX ? HUGE_VAL : value[k] * value[k];
    return !isfinite(square);
}

/* The file that an agent's rows come from: the one there is, or one an agent. */
static int file_of(const fplt_settings *settings, const fplt_dataset *dataset, uint32_t agent,
                   char *file, size_t size)
{
    const char *list = fplt_settings_text(settings, "data");
    uint32_t files = 0;
    for (const char *rest = list; rest && *rest; files++)
        rest = fplt__list_next(rest, file, size);
    if (files > 1 && files != fplt_dataset_agents(dataset))
        return 0;
    for (uint32_t i = 0; files > 1 && i <= agent; i++)
        list = fplt__list_next(list, file, size);
    return files > 0;
}

fplt_status fplt__job_locate_bad_row(const fplt_settings *settings, const fplt_dataset *dataset,
                                     fplt_error *error)
{
    size_t at = 0;
    char file[4096];
    int narrow = strcmp(fplt_settings_text(settings, "precision"), "float32") == 0;
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++) {
        fplt_rows rows = fplt_dataset_shard(dataset, i);
        for (size_t r = 0; r < rows.count; r++, at++) {
            size_t number = fplt__dataset_row_number(dataset, at);
            if (number && !fplt__dataset_is_mapped(dataset) && is_huge(&rows, r, narrow) &&
                file_of(settings, dataset, i, file, sizeof file))
                return fplt_error_set(error, FPLT_BAD_DATA,
                                      "%.300s:%zu: row %zu has a number that is too large %s: give "
                                      "its column in larger units",
                                      file,
                                      number + (fplt_dataset_feature_name(dataset, 0) != NULL &&
                                                !fplt__address_kind(file)),
                                      number, narrow ? "for precision float32" : "to be squared");
        }
    }
    return FPLT_BAD_DATA;
}
