/* What a schema made of values that it does not allow: counted while rows are read, and said at the site. */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "data/declaration.h"

static const double worth_a_warning = 0.05;

fplt_status fplt__clipped_init(fplt__declaration *declared, fplt_error *error)
{
    return fplt__alloc_into(&declared->clipped, declared->schema->columns,
                            sizeof *declared->clipped, "counts of values", error);
}

static fplt__clipped *of_column(const fplt__declaration *declared, const fplt__declared *column)
{
    return declared->clipped ? &declared->clipped[column - declared->schema->column] : NULL;
}

void fplt__clipped_see(const fplt__declaration *declared, const fplt__declared *column,
                       double value)
{
    fplt__clipped *seen = of_column(declared, column);
    if (!seen)
        return;
    seen->low = seen->values ? fmin(seen->low, value) : value;
    seen->high = seen->values ? fmax(seen->high, value) : value;
    seen->values++;
    seen->below += value < column->low;
    seen->above += value > column->high;
}

void fplt__clipped_replace(const fplt__declaration *declared, const fplt__declared *column)
{
    fplt__clipped *seen = of_column(declared, column);
    if (seen)
        seen->replaced++;
}

void fplt__clipped_merge(fplt__declaration *declared, const fplt__clipped *more,
                         size_t neutral_rows)
{
    for (size_t i = 0; declared->clipped && more && i < declared->schema->columns; i++) {
        fplt__clipped *seen = &declared->clipped[i];
        if (more[i].values) {
            seen->low = seen->values ? fmin(seen->low, more[i].low) : more[i].low;
            seen->high = seen->values ? fmax(seen->high, more[i].high) : more[i].high;
        }
        seen->values += more[i].values;
        seen->below += more[i].below;
        seen->above += more[i].above;
        seen->replaced += more[i].replaced;
    }
    declared->neutral_rows += neutral_rows;
}

/* Nearly all on one side speak of another unit; a few of single values. */
static const char *likely_cause(const fplt__clipped *seen)
{
    size_t most = seen->below > seen->above ? seen->below : seen->above;
    return most * 2 > seen->values
               ? "the column is probably in another unit than the bounds of the schema"
               : "the bounds of the schema are probably too narrow, or codes stand for missing "
                 "values (missing-codes)";
}

static void log_column(const fplt__clipped *seen, const fplt__declared *column, const char *path)
{
    size_t clipped = seen->below + seen->above;
    fplt__shown name = fplt__show(fplt__span_of(column->name ? column->name : "features"));
    if (clipped && (double)clipped > worth_a_warning * (double)seen->values)
        fplt__log(
            FPLT_LOG_WARNING,
            "%.300s: column '%s': %zu of %zu values (%.0f %%) are outside of the bounds %g to "
            "%g and were clipped; the values are %g to %g: %s",
            path, name.text, clipped, seen->values, 100 * (double)clipped / (double)seen->values,
            column->low, column->high, seen->low, seen->high, likely_cause(seen));
    else if (clipped)
        fplt__log(FPLT_LOG_INFO,
                  "%.300s: column '%s': %zu of %zu values are outside of the bounds %g to %g and "
                  "were clipped",
                  path, name.text, clipped, seen->values, column->low, column->high);
    if (seen->replaced)
        fplt__log(
            FPLT_LOG_INFO,
            "%.300s: column '%s': %zu missing or undeclared values were replaced as the schema "
            "says",
            path, name.text, seen->replaced);
}

void fplt__clipped_log(const fplt__declaration *declared, const char *path)
{
    for (size_t i = 0; declared->clipped && i < declared->schema->columns; i++)
        log_column(&declared->clipped[i], &declared->schema->column[i], path);
    if (declared->neutral_rows)
        fplt__log(FPLT_LOG_INFO, "%.300s: %zu rows became the neutral row of the schema", path,
                  declared->neutral_rows);
}
