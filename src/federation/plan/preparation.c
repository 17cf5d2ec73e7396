#include "federation/plan/preparation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "data/dataset_access.h"
#include "federation/plan/columns.h"
#include "job/job.h"

static int is_balanced(const fplt_settings *settings)
{
    return fplt__job_setting_is(settings, "class-weight", "balanced");
}

static fplt_transform_settings filling_of(const fplt_settings *settings)
{
    fplt_transform_settings wanted = fplt_transform_defaults();
    fplt__job_filling(settings, &wanted);
    return wanted;
}

int fplt__preparation_fills(const fplt_settings *settings)
{
    return filling_of(settings).fill != NULL;
}

unsigned fplt__preparation_steps(const fplt_settings *settings)
{
    const char *fill = filling_of(settings).fill;
    int mean = fill && strcmp(fill, "mean") == 0, constant = fill && strcmp(fill, "constant") == 0;
    unsigned steps = 0;
    if (mean)
        steps |= 1u << FPLT__FACTS_SPANS;
    if (fill && !mean && !constant)
        steps |= 1u << FPLT__FACTS_CELLS;
    if ((fill && !constant) || is_balanced(settings))
        steps |= 1u << FPLT__FACTS_COUNTS;
    if (fill || is_balanced(settings))
        steps |= 1u << FPLT__FACTS_PREPARED;
    return steps;
}

void fplt__preparation_clear(fplt__preparation *made)
{
    for (size_t j = 0; made->name && j < made->fills; j++)
        fplt__free(made->name[j]);
    fplt__free(made->name);
    fplt__free(made->group);
    fplt__free(made->grid);
    memset(made, 0, sizeof *made);
}

static fplt_status name_feature(const fplt__names *names, size_t feature, char **name,
                                fplt_error *error)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", feature + 1);
    *name = fplt__strdup(feature < names->count ? names->item[feature] : number);
    return *name ? FPLT_OK : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for names");
}

/* Values of a column of numbers are compared on a grid that the proposal declares, never by themselves. */
static fplt_status find_grid(fplt__preparation *made, size_t feature, fplt_error *error)
{
    fplt__bins *grid = &made->grid[feature];
    if (made->group[feature] || made->adds_up || !made->counts)
        return FPLT_OK;
    fplt_status status = fplt__fill_grid(&made->wanted, made->name[feature], grid, error);
    if (!status && !grid->cells)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "train: missing is %s, but column '%.80s' has no bounds; add "
                                "`%.80s=LOW..HIGH` to missing-bounds, or fill with the mean",
                                made->wanted.fill, made->name[feature], made->name[feature]);
    made->cells += grid->cells;
    return status;
}

static fplt_status describe_columns(fplt__preparation *made, const fplt__dictionary *dictionary,
                                    fplt_error *error)
{
    fplt__names names = {0, NULL};
    fplt_status status;
    if ((status = fplt__alloc_into(&made->name, made->fills, sizeof *made->name, "names", error)) ||
        (status =
             fplt__alloc_into(&made->group, made->fills, sizeof *made->group, "columns", error)) ||
        (status =
             fplt__alloc_into(&made->grid, made->fills, sizeof *made->grid, "columns", error)) ||
        (status = fplt__columns_features(dictionary, &names, error)))
        return status;
    fplt__columns_groups(dictionary, made->group);
    for (size_t j = 0; j < made->fills && !status; j++)
        if (!(status = name_feature(&names, j, &made->name[j], error)))
            status = find_grid(made, j, error);
    fplt__names_clear(&names);
    return status;
}

fplt_status fplt__preparation_make(const fplt_settings *settings, const char *dictionary,
                                   const fplt__form *form, fplt__preparation *made,
                                   fplt_error *error)
{
    fplt__dictionary common;
    unsigned steps = fplt__preparation_steps(settings);
    memset(made, 0, sizeof *made);
    made->wanted = filling_of(settings);
    made->adds_up = steps >> FPLT__FACTS_SPANS & 1;
    made->counts = steps >> FPLT__FACTS_COUNTS & 1;
    if (is_balanced(settings)) {
        if (!fplt__task_classifies(form->task))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "train: class-weight is balanced, but the task is %s: there are "
                                  "no classes",
                                  fplt_task_name(form->task));
        made->classes = form->outputs;
    }
    if (!made->wanted.fill || !dictionary)
        return FPLT_OK;
    made->counts = strcmp(made->wanted.fill, "constant") != 0;
    fplt_status status = fplt__columns_read(dictionary, &common, error);
    if (status)
        return status;
    made->fills = fplt__columns_count(&common);
    status = describe_columns(made, &common, error);
    fplt__dictionary_clear(&common);
    return status;
}

uint64_t fplt__preparation_numbers(const fplt__preparation *of)
{
    return (of->fills && of->counts ? 2 * (uint64_t)of->fills : 0) + of->classes;
}

double fplt__preparation_unit(const fplt__preparation *of, size_t feature, double largest)
{
    if (of->group[feature]) /* the sum is the number of rows with this level */
        return 1;
    return of->adds_up ? ldexp(1, fplt__fill_power(largest)) : 0;
}

/* Whether a category begins with this feature. */
static int is_first(const fplt__preparation *of, size_t feature)
{
    return of->group[feature] && (!feature || of->group[feature - 1] != of->group[feature]);
}

fplt_status fplt__preparation_settle(const fplt__preparation *of, const double *counted,
                                     const double *unit, const double *spread, double *fill,
                                     fplt_error *error)
{
    size_t features = of->fills;
    for (size_t j = 0; j < features && !of->counts; j++)
        fill[j] = of->group[j] ? 0 : of->wanted.fill_value;
    for (size_t j = 0; j < features && of->counts; j++)
        fill[j] = counted[j];
    for (size_t j = 0; j < features && of->counts; j++) {
        double present = counted[features + j];
        if (!of->group[j] && !(present > 0))
            return fplt_error_set(error, FPLT_BAD_DATA, FPLT__FILL_NOTHING, of->name[j]);
        if (is_first(of, j))
            fplt__fill_settle_levels(of->group, features, j, present, fill);
        else if (!of->group[j] && of->adds_up)
            fill[j] = fplt__fill_mean(counted[j], present, ilogb(unit[j]));
        else if (of->grid[j].cells)
            fill[j] = fplt__fill_on_grid(&of->wanted, &of->grid[j], spread);
        if (!isfinite(fill[j]))
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "column '%.80s': nothing is known of its values; the sites "
                                  "withhold counts that are too small",
                                  of->name[j]);
        if (spread)
            spread += of->grid[j].cells;
    }
    return FPLT_OK;
}

fplt_status fplt__preparation_check(const fplt__preparation *of, const double *fill, size_t fills,
                                    const uint64_t *class_rows, size_t classes, fplt_error *error)
{
    int wrong = fills != of->fills || classes != of->classes;
    double ones = 0;
    uint64_t rows = 0;
    for (size_t j = 0; j < fills && !wrong; j++) {
        const fplt__bins *grid = &of->grid[j];
        ones = is_first(of, j) ? fill[j] : ones + fill[j];
        wrong = !isfinite(fill[j]) ||
                (of->group[j] && ((fill[j] != 0 && fill[j] != 1) || ones > 1)) ||
                (grid->cells && !(fill[j] >= grid->low && fill[j] <= grid->high)) ||
                (!of->counts && !of->group[j] && fill[j] != of->wanted.fill_value);
    }
    for (size_t k = 0; k < classes && !wrong; k++)
        rows += class_rows[k];
    return wrong || (of->classes && !rows)
               ? fplt_error_set(error, FPLT_BAD_DATA,
                                "the coordinator says how missing values are filled or classes "
                                "balanced, but not as its proposal does")
               : FPLT_OK;
}
