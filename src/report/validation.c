#include "report/validation.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"

const fplt_setting fplt__validation_settings[] = {
    {"search", FPLT_CHOICE, 0, "eps", 0, 0, "eps|h-weight", "the setting that is searched", 0, 0},
    {"grid", FPLT_REAL, FPLT_LIST, "0.0001,0.001,0.01,0.1,1", 0, HUGE_VAL, NULL,
     "its values, separated by commas", 0, 0},
    {"folds", FPLT_INTEGER, 0, "5", 2, FPLT__VALIDATION_FOLDS, NULL,
     "parts that each site's rows are dealt into", 0, 0},
    FPLT_SETTINGS_END,
};

fplt_status fplt__validation_grid(const char *text, double value[FPLT__VALIDATION_VALUES],
                                  size_t *count, fplt_error *error)
{
    char item[64];
    *count = 0;
    while (*text) {
        text = fplt__list_next(text, item, sizeof item);
        if (*count == FPLT__VALIDATION_VALUES)
            return fplt_error_set(error, FPLT_BAD_VALUE, "grid has more than %d values",
                                  FPLT__VALIDATION_VALUES);
        if (fplt__parse_real(item, &value[*count]))
            return fplt_error_set(error, FPLT_BAD_VALUE, "grid has '%s', which is no number", item);
        for (size_t v = 0; v < *count; v++)
            if (value[v] == value[*count])
                return fplt_error_set(error, FPLT_BAD_VALUE, "grid has %s twice", item);
        ++*count;
    }
    return *count ? FPLT_OK : fplt_error_set(error, FPLT_BAD_VALUE, "grid has no value");
}

void fplt__validation_mean(const double *of_fold, uint32_t folds, double *mean, double *error)
{
    double square = 0;
    *mean = 0;
    for (uint32_t f = 0; f < folds; f++)
        *mean += of_fold[f] / folds;
    for (uint32_t f = 0; f < folds; f++)
        square += pow(of_fold[f] - *mean, 2);
    if (error)
        *error = sqrt(square / (folds - 1.0) / folds);
}

void fplt__validation_choose(const fplt_validate_point *point, size_t count, size_t *best,
                             size_t *chosen)
{
    *best = 0;
    for (size_t v = 0; v < count; v++)
        if (point[v].loss < point[*best].loss)
            *best = v;
    *chosen = *best;
    for (size_t v = 0; v < count; v++)
        if (point[v].loss <= point[*best].loss + point[*best].error &&
            point[v].value > point[*chosen].value)
            *chosen = v;
}

fplt_status fplt__validation_table(const fplt__validation_view *made, fplt_table **table,
                                   fplt_error *error)
{
    int measures = strcmp(made->measure, "loss") != 0;
    const char *columns[] = {made->search, "loss", "std_error", measures ? made->measure : "remark",
                             "remark"};
    fplt_status status = fplt__table_create(columns, measures ? 5 : 4, table, error);
    for (size_t v = 0; !status && v < made->count; v++) {
        const fplt_validate_point *point = &made->point[v];
        fplt__table_number(*table, point->value, 6);
        fplt__table_number(*table, point->loss, 6);
        fplt__table_number(*table, point->error, 3);
        if (measures)
            fplt__table_number(*table, point->quality, 5);
        fplt__table_text(*table, v == made->chosen && v == made->best ? "least loss, chosen"
                                 : v == made->chosen ? "chosen: within one standard error"
                                 : v == made->best   ? "least loss"
                                                     : NULL);
    }
    return status;
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *fplt__validation_json(const fplt__validation_view *made)
{
    json_t *points = json_array();
    for (size_t v = 0; v < made->count; v++) {
        const fplt_validate_point *point = &made->point[v];
        json_array_append_new(points, json_pack("{s:f, s:o, s:o, s:o, s:b, s:b}", "value",
                                                point->value, "loss", number(point->loss),
                                                "std_error", number(point->error), "quality",
                                                number(point->quality), "least_loss",
                                                v == made->best, "chosen", v == made->chosen));
    }
    return json_pack("{s:s, s:s, s:s, s:I, s:f, s:o}", "search", made->search, "quality",
                     made->measure, "by", made->by, "folds", (json_int_t)made->folds, "chosen",
                     made->point[made->chosen].value, "points", points);
}
