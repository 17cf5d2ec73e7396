/* FedNL [Safaryan, Islamov, Qian and Richtarik 2022]: Newton's method with Hessians that are learned.
 *
 *     down:  x + t d
 *     agent: keeps H_i; sends the gradient and the value of f_i, and C(Hessian of f_i - H_i), by which
 *            H_i changes; C keeps the `rank` eigenvectors that weigh most
 *     coordinator: accepts the point or shortens t; d = -H^-1 g, H the sum of all H_i
 *
 * H_i is mirrored. A sum of matrices of low rank has full rank: what travels is a triangle, as in
 * fed-newton, and the compression shows in the rounds it costs, not in the bytes. So the first round
 * sends the whole Hessian. */
#include <math.h>
#include <string.h>

#include "algorithm/descent.h"

enum { RANK };
enum { ITERATIONS = 30 };

static const fplt_setting settings[] = {
    {"rank", FPLT_INTEGER, 0, "1", 1, 1000, NULL,
     "eigenvectors by which an agent corrects its learned Hessian in a round", 0, 0},
    FPLT_SETTINGS_END,
};

static void reshape(const double *parameter, size_t dimension, fplt_shape *shape)
{
    (void)parameter;
    shape->kept = shape->mirrored = (unsigned)dimension / 2 + 1;
    shape->work = (unsigned)dimension + 2;
    shape->scratch = fplt__newton_scratch(dimension);
}

static fplt_status check_parameters(const fplt_facts *facts, const double *parameter,
                                    fplt_error *error)
{
    (void)parameter;
    return fplt__check_square(facts, "fednl", error);
}

/* w = A v for the symmetric matrix whose lower triangle is given row-major; returns <v, w>. */
static double times(const double *matrix, size_t n, const double *v, double *w)
{
    double product = 0;
    for (size_t i = 0; i < n; i++) {
        const double *row = matrix + i * n;
        w[i] = row[i] * v[i];
        for (size_t j = 0; j < i; j++) {
            w[i] += row[j] * v[j];
            w[j] += row[j] * v[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        product += v[i] * w[i];
    return product;
}

/* v = w/||w||; zero where w is the zero vector. */
static int normalise(const double *w, size_t n, double *v)
{
    double square = 0;
    for (size_t j = 0; j < n; j++)
        square += w[j] * w[j];
    if (!(square > 0))
        return 0;
    for (size_t j = 0; j < n; j++)
        v[j] = w[j] / sqrt(square);
    return 1;
}

/* Takes the eigenvector that weighs most out of `rest` into `learned`, by power iteration from the
 * coordinate with the largest diagonal. Whatever v it ends at, <v, A v> v v' leaves less of A. */
static void learn(double *rest, size_t n, double *v, double *w, double *learned)
{
    size_t place = 0;
    double weight = 0;
    for (size_t j = 1; j < n; j++)
        if (fabs(rest[j * n + j]) > fabs(rest[place * n + place]))
            place = j;
    memset(v, 0, n * sizeof *v);
    v[place] = 1;
    for (int k = 0; k < ITERATIONS; k++) {
        weight = times(rest, n, v, w);
        if (k + 1 < ITERATIONS && !normalise(w, n, v))
            return;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            rest[i * n + j] -= weight * v[i] * v[j];
            learned[i * (i + 1) / 2 + j] += weight * v[i] * v[j];
        }
}

static fplt_status local(fplt_agent *agent, const fplt_round *round, unsigned exchange,
                         const double *x, double *up, fplt_error *error)
{
    (void)exchange;
    size_t n = agent->dimension, kept = (n / 2 + 1) * n;
    double *rest = agent->work, *v = rest + n * n, *w = v + n;
    fplt_status status = fplt__agent_value_gradient(agent, round, x, up + n, up, error);
    if (!status)
        status = fplt__agent_hessian(agent, round, x, rest, error);
    if (status)
        return status;
    memcpy(agent->staged, agent->kept, kept * sizeof *agent->staged);
    if (round->number == 0) {
        fplt__triangle_pack(rest, n, agent->staged);
    } else {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                rest[i * n + j] -= agent->kept[i * (i + 1) / 2 + j];
        for (unsigned k = 0; k < n && k < (unsigned)agent->parameter[RANK]; k++)
            learn(rest, n, v, w, agent->staged);
    }
    fplt_grid_round(agent->staged, kept);
    return FPLT_OK;
}

static void absorb(fplt_coordinator *coordinator, const fplt_round *round, unsigned exchange,
                   const double *sum)
{
    (void)round;
    (void)exchange;
    size_t n = coordinator->dimension;
    if (fplt__descent_arrive(coordinator, sum, sum[n]))
        fplt__newton_aim(coordinator, coordinator->total);
}

const fplt_algorithm fplt__fednl = {
    .size = sizeof(fplt_algorithm),
    .name = "fednl",
    .title = "FedNL",
    .reference = "Safaryan, Islamov, Qian, Richtarik: FedNL: Making Newton-Type Methods Applicable "
                 "to Federated Learning (2022)",
    .shape = {.vectors = FPLT__DESCENT_VECTORS,
              .numbers = FPLT__DESCENT_NUMBERS,
              .exchanges = 1,
              .exchange = {{.down = 1, .up = 1, .up_scalars = 1}},
              .local_model = -1},
    .allows = FPLT_TRAINS_NOTHING | FPLT_NEEDS_CERTAINTY | FPLT_SENDS_HESSIANS,
    .no_minimiser = FPLT__NO_TRAINING,
    .no_random = FPLT__NO_TRAINING,
    .no_partial = "its step is Newton's for the sum of all costs; use fed-plt",
    .no_privacy = "it sends the bare gradient of the agent's cost; use fed-plt",
    .paper.epochs = "none",
    .paper.problems = "non-convex",
    .settings = settings,
    .common_step = 1,
    .step_rule = "not used: the coordinator searches the step",
    .reshape = reshape,
    .check = check_parameters,
    .step = fplt__unused_step,
    .begin_coordinator = fplt__descent_begin,
    .broadcast = fplt__descent_broadcast,
    .local = local,
    .absorb = absorb,
    .model = fplt__descent_model,
    .settled = fplt__descent_settled,
};
