/* Choice of the kernel: once, when an objective is made. */
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

fplt_status fplt__kernel_choose(const char *name, const fplt__kernel **kernel, fplt_error *error)
{
    for (size_t i = 0; i < KERNELS; i++) {
        int available = kernels[i]->available();
        if (!name && !available)
            continue;
        if (name && strcmp(name, kernels[i]->name) != 0)
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
