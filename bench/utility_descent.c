/* Noisy gradient descent of many repetitions at once, for bench/utility_rule.py, which compiles it. Repetitions are side by side:
 * number r of coordinate j is at [j * WIDTH + r]. */
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { LOGISTIC, HUBER, POISSON, SOFTMAX, WIDTH = 32 };

/* Predictors become slopes of the loss: labels of two classes are -1 and 1. `limit` is huber-delta or predictor-bound. */
static void slope_of(int loss, float label, float limit, float *restrict z)
{
    if (loss == LOGISTIC)
        for (int r = 0; r < WIDTH; r++)
            z[r] = -label / (1 + expf(label * z[r]));
    else if (loss == HUBER)
        for (int r = 0; r < WIDTH; r++) {
            float v = z[r] - label;
            v = v < -limit ? -limit : v;
            z[r] = v > limit ? limit : v;
        }
    else {
        float top = expf(limit);
        for (int r = 0; r < WIDTH; r++) {
            float inside = z[r] < limit ? z[r] : limit;
            z[r] = expf(inside) + top * (z[r] - inside) - label;
        }
    }
}

static void softmax_of(size_t classes, float label, float *restrict z)
{
    float total[WIDTH] = {0};
    for (size_t i = 0; i < classes * WIDTH; i++)
        z[i] = expf(z[i] < 40 ? z[i] : 40);
    for (size_t i = 0; i < classes * WIDTH; i++)
        total[i % WIDTH] += z[i];
    for (size_t i = 0; i < classes * WIDTH; i++)
        z[i] = z[i] / total[i % WIDTH] - ((float)(i / WIDTH) == label);
}

static void clip_slopes(float most, float *restrict z)
{
    for (int r = 0; r < WIDTH; r++) {
        float v = z[r] < -most ? -most : z[r];
        z[r] = v > most ? most : v;
    }
}

/* Adds the gradients of all rows; inlined twice, so that one class has loops of constant length. */
static inline void add_gradients(int loss, size_t count, size_t columns, size_t classes,
                                 const float *restrict rows, const float *restrict labels,
                                 const float *restrict most, float limit,
                                 const float *restrict weights, float *restrict gradient)
{
    size_t wide = classes * WIDTH;
    for (size_t i = 0; i < count; i++) {
        const float *row = rows + i * columns;
        float z[8 * WIDTH];
        memset(z, 0, wide * sizeof *z);
        for (size_t j = 0; j < columns; j++)
            for (size_t r = 0; r < wide; r++)
                z[r] += row[j] * weights[j * wide + r];
        if (loss == SOFTMAX) {
            softmax_of(classes, labels[i], z);
        } else {
            slope_of(loss, labels[i], limit, z);
            clip_slopes(most[i], z);
        }
        for (size_t j = 0; j < columns; j++)
            for (size_t r = 0; r < wide; r++)
                gradient[j * wide + r] += row[j] * z[r];
    }
}

/* `weights` after `rounds` steps along the mean of the rows' gradients; a row's slope is at most `most` of that row. `noise` has
 * rounds x columns x classes x WIDTH draws, scaled; at most 8 classes, 1 but for SOFTMAX. `gradient` is scratch. */
void descend(int loss, size_t count, size_t columns, size_t classes, const float *rows,
             const float *labels, const float *most, float limit, size_t rounds, float step,
             float ridge, const float *noise, float *weights, float *gradient)
{
    size_t size = columns * classes * WIDTH;
    for (size_t k = 0; k < rounds; k++) {
        memset(gradient, 0, size * sizeof *gradient);
        if (classes == 1)
            add_gradients(loss, count, columns, 1, rows, labels, most, limit, weights, gradient);
        else
            add_gradients(SOFTMAX, count, columns, classes, rows, labels, most, limit, weights,
                          gradient);
        for (size_t j = 0; j < size; j++)
            weights[j] -=
                step * (ridge * weights[j] + gradient[j] / (float)count + noise[k * size + j]);
    }
}
