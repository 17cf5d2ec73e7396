/* Constants of the losses whose rows have norm at most R, none of them computed from the data. A
 * record's gradient is psi(margin) times its row; psi and its slope are bounded by the two columns
 * of the table. Clipping a loss of one margin clips psi, which stays monotone: the gradient in use
 * is still that of a convex function of no larger curvature. Softmax has several margins and loses
 * that. */
#include "fedplt/privacy.h"

#include <math.h>
#include <string.h>

#include "privacy/privacy.h"
#include "privacy/valid.h"

static const struct loss {
    const char *name;
    double gradient;  /* over R; 0: unbounded */
    double curvature; /* over R^2 */
    int scaled_by_delta, one_margin;
    int exponential; /* its curvature is e^bound times the one here */
} losses[] = {
    {"logistic", 1, 0.25, 0, 1, 0},   {"softmax", 1.4142135623730951, 0.5, 0, 0, 0},
    {"huber", 1, 1, 1, 1, 0},         {"least-squares", 0, 1, 0, 1, 0},
    {"squared-hinge", 0, 1, 0, 1, 0}, {"poisson", 0, 1, 0, 1, 1},
    {"custom", 0, 0, 0, 0, 0}, /* a caller's own cost: nothing is known but the clip */
};

enum { LARGEST_PREDICTOR = 700 };

static const struct loss *find(const char *name)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (strcmp(losses[i].name, name) == 0)
            return &losses[i];
    return NULL;
}

static fplt_status valid(const fplt_privacy_loss *loss, const struct loss *row, fplt_error *error)
{
    fplt_status status = fplt__valid_positive("row_norm", loss->row_norm, error);
    if (!status && row->scaled_by_delta)
        status = fplt__valid_positive("huber_delta", loss->huber_delta, error);
    if (!status && row->exponential && !(fabs(loss->predictor_bound) <= LARGEST_PREDICTOR))
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "predictor_bound is %g, but it must be between -%d and %d",
                                loss->predictor_bound, LARGEST_PREDICTOR, LARGEST_PREDICTOR);
    if (!status && loss->clip != 0) /* 0: no clipping */
        status = fplt__valid_positive("clip", loss->clip, error);
    return status;
}

fplt_status fplt__privacy_loss_constants(const fplt_privacy_loss *loss,
                                         fplt_privacy_constants *constants, fplt_error *error)
{
    const struct loss *row = find(loss->name);
    if (!row)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "there are no constants for the loss '%.80s', so that no privacy "
                              "claim can be made with it; it must be one of logistic, softmax, "
                              "huber, least-squares, squared-hinge, poisson, custom",
                              loss->name);
    fplt_status status = valid(loss, row, error);
    if (status)
        return status;
    double norm = loss->intercept ? hypot(loss->row_norm, 1) : loss->row_norm;
    double bound = row->gradient > 0 ? row->gradient * norm : INFINITY;
    if (row->scaled_by_delta)
        bound *= loss->huber_delta;
    if (isinf(bound) && loss->clip == 0)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "the gradient of the loss %s has no bound: one record could change it "
            "without limit; set clip, or take logistic, softmax or huber",
            row->name);
    int clipped = loss->clip > 0 && loss->clip < bound;
    constants->gradient = clipped ? loss->clip : bound;
    constants->sensitivity = 2 * constants->gradient;
    constants->curves = row->curvature > 0;
    constants->curvature = constants->curves ? row->curvature * norm * norm : 1;
    if (row->exponential)
        constants->curvature *= exp(loss->predictor_bound);
    constants->contraction = row->one_margin || !clipped;
    return FPLT_OK;
}
