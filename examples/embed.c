/* fedplt inside your own program: own cost, own transport, every step by hand.
 *
 * Three agents, each a process of its own behind a socket pair, hold counts that nobody else sees
 * and fit one Poisson regression together: f_i(x) = (1/q) sum_j [exp(a_j.x) - b_j a_j.x] + ridge. The
 * coordinator never sees a record, only the exact sum of what the agents send.
 *
 *     cc embed.c $(pkg-config --cflags --libs fedplt) -lm -o embed && ./embed
 *
 * It is C11, and C++20 as well.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fedplt.h>
#include <fedplt/encoding.h>
#include <fedplt/objective_callbacks.h>

enum { AGENTS = 3, FEATURES = 2, RECORDS = 200, ROUNDS = 60, ROUND_BYTES = 64 };

static const double ridge = 0.1,
                    bound = 4; /* |a.x| stays below ln(bound - ridge) near the optimum */

/* ---- the agent's own data and cost ---- */

struct counts {
    double a[RECORDS][FEATURES], b[RECORDS];
};

static void draw(struct counts *counts, uint32_t agent)
{
    static const double truth[FEATURES] = {0.5, -0.3};
    fplt_stream stream = fplt_stream_make(7, 0, FPLT_FOR_TEST, 0, agent, 0);
    for (int j = 0; j < RECORDS; j++) {
        double rate = 0, product = 1;
        for (int k = 0; k < FEATURES; k++) {
            counts->a[j][k] = fplt_stream_uniform(&stream) * 2 - 1;
            rate += counts->a[j][k] * truth[k];
        }
        counts->b[j] = -1; /* Knuth's way to a Poisson count */
        for (double limit = exp(-exp(rate)); product > limit; counts->b[j]++)
            product *= fplt_stream_uniform(&stream);
    }
}

static double predictor(const struct counts *counts, int j, const double *x)
{
    double sum = 0;
    for (int k = 0; k < FEATURES; k++)
        sum += counts->a[j][k] * x[k];
    return sum;
}

static int value(void *context, uint32_t agent, const double *x, double *result)
{
    const struct counts *counts = (const struct counts *)context;
    (void)agent;
    *result = 0;
    for (int j = 0; j < RECORDS; j++) {
        double p = predictor(counts, j, x);
        *result += (exp(p) - counts->b[j] * p) / (double)RECORDS;
    }
    for (int k = 0; k < FEATURES; k++)
        *result += ridge / 2 * x[k] * x[k];
    return isfinite(*result) ? 0 : 1;
}

static int gradient(void *context, uint32_t agent, const double *x, double *result)
{
    const struct counts *counts = (const struct counts *)context;
    (void)agent;
    for (int k = 0; k < FEATURES; k++)
        result[k] = ridge * x[k];
    for (int j = 0; j < RECORDS; j++) {
        double slope = (exp(predictor(counts, j, x)) - counts->b[j]) / (double)RECORDS;
        for (int k = 0; k < FEATURES; k++)
            result[k] += slope * counts->a[j][k];
    }
    return 0;
}

static void curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    (void)context;
    (void)agent;
    *lowest = ridge;
    *highest = bound;
}

/* ---- the transport: whole messages over a socket ---- */

static void transfer(int socket, void *bytes, size_t size, int sending)
{
    for (char *at = (char *)bytes; size;) {
        ssize_t moved = sending ? write(socket, at, size) : read(socket, at, size);
        if (moved <= 0)
            exit(1);
        at += moved;
        size -= (size_t)moved;
    }
}

static void check(fplt_status status, const fplt_error *error)
{
    if (status) {
        fprintf(stderr, "embed: %s: %s\n", fplt_status_name(status), error ? error->text : "");
        exit(1);
    }
}

/* What both sides agree on. */
static fplt_plan make_plan(void)
{
    fplt_error error;
    fplt_plan plan = {.seed = 7};
    fplt_training training = fplt_training_defaults();
    fplt_facts facts = {.curvature = {ridge, bound}, .agents = AGENTS, .dimension = FEATURES};
    check(fplt_plan_resolve(fplt_algorithm_find("fed-plt"), NULL, &training, &facts, &plan, &error),
          &error);
    return plan;
}

/* ---- one agent ---- */

static void be_agent(uint32_t identity, int socket)
{
    fplt_error error;
    fplt_objective *objective;
    fplt_node *node;
    static struct counts counts;
    draw(&counts, identity);
    fplt_objective_callbacks cost = {.size = sizeof(fplt_objective_callbacks),
                                     .dimension = FEATURES,
                                     .agents = 1,
                                     .context = &counts,
                                     .value = value,
                                     .gradient = gradient,
                                     .curvature = curvature};
    check(fplt_objective_create_callback(&cost, &objective, &error), &error);
    fplt_plan plan = make_plan();
    fplt_node_settings settings = {.objective = objective,
                                   .member_index = identity,
                                   .training = fplt_training_defaults(),
                                   .curvature = {ridge, bound}};
    check(fplt_node_create(&plan, &settings, &node, &error), &error);

    uint64_t words[4 * FEATURES];
    check(fplt_node_enrol(node, words), NULL);
    transfer(socket, words, fplt_plan_enrol_words(&plan) * sizeof *words, 1);
    for (int k = 0; k < ROUNDS; k++) {
        fplt_round round = {.number = 0};
        unsigned char bytes[ROUND_BYTES], accepted;
        double down[FEATURES];
        size_t size = fplt_round_encode(&plan, &round, NULL, 0); /* known to all sides */
        transfer(socket, bytes, size, 0);
        transfer(socket, down, sizeof down, 0);
        check(fplt_round_decode(&plan, bytes, size, &round, &error), &error);
        check(fplt_node_train(node, &round, 0, down, words, &error), &error);
        transfer(socket, words, fplt_plan_words(&plan, 0) * sizeof *words, 1);
        transfer(socket, &accepted, 1, 0);
        if (accepted)
            fplt_node_accept(node);
    }
    fplt_node_destroy(node);
    fplt_objective_destroy(objective);
    exit(0);
}

/* ---- the coordinator ---- */

static void coordinate(const int *sockets, double *model)
{
    fplt_error error;
    fplt_hub *hub;
    fplt_plan plan = make_plan();
    uint64_t words[4 * FEATURES];
    check(fplt_hub_create(&plan, NULL, NULL, &hub, &error), &error);
    for (int i = 0; i < AGENTS; i++) {
        transfer(sockets[i], words, fplt_plan_enrol_words(&plan) * sizeof *words, 0);
        check(fplt_hub_enrol(hub, words), NULL);
    }
    for (uint64_t k = 0; k < ROUNDS; k++) {
        fplt_round round;
        double down[FEATURES];
        fplt_hub_plan(hub, k, AGENTS, &round);
        check(fplt_hub_broadcast(hub, &round, 0, down), NULL);
        for (int i = 0; i < AGENTS; i++) {
            unsigned char bytes[ROUND_BYTES];
            round.position = (uint32_t)i;
            transfer(sockets[i], bytes, fplt_round_encode(&plan, &round, bytes, sizeof bytes), 1);
            transfer(sockets[i], down, sizeof down, 1);
        }
        for (int i = AGENTS; i-- > 0;) { /* any order gives the same bits */
            char accepted = 1;
            transfer(sockets[i], words, fplt_plan_words(&plan, 0) * sizeof *words, 0);
            check(fplt_hub_receive(hub, 0, words), NULL);
            transfer(sockets[i], &accepted, 1, 1);
        }
        check(fplt_hub_absorb(hub, &round, 0), NULL);
    }
    check(fplt_hub_model(hub, model), NULL);
    fplt_hub_destroy(hub);
}

int main(void)
{
    int sockets[AGENTS];
    for (uint32_t i = 0; i < AGENTS; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
            return 1;
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0)
            be_agent(i, pair[1]);
        close(pair[1]);
        sockets[i] = pair[0];
    }
    double model[FEATURES], sum[FEATURES] = {0}, part[FEATURES], size = 0;
    coordinate(sockets, model);
    int failed = 0, status;
    for (int i = 0; i < AGENTS; i++)
        failed |= wait(&status) < 0 || status;

    /* The sum of the agents' gradients must vanish; only this demonstration may look. */
    for (uint32_t i = 0; i < AGENTS; i++) {
        static struct counts counts;
        draw(&counts, i);
        gradient(&counts, 0, model, part);
        for (int k = 0; k < FEATURES; k++)
            sum[k] += part[k];
    }
    for (int k = 0; k < FEATURES; k++)
        size += sum[k] * sum[k];
    printf("model %.6f %.6f, squared norm of the summed gradients %.1e\n", model[0], model[1],
           size);
    return failed || !(size < 1e-20);
}
