/* Seconds of a gradient of the logistic cost over a LIBSVM file as one agent, by one kernel: for
 * bench/sparse.py, which has the peer. usage: sparse FILE [KERNEL] */
#include <stdio.h>

#include "fedplt/data.h"
#include "fedplt/objective.h"
#include "fedplt/read.h"
#include "timing.h"
#include "objective/objective_access.h"

enum { CALLS = 101 };

static void must(fplt_status status, const fplt_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "usage: sparse FILE [KERNEL]\n");
        return 2;
    }
    fplt_error error;
    fplt_dataset *data;
    fplt_objective *objective;
    fplt_read_settings reading = fplt_read_defaults();
    fplt_objective_settings settings = fplt_objective_defaults();
    settings.kernel = count > 2 ? arguments[2] : NULL;
    must(fplt_dataset_read((const char *const *)arguments + 1, 1, &reading, &data, &error), &error);
    must(fplt_objective_create(&settings, data, &objective, &error), &error);
    size_t n = fplt_objective_dimension(objective);
    double times[CALLS], *x = calloc(2 * n + fplt_objective_scratch(objective), sizeof *x);
    if (!x)
        return 1;
    for (size_t j = 0; j < n; j++)
        x[j] = 0.1 * (double)(j % 7) - 0.3;
    for (size_t i = 0; i < CALLS; i++) {
        double start = seconds();
        fplt_objective_gradient(objective, 0, x, x + n, x + 2 * n);
        times[i] = seconds() - start;
    }
    printf("%s %.9f\n", fplt__objective_kernel(objective), median(times, CALLS));
    free(x);
    fplt_objective_destroy(objective);
    fplt_dataset_destroy(data);
    return 0;
}
