/* Costs that are functions of R. */
#include "fedplt_costs.h"

#include <stdio.h>
#include <string.h>

#include "fedplt/objective_callbacks.h"

static void finalize_objective(SEXP pointer)
{
    fplt_objective_destroy(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static void keep_failure(fpltr_costs *own, const char *message)
{
    if (!own->failed)
        snprintf(own->message, sizeof own->message, "%s", message);
    own->failed = 1;
}

/* What the function says of x, `count` numbers; nonzero: it failed. */
static int ask(fpltr_costs *own, SEXP function, uint32_t agent, const double *x, double *numbers,
               size_t count)
{
    int failed = 0;
    if (own->failed || own->interrupted)
        return 1;
    SEXP point = PROTECT(fpltr_numbers(x, (R_xlen_t)own->dimension));
    SEXP number = PROTECT(Rf_ScalarInteger((int)agent + 1));
    SEXP call = PROTECT(Rf_lang3(function, point, number));
    SEXP answer = R_tryEvalSilent(call, R_GlobalEnv, &failed);
    PROTECT(answer = failed ? R_NilValue : answer);
    if (failed ||
        Rf_inherits(answer, "fedplt_interrupted")) { /* errors are caught by the guard in R */
        own->interrupted = own->failed = 1;
    } else if (TYPEOF(answer) == STRSXP) {
        keep_failure(own, Rf_translateChar(STRING_ELT(answer, 0)));
    } else if (TYPEOF(answer) != REALSXP || (size_t)XLENGTH(answer) != count) {
        keep_failure(own, count == 1 ? "the value must be one double"
                                     : "the gradient must have one double for each coordinate");
    } else {
        memcpy(numbers, REAL(answer), count * sizeof *numbers);
    }
    UNPROTECT(4);
    return own->failed;
}

static int find_value(void *context, uint32_t agent, const double *x, double *value)
{
    fpltr_costs *own = context;
    return ask(own, own->value, agent, x, value, 1);
}

static int find_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    fpltr_costs *own = context;
    return ask(own, own->gradient, agent, x, gradient, own->dimension);
}

SEXP fpltr_objective(SEXP costs, fpltr_costs *own)
{
    fplt_error error = {.status = FPLT_OK};
    fplt_objective *objective = NULL;
    SEXP pointer = PROTECT(fpltr_pointer(finalize_objective));
    if (!Rf_isNull(costs)) {
        own->dimension = (size_t)Rf_asReal(VECTOR_ELT(costs, 0));
        own->value = VECTOR_ELT(costs, 2);
        own->gradient = VECTOR_ELT(costs, 3);
        fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                              .dimension = own->dimension,
                                              .agents = (uint32_t)Rf_asReal(VECTOR_ELT(costs, 1)),
                                              .context = own,
                                              .value = find_value,
                                              .gradient = find_gradient};
        fpltr_check(fplt_objective_create_callback(&callbacks, &objective, &error), &error);
        R_SetExternalPtrAddr(pointer, objective);
    }
    UNPROTECT(1);
    return pointer;
}
