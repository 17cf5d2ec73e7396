/* The cost of an agent as functions of R. */
#include "member_cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fedplt/objective_callbacks.h"

enum { STATE_NONE, STATE_ASKED, STATE_ANSWERED };

/* Waits for a change, at most so long; the lock is held. */
static void wait_for_change(fpltr_member_cost *cost, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(1e9 * seconds);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&cost->changed, &cost->lock, &until);
}

/* In the agent's thread. An end of the member is a failure. */
static int ask_main_thread(fpltr_member_cost *cost, int what, const double *x, double *out)
{
    pthread_mutex_lock(&cost->lock);
    cost->what = what;
    cost->point = x;
    cost->out = out;
    cost->failed = 1;
    cost->state = STATE_ASKED;
    pthread_cond_broadcast(&cost->changed);
    while (cost->state != STATE_ANSWERED && !atomic_load(cost->stop))
        wait_for_change(cost, 0.05);
    int failed = cost->state != STATE_ANSWERED || cost->failed;
    cost->state = STATE_NONE;
    pthread_mutex_unlock(&cost->lock);
    return failed;
}

static int find_value(void *context, uint32_t agent, const double *x, double *value)
{
    (void)agent;
    return ask_main_thread(context, 0, x, value);
}

static int find_gradient(void *context, uint32_t agent, const double *x, double *gradient)
{
    (void)agent;
    return ask_main_thread(context, 1, x, gradient);
}

static size_t count_records(void *context, uint32_t agent)
{
    (void)agent;
    return ((fpltr_member_cost *)context)->records;
}

static void give_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    fpltr_member_cost *cost = context;
    (void)agent;
    *lowest = cost->curvature[0];
    *highest = cost->curvature[1];
}

void fpltr_member_cost_begin(fpltr_member_cost *cost, SEXP given, atomic_int *stop)
{
    fplt_error error = {.status = FPLT_OK};
    char *const words[] = {cost->name, cost->version, cost->digest};
    pthread_mutex_init(&cost->lock, NULL);
    pthread_cond_init(&cost->changed, NULL);
    cost->stop = stop;
    for (int i = 0; i < 3; i++)
        snprintf(words[i], COST_WORD_MAX, "%s", fpltr_string(VECTOR_ELT(given, i)));
    cost->dimension = (size_t)Rf_asReal(VECTOR_ELT(given, 3));
    cost->records = (size_t)Rf_asReal(VECTOR_ELT(given, 4));
    for (int i = 0; i < 2; i++)
        cost->curvature[i] = Rf_asReal(VECTOR_ELT(given, 5 + i));
    fplt_objective_callbacks callbacks = {.size = sizeof callbacks,
                                          .dimension = cost->dimension,
                                          .agents = 1,
                                          .context = cost,
                                          .value = find_value,
                                          .gradient = find_gradient,
                                          .records = count_records};
    if (!isnan(cost->curvature[0]))
        callbacks.curvature = give_curvature;
    fpltr_check(fplt_objective_create_callback(&callbacks, &cost->objective, &error), &error);
    cost->table = (fplt_federation_cost){.size = sizeof cost->table,
                                         .name = cost->name,
                                         .version = cost->version,
                                         .digest = cost->digest,
                                         .objective = cost->objective};
}

void fpltr_member_cost_end(fpltr_member_cost *cost)
{
    if (!cost->stop)
        return;
    fplt_objective_destroy(cost->objective);
    pthread_cond_destroy(&cost->changed);
    pthread_mutex_destroy(&cost->lock);
    cost->stop = NULL;
}

SEXP fpltr_member_cost_asked(fpltr_member_cost *cost, double seconds)
{
    static const char *const names[] = {"gradient", "x"};
    SEXP list = PROTECT(fpltr_list(names, 2));          /* no lock is held while R allocates */
    SET_VECTOR_ELT(list, 0, Rf_allocVector(LGLSXP, 1)); /* R shares its scalars */
    SET_VECTOR_ELT(list, 1, Rf_allocVector(REALSXP, (R_xlen_t)cost->dimension));
    pthread_mutex_lock(&cost->lock);
    if (cost->state != STATE_ASKED)
        wait_for_change(cost, seconds);
    int asked = cost->state == STATE_ASKED;
    if (asked) {
        memcpy(REAL(VECTOR_ELT(list, 1)), cost->point, cost->dimension * sizeof(double));
        LOGICAL(VECTOR_ELT(list, 0))[0] = cost->what;
    }
    pthread_mutex_unlock(&cost->lock);
    UNPROTECT(1);
    return asked ? list : R_NilValue;
}

int fpltr_member_cost_answer(fpltr_member_cost *cost, SEXP numbers)
{
    pthread_mutex_lock(&cost->lock);
    size_t count = cost->what ? cost->dimension : 1;
    int is_taken = TYPEOF(numbers) == REALSXP && (size_t)XLENGTH(numbers) == count;
    if (cost->state == STATE_ASKED) {
        if (is_taken)
            memcpy(cost->out, REAL(numbers), count * sizeof(double));
        cost->failed = !is_taken;
        cost->state = STATE_ANSWERED;
        pthread_cond_broadcast(&cost->changed);
    }
    pthread_mutex_unlock(&cost->lock);
    return is_taken;
}
