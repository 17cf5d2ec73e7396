/* Householder's reduction to tridiagonal form, and bisection with Sturm counts [Golub and Van Loan,
 * Matrix Computations, sections 8.3 and 8.4]. */
#include "linalg/symmetric.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* How many eigenvalues are below `shift`: negative pivots of T - shift I. */
static size_t count_below(const double *diagonal, const double *beside, size_t order, double shift)
{
    size_t below = 0;
    double pivot = 1;
    for (size_t i = 0; i < order; i++) {
        double coupling = i ? beside[i - 1] * beside[i - 1] : 0;
        pivot = diagonal[i] - shift - coupling / pivot;
        if (fabs(pivot) < DBL_MIN)
            pivot = -DBL_MIN; /* on an eigenvalue of a leading block */
        below += pivot < 0;
    }
    return below;
}

/* Newton's iteration on det(T - x I) from outside of all eigenvalues: comes to the nearest from its own
 * side. As the sum of the pivots' logarithmic derivatives nothing overflows. */
static double approach(const double *diagonal, const double *beside, size_t order, double x)
{
    for (int i = 0; i < 20; i++) {
        double pivot = 1, slope = 0, sum = 0; /* slope: of the pivot, divided by it */
        for (size_t k = 0; k < order; k++) {
            double share = k ? beside[k - 1] * beside[k - 1] / pivot : 0;
            pivot = diagonal[k] - x - share;
            slope = (share * slope - 1) / pivot;
            sum += slope;
        }
        double next = x - 1 / sum;
        if (!isfinite(next) || fabs(next - x) <= 4 * DBL_EPSILON * fabs(x))
            return isfinite(next) ? next : x;
        x = next;
    }
    return x;
}

struct bracket {
    double low, high; /* count_below(low) <= index < count_below(high) */
};

/* A narrow bracket about the first or last eigenvalue, within the one that is given. */
static struct bracket narrowed(const double *diagonal, const double *beside, size_t order,
                               size_t index, struct bracket wide)
{
    double near = approach(diagonal, beside, order, index ? wide.high : wide.low);
    double reach = 4 * DBL_EPSILON * fmax(fabs(wide.low), fabs(wide.high));
    for (int i = 0; i < 6 && reach > 0; i++, reach *= 16) {
        struct bracket tried = {fmax(near - reach, wide.low), fmin(near + reach, wide.high)};
        if (count_below(diagonal, beside, order, tried.low) <= index &&
            count_below(diagonal, beside, order, tried.high) > index)
            return tried;
    }
    return wide;
}

/* Counts grow with the shift in rounded arithmetic too [Demmel, Dhillon and Ren 1995], so the pair of
 * neighbouring numbers between which bisection ends does not depend on where it began. */
double fplt__tridiagonal_eigenvalue(const double *diagonal, const double *beside, size_t order,
                                    size_t index)
{
    struct bracket at = {diagonal[0], diagonal[0]}; /* Gershgorin */
    for (size_t i = 0; i < order; i++) {
        double radius = (i ? fabs(beside[i - 1]) : 0) + (i + 1 < order ? fabs(beside[i]) : 0);
        at.low = fmin(at.low, diagonal[i] - radius);
        at.high = fmax(at.high, diagonal[i] + radius);
    }
    if (order > 1 && (index == 0 || index + 1 == order))
        at = narrowed(diagonal, beside, order, index, at);
    for (int i = 0; i < 200; i++) {
        double middle = at.low + (at.high - at.low) / 2;
        if (!(at.low < middle && middle < at.high))
            break;
        if (count_below(diagonal, beside, order, middle) > index)
            at.high = middle;
        else
            at.low = middle;
    }
    return at.low + (at.high - at.low) / 2;
}

/* p = A v for the lower triangle of the trailing block. */
static void multiply(const fplt__kernel *kernel, const double *a, size_t stride, size_t order,
                     const double *v, double *p)
{
    for (size_t i = 0; i < order; i++) {
        const double *row = a + i * stride;
        p[i] = kernel->dot(row, v, i + 1);
        kernel->axpy(v[i], row, p, i);
    }
}

/* One reflection I - beta v v' that clears column 0 of the block below its second element:
 * A -= v w' + w v', w = p - (beta/2)<p, v> v, p = beta A v. Returns the second element. What is
 * below `negligible` counts as cleared already: 1/<v, v> would overflow. */
static double reflect(const fplt__kernel *kernel, double *block, size_t stride, size_t order,
                      double negligible, double *v, double *w)
{
    size_t rest = order - 1;
    double *trailing = block + stride + 1;
    for (size_t i = 0; i < rest; i++)
        v[i] = block[(i + 1) * stride];
    double length = kernel->norm(v, rest);
    double tail = rest > 1 ? kernel->norm(v + 1, rest - 1) : 0;
    if (!(tail > negligible))
        return v[0];
    double head = v[0] > 0 ? -length : length;
    v[0] -= head;
    double beta = 2 / kernel->dot(v, v, rest);
    multiply(kernel, trailing, stride, rest, v, w);
    double half = beta * beta / 2 * kernel->dot(w, v, rest);
    for (size_t i = 0; i < rest; i++)
        w[i] = beta * w[i] - half * v[i];
    for (size_t i = 0; i < rest; i++) {
        kernel->axpy(-v[i], w, trailing + i * stride, i + 1);
        kernel->axpy(-w[i], v, trailing + i * stride, i + 1);
    }
    return head;
}

void fplt__symmetric_extremes(const fplt__kernel *kernel, double *matrix, size_t order,
                              double *work, double *smallest, double *largest)
{
    double *diagonal = work, *beside = work + order, *v = work + 2 * order, *w = work + 3 * order;
    double size = 0;
    for (size_t i = 0; i < order; i++)
        for (size_t j = 0; j <= i; j++)
            size = fmax(size, fabs(matrix[i * order + j]));
    for (size_t k = 0; k < order; k++) {
        double *block = matrix + k * order + k;
        if (k + 1 < order)
            beside[k] = reflect(kernel, block, order, order - k, 1e-20 * size, v, w);
        diagonal[k] = block[0];
    }
    if (smallest)
        *smallest = fplt__tridiagonal_eigenvalue(diagonal, beside, order, 0);
    if (largest)
        *largest = fplt__tridiagonal_eigenvalue(diagonal, beside, order, order - 1);
}
