/* The columns of a design from the inputs of a row. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/design.h"

static fplt_status no_value(const fplt__measured *made, double x, const char *what,
                            fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_DATA, "column '%.150s' is %.15g, %s", made->column, x,
                          what);
}

static fplt_status fill_basis(const fplt_design *design, const fplt__measured *made,
                              const double *in, double *basis, fplt_error *error)
{
    double x = in[made->input];
    if (made->encoded) {
        memcpy(basis, in + made->input, made->levels * sizeof *basis);
        return FPLT_OK;
    }
    if (made->levels) {
        int found = 0;
        for (size_t k = 0; k < made->levels; k++)
            found |= (int)(basis[k] = x == design->number[made->number + k]);
        return found ? FPLT_OK : no_value(made, x, "a level that the training did not have", error);
    }
    switch (made->kind) {
    case FPLT__POLY: {
        const double *centre = design->number + made->number, *norm = centre + made->degree;
        double before = 0, p = 1;
        for (unsigned k = 0; k < made->degree; k++) {
            double next = (x - centre[k]) * p - (k ? norm[k] / norm[k - 1] * before : 0);
            before = p;
            p = next;
            basis[k] = p / sqrt(norm[k + 1]);
        }
        return FPLT_OK;
    }
    case FPLT__RAW_POLY:
        for (unsigned k = 0; k < made->degree; k++)
            basis[k] = k ? basis[k - 1] * x : x;
        return FPLT_OK;
    case FPLT__POWER:
        basis[0] = x;
        for (unsigned k = 1; k < made->degree; k++)
            basis[0] *= x;
        return FPLT_OK;
    case FPLT__LOG:
        basis[0] = log(x);
        return x > 0 ? FPLT_OK : no_value(made, x, "which has no logarithm", error);
    case FPLT__SQRT:
        basis[0] = sqrt(x);
        return x >= 0 ? FPLT_OK : no_value(made, x, "which has no square root", error);
    default: basis[0] = x; return FPLT_OK;
    }
}

fplt_status fplt__design_expand(const fplt_design *design, const double *in, double *room,
                                double *out, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (!design->text)
        memcpy(out, in, design->columns * sizeof *out);
    for (size_t v = 0; v < design->variables && !status; v++)
        status =
            fill_basis(design, &design->variable[v], in, room + design->variable[v].basis, error);
    for (size_t j = 0; j < design->columns && !status && design->text; j++) {
        double product = 1;
        for (size_t f = design->first[j]; f < design->first[j + 1]; f++)
            product *= room[design->factor[f]];
        out[j] = product;
    }
    return status;
}

/* Missing values of an input are those of the first column that it has a part in. */
static fplt_status move_filled(const fplt_design *design, fplt_dataset *dataset, fplt_error *error)
{
    size_t *filled, width = design->names.count;
    if (!dataset->filled)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&filled, dataset->agents * width, sizeof *filled,
                                          "counts of missing values", error);
    for (size_t j = 0; j < design->columns && !status && !design->text; j++)
        for (uint32_t i = 0; i < dataset->agents; i++)
            filled[i * width + j] = dataset->filled[i * dataset->features + j];
    for (size_t v = 0; v < design->variables && !status; v++) {
        const fplt__measured *made = &design->variable[v];
        size_t f = 0, j = 0;
        while (f < design->first[design->columns] &&
               !(design->factor[f] >= made->basis && design->factor[f] < made->basis + made->width))
            f++;
        while (j < design->columns && design->first[j + 1] <= f)
            j++;
        for (uint32_t i = 0; i < dataset->agents && j < design->columns; i++)
            filled[i * width + j] = dataset->filled[i * dataset->features + made->input];
    }
    if (status)
        return status;
    fplt__free(dataset->filled);
    dataset->filled = filled;
    return FPLT_OK;
}

/* The number of an agent among the sites with effects; 0 also for another one where that is wished. */
static fplt_status find_site(const fplt_design *design, const fplt_dataset *dataset, uint32_t agent,
                             size_t *site, fplt_error *error)
{
    const char *name = agent < dataset->agent_names.count ? dataset->agent_names.item[agent] : NULL;
    for (*site = 0; *site < design->sites.count; ++*site)
        if (name && strcmp(design->sites.item[*site], name) == 0)
            return FPLT_OK;
    *site = 0;
    if (dataset->new_site_is_reference || !design->sites.count)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s%.80s%s: the model has an effect of every site, and none of %s; "
                          "--site-intercept NUMBER states it, --unknown-level reference takes "
                          "that of '%.80s', or train with --site-effects none",
                          name ? "the site '" : "the rows have no site", name ? name : "",
                          name ? "' was not in the training" : "", name ? "this one" : "these",
                          design->sites.item[0]);
}

static fplt_status expand_rows(const fplt_design *design, const double *fill,
                               const fplt_dataset *dataset, double *room, double *dense,
                               fplt_error *error)
{
    double *in = room + design->room;
    size_t width = design->names.count, site = 0;
    uint32_t agent = 0;
    fplt_error inner = {.text = ""};
    for (size_t r = 0; r < dataset->rows; r++) {
        while (r >= dataset->first[agent + 1])
            agent++;
        fplt_status found =
            r == dataset->first[agent] ? find_site(design, dataset, agent, &site, error) : FPLT_OK;
        if (found)
            return found;
        for (size_t j = design->columns; j < width; j++)
            dense[r * width + j] = site && j == design->columns + site - 1;
        memcpy(in, dataset->dense + r * dataset->features, dataset->features * sizeof *in);
        for (size_t j = 0; j < dataset->features && fill; j++)
            in[j] = isnan(in[j]) ? fill[j] : in[j];
        fplt_status status = fplt__design_expand(design, in, room, dense + r * width, &inner);
        if (status)
            return fplt_error_set(error, status, "formula: row %zu, %.600s",
                                  dataset->number ? (size_t)dataset->number[r] : r + 1, inner.text);
    }
    return FPLT_OK;
}

fplt_status fplt__design_apply(const fplt_design *design, const double *fill, fplt_dataset *dataset,
                               fplt_error *error)
{
    double *dense = NULL, *room = NULL;
    fplt__names names = {0, NULL};
    fplt_status status;
    if (dataset->features != design->inputs.count || !dataset->dense)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "formula: it is over %zu dense columns, but the data set has %zu",
                              design->inputs.count, dataset->features);
    if ((status = fplt__alloc_into(&dense, dataset->rows * design->names.count, sizeof *dense,
                                   "rows", error)) ||
        (status =
             fplt__alloc_into(&room, fplt__design_room(design), sizeof *room, "rows", error)) ||
        (status = expand_rows(design, fill, dataset, room, dense, error)) ||
        (status = fplt__names_copy(&design->names, &names, error)) ||
        (status = move_filled(design, dataset, error))) {
        fplt__free(dense);
        fplt__free(room);
        fplt__names_clear(&names);
        return status;
    }
    fplt__free(room);
    if (!dataset->lent_values)
        fplt__free(dataset->dense);
    dataset->dense = dense;
    dataset->lent_values = 0;
    dataset->features = design->names.count;
    fplt__names_clear(&dataset->feature_names);
    dataset->feature_names = names;
    if (!dataset->lent_beside)
        fplt__free(dataset->group);
    dataset->group = NULL;
    return FPLT_OK;
}
