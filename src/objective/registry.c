/* Losses and regularisers by name. */
#include "objective/loss.h"

#include <string.h>

#include "fedplt/objective.h"

static void join(char *list, size_t room, const char *name)
{
    if (*list)
        strncat(list, ", ", room - strlen(list) - 1);
    strncat(list, name, room - strlen(list) - 1);
}

fplt_status fplt__loss_find(const char *name, const fplt__loss **loss, fplt_error *error)
{
    char known[400] = "";
    for (size_t i = 0; (*loss = fplt__losses[i]); i++) {
        if (name && strcmp(name, (*loss)->name) == 0)
            return FPLT_OK;
        join(known, sizeof known, (*loss)->name);
    }
    return fplt_error_set(error, FPLT_BAD_VALUE, "loss is '%.80s', but it must be one of %s",
                          name ? name : "", known);
}

fplt_status fplt__regulariser_find(const char *name, const fplt__regulariser **regulariser,
                                   fplt_error *error)
{
    char known[400] = "";
    for (size_t i = 0; (*regulariser = fplt__regularisers[i]); i++) {
        if (name && strcmp(name, (*regulariser)->name) == 0)
            return FPLT_OK;
        join(known, sizeof known, (*regulariser)->name);
    }
    return fplt_error_set(error, FPLT_BAD_VALUE, "regulariser is '%.80s', but it must be one of %s",
                          name ? name : "", known);
}

const char *fplt_loss_name(size_t index, const char **help)
{
    for (size_t i = 0; fplt__losses[i]; i++) {
        if (i != index)
            continue;
        if (help)
            *help = fplt__losses[i]->help;
        return fplt__losses[i]->name;
    }
    return NULL;
}

int fplt_loss_takes_intercept(const char *name)
{
    const fplt__loss *loss;
    return !fplt__loss_find(name, &loss, NULL) && !loss->whole;
}

const char *fplt_regulariser_name(size_t index, const char **help)
{
    for (size_t i = 0; fplt__regularisers[i]; i++) {
        if (i != index)
            continue;
        if (help)
            *help = fplt__regularisers[i]->help;
        return fplt__regularisers[i]->name;
    }
    return NULL;
}

const char *fplt_kernel_list(size_t index, const char **help, int *available)
{
    const fplt__kernel *kernel = fplt__kernel_get(index);
    if (kernel && help)
        *help = kernel->help;
    if (kernel && available)
        *available = kernel->available();
    return kernel ? kernel->name : NULL;
}
