/* Microseconds a draw of the discrete Gaussian, and of noise added to a vector. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fedplt/noise.h"
#include "base/noise.h"

enum { COUNT = 1000, REPEATS = 1000 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void)
{
    static int64_t draws[COUNT];
    static double vector[COUNT];
    fplt_error error;
    fplt_noise *noise;
    if (fplt_noise_create(&noise, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    double start = seconds();
    for (int i = 0; i < REPEATS; i++)
        fplt__noise_draw(noise, draws, COUNT);
    double drawn = seconds();
    for (int i = 0; i < REPEATS; i++)
        if (fplt__noise_add(noise, 0.3, 0.05, vector, vector, COUNT, &error)) {
            fprintf(stderr, "%s\n", error.text);
            return EXIT_FAILURE;
        }
    double added = seconds();
    double scale = 1e6 / ((double)COUNT * REPEATS);
    printf("draw %.3f us, add %.3f us\n", (drawn - start) * scale, (added - drawn) * scale);
    fplt_noise_destroy(noise);
    return EXIT_SUCCESS;
}
