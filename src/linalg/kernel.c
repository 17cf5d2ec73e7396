/* Choice of the kernel: once, when an objective is created. */
#include "linalg/kernel.h"

#include <string.h>

static const fplt__kernel *const kernels[] = {
#if defined(__x86_64__)
    &fplt__kernel_avx512,
    &fplt__kernel_avx2,
#endif
    &fplt__kernel_reference,
};

enum { KERNELS = sizeof kernels / sizeof *kernels };

const fplt__kernel *fplt__kernel_get(size_t index)
{
    return index < KERNELS ? kernels[index] : NULL;
}

/* Measured by bench/shapes on an Intel Xeon and on an AMD EPYC of the fourth generation (times of AVX-512 over AVX2):
 * - Minibatches of rows that AVX-512 keeps in panels of eight: collecting eight rows for one vector costs more than
 *   the wider arithmetic gains (0.9 to 1.5 times AVX2 up to 16 columns, 1.3 to 3.4 from 17 to 24). Floats up to 16
 *   columns are the exception on AMD (0.8 to 1.0).
 * - Many agents of few rows: a panel of eight is mostly padding (1.1 to 1.4 times at 10 rows), and AVX2 trains four
 *   such agents at once (`batched`). With few agents the choice hardly matters for time, and one agent in a process
 *   of its own must choose as it does among others.
 * - Long rows on AMD, which executes vectors of 512 bits in two halves: floats 1.1 to 1.25, doubles 1.05 to 1.2 out of
 *   the cache and 0.9 to 1.0 in it, Hessians 1.0 to 1.25. */
int fplt__kernel_avx512_is_slower(const fplt__kernel_shape *shape, int is_amd)
{
    enum { PANEL_COLUMNS = 24, NARROW_BATCH_COLUMNS = 16, SMALL_ROWS = 32, MANY_AGENTS = 1000 };
    if (shape->sparse || !shape->columns)
        return 0;
    if (shape->columns > PANEL_COLUMNS)
        return is_amd;
    if (shape->batch)
        return !(is_amd && shape->narrow && shape->columns <= NARROW_BATCH_COLUMNS);
    return shape->rows < SMALL_ROWS && shape->agents >= MANY_AGENTS;
}

const fplt__kernel *fplt__kernel_for(const fplt__kernel_shape *shape, size_t first)
{
    (void)shape; /* where there is one kernel */
    for (size_t i = first; i + 1 < KERNELS; i++) {
        if (!kernels[i]->available())
            continue;
#if defined(__x86_64__)
        if (kernels[i] == &fplt__kernel_avx512 && fplt__kernel_avx2.available() &&
            fplt__kernel_avx512_is_slower(shape, __builtin_cpu_is("amd")))
            continue;
#endif
        return kernels[i];
    }
    return kernels[KERNELS - 1];
}

fplt_status fplt__kernel_choose(const char *name, const fplt__kernel_shape *shape,
                                const fplt__kernel **kernel, fplt_error *error)
{
    if (!name) {
        *kernel = fplt__kernel_for(shape, 0);
        return FPLT_OK;
    }
    for (size_t i = 0; i < KERNELS; i++) {
        int available = kernels[i]->available();
        if (strcmp(name, kernels[i]->name) != 0)
            continue;
        if (!available)
            return fplt_error_set(error, FPLT_UNSUPPORTED,
                                  "kernel: this machine lacks %s; leave the choice open, or take "
                                  "'reference'",
                                  kernels[i]->help);
        *kernel = kernels[i];
        return FPLT_OK;
    }
    char known[200] = "";
    for (size_t i = 0; i < KERNELS; i++) {
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, kernels[i]->name, sizeof known - strlen(known) - 1);
    }
    return fplt_error_set(error, FPLT_BAD_VALUE, "kernel: there is no '%.80s'; there are %s", name,
                          known);
}
