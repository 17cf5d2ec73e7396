/* Losses and regularisers by name. */
#include "objective/loss.h"

#include <string.h>

#include "fedplt/objective.h"
#include "objective/objective.h"
#include "objective/objective_access.h"
#include "objective/random_intercept.h"

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
        const char *lacking = fplt__loss_lacks(*loss);
        if (lacking)
            return fplt_error_set(error, FPLT_FAILED, "the loss %s (number %zu) has no %s",
                                  (*loss)->name ? (*loss)->name : "without a name", i, lacking);
        if (name && strcmp(name, (*loss)->name) == 0)
            return FPLT_OK;
        join(known, sizeof known, (*loss)->name);
    }
    return fplt_error_set(error, FPLT_BAD_VALUE, "loss is '%.80s', but it must be one of %s",
                          name ? name : "", known);
}

const char *fplt__loss_lacks(const fplt__loss *loss)
{
    const unsigned classes = 1u << FPLT_TASK_BINARY | 1u << FPLT_TASK_CLASSES;
    const struct {
        const char *name;
        int there;
    } parts[] = {
        {"name", loss->name != NULL},
        {"help", loss->help != NULL},
        {"tasks", loss->tasks != 0},
        {"value", loss->value != NULL},
        {"slope", loss->slope != NULL},
        {"curve", loss->curve != NULL},
        {"bend", loss->bend != NULL},
        {"hits", loss->hits || !(loss->tasks & classes)},
        {"most", loss->most > 0 || loss->most_of || loss->whole},
        {"display", loss->display || !loss->shared},
        {"unbounded", loss->unbounded || !loss->shared},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].there)
            return parts[i].name;
    return NULL;
}

int fplt__loss_has(const fplt__loss *loss, const char *setting)
{
    return loss->parameter && strcmp(loss->parameter, setting) == 0;
}

size_t fplt__loss_room(const fplt__loss *loss, double parameter)
{
    return !loss->whole ? 0 : loss->room ? loss->room(parameter) : 3;
}

size_t fplt__loss_shared(const fplt__loss *loss, size_t classes)
{
    return loss->shared ? loss->shared(classes) : 0;
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

const char *fplt__loss_name(size_t index, const char **help)
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

int fplt__loss_takes_intercept(const char *name)
{
    const fplt__loss *loss;
    return !fplt__loss_find(name, &loss, NULL) && !loss->hazards;
}

int fplt__loss_is_clustered(const char *name)
{
    const fplt__loss *loss;
    return !fplt__loss_find(name, &loss, NULL) && loss->clustered;
}

uint32_t fplt__loss_points(const fplt_objective_settings *settings)
{
    const fplt__loss *loss;
    int has =
        !fplt__loss_find(settings->loss, &loss, NULL) && fplt__loss_has(loss, "quadrature-points");
    return !has ? 0 : settings->quadrature_points ? settings->quadrature_points : FPLT__NODES;
}

int fplt__objective_is_unbounded(const fplt_objective *objective)
{
    return objective->loss && objective->loss->unbounded;
}

int fplt__loss_takes_numbers_only(const char *name)
{
    const fplt__loss *loss;
    return !fplt__loss_find(name, &loss, NULL) && loss->tasks == 1u << FPLT_TASK_REGRESSION;
}

const char *fplt__regulariser_name(size_t index, const char **help)
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

const char *fplt__kernel_list(size_t index, const char **help, int *available)
{
    const fplt__kernel *kernel = fplt__kernel_get(index);
    if (kernel && help)
        *help = kernel->help;
    if (kernel && available)
        *available = kernel->available();
    return kernel ? kernel->name : NULL;
}
