/* Hub and nodes with a loss of your own, every step by hand and in one process: a line through points with outliers.
 *     cc own_loss.c $(pkg-config --cflags --libs fedplt) -lm -o own_loss && ./own_loss
 *
 * Each agent's cost is the mean of log cosh(a.x - b), which is quadratic near 0 and grows linearly, plus a ridge. In every
 * round two of the four agents take part. The program fails unless the sum of all gradients vanishes at the model.
 * examples/embed.c has the same calls with processes and sockets between hub and nodes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <fedplt.h>
#include <fedplt/objective_callbacks.h>

enum { AGENTS = 4, ACTIVE = 2, DIMENSION = 2, RECORDS = 50, ROUNDS = 400 };

static const double ridge = 0.01;

struct points {
    double a[AGENTS][RECORDS][DIMENSION], b[AGENTS][RECORDS];
};

static void check(fplt_status status, const fplt_error *error)
{
    if (status) {
        fprintf(stderr, "own_loss: %s: %s\n", fplt_status_name(status), error ? error->text : "");
        exit(1);
    }
}

static void draw(struct points *points)
{
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_stream stream = fplt_stream_make(3, 0, FPLT_FOR_TEST, 0, i, 0);
        for (int j = 0; j < RECORDS; j++) {
            points->a[i][j][0] = 1;
            points->a[i][j][1] = fplt_stream_normal(&stream);
            points->b[i][j] = 1 - 2 * points->a[i][j][1] + 0.1 * fplt_stream_normal(&stream);
            if (j % 10 == 0)
                points->b[i][j] += 50; /* an outlier */
        }
    }
}

/* ---- the loss: value, gradient and curvature of one agent's cost ---- */

static double residual(const struct points *points, uint32_t agent, int j, const double *x)
{
    return points->a[agent][j][0] * x[0] + points->a[agent][j][1] * x[1] - points->b[agent][j];
}

static int value(void *context, uint32_t agent, const double *x, double *result)
{
    const struct points *points = (const struct points *)context;
    *result = ridge / 2 * (x[0] * x[0] + x[1] * x[1]);
    for (int j = 0; j < RECORDS; j++) {
        double size = fabs(residual(points, agent, j, x));
        *result += (size + log1p(exp(-2 * size)) - log(2)) / (double)RECORDS; /* log cosh */
    }
    return 0;
}

static int gradient(void *context, uint32_t agent, const double *x, double *result)
{
    const struct points *points = (const struct points *)context;
    for (int k = 0; k < DIMENSION; k++)
        result[k] = ridge * x[k];
    for (int j = 0; j < RECORDS; j++)
        for (int k = 0; k < DIMENSION; k++)
            result[k] +=
                tanh(residual(points, agent, j, x)) * points->a[agent][j][k] / (double)RECORDS;
    return 0;
}

/* The second derivative of log cosh is at most 1, so the mean of |a|^2 bounds the curvature. */
static void curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    const struct points *points = (const struct points *)context;
    *lowest = ridge;
    *highest = ridge;
    for (int j = 0; j < RECORDS; j++)
        for (int k = 0; k < DIMENSION; k++)
            *highest += points->a[agent][j][k] * points->a[agent][j][k] / (double)RECORDS;
}

/* ---- one round: the hub plans, the active nodes train, the hub absorbs the sum ---- */

static void run_round(const fplt_plan *plan, fplt_hub *hub, fplt_node *const *nodes,
                      uint64_t number)
{
    fplt_error error;
    fplt_round round;
    double down[DIMENSION];
    uint64_t words[2 * DIMENSION];
    if (fplt_plan_down(plan, 0) > DIMENSION || fplt_plan_words(plan, 0) > 2 * DIMENSION)
        exit(1); /* not with Fed-PLT: one vector down, one up */
    fplt_hub_plan(hub, number, ACTIVE, &round);
    check(fplt_hub_broadcast(hub, &round, 0, down), NULL);
    for (uint32_t p = 0; p < ACTIVE; p++) {
        fplt_node *node = nodes[(number * ACTIVE + p) % AGENTS]; /* in turn */
        round.position = p;
        check(fplt_node_train(node, &round, 0, down, words, &error), &error);
        check(fplt_hub_receive(hub, 0, words), NULL);
        fplt_node_accept(node); /* over a network: only after the hub's confirmation */
    }
    check(fplt_hub_absorb(hub, &round, 0), NULL);
}

static void train(const fplt_objective *objective, double *model)
{
    fplt_error error;
    fplt_hub *hub;
    fplt_node *nodes[AGENTS];
    fplt_curvature each[AGENTS];
    fplt_plan plan = {.seed = 3};
    fplt_training training = fplt_training_defaults();
    fplt_facts facts = {.agents = AGENTS, .cohort = ACTIVE, .dimension = DIMENSION};
    uint64_t words[2 * DIMENSION];

    for (uint32_t i = 0; i < AGENTS; i++) {
        check(fplt_objective_curvature(objective, i, FPLT_CURVATURE_BOUND, &each[i], &error),
              &error);
        facts.curvature = i ? fplt_curvature_join(facts.curvature, each[i]) : each[i];
    }
    check(fplt_plan_resolve(fplt_algorithm_find("fed-plt"), NULL, &training, &facts, &plan, &error),
          &error);
    check(fplt_hub_create(&plan, NULL, NULL, &hub, &error), &error);
    for (uint32_t i = 0; i < AGENTS; i++) {
        fplt_node_settings settings = {.objective = objective,
                                       .cost = i,
                                       .member_index = i,
                                       .training = training,
                                       .curvature = each[i],
                                       .cohort = ACTIVE};
        check(fplt_node_create(&plan, &settings, &nodes[i], &error), &error);
        check(fplt_node_enrol(nodes[i], words), NULL);
        check(fplt_hub_enrol(hub, words), NULL);
    }
    for (uint64_t k = 0; k < ROUNDS; k++)
        run_round(&plan, hub, nodes, k);
    check(fplt_hub_model(hub, model), NULL);
    for (uint32_t i = 0; i < AGENTS; i++)
        fplt_node_destroy(nodes[i]);
    fplt_hub_destroy(hub);
}

int main(void)
{
    static struct points points;
    fplt_error error;
    fplt_objective *objective;
    double model[DIMENSION], sum[DIMENSION] = {0}, part[DIMENSION];
    draw(&points);
    fplt_objective_callbacks cost = {.size = sizeof(fplt_objective_callbacks),
                                     .dimension = DIMENSION,
                                     .agents = AGENTS,
                                     .context = &points,
                                     .value = value,
                                     .gradient = gradient,
                                     .curvature = curvature};
    check(fplt_objective_create_callback(&cost, &objective, &error), &error);
    train(objective, model);
    fplt_objective_destroy(objective);

    for (uint32_t i = 0; i < AGENTS; i++) {
        gradient(&points, i, model, part);
        for (int k = 0; k < DIMENSION; k++)
            sum[k] += part[k];
    }
    double size = hypot(sum[0], sum[1]);
    printf("intercept %.4f, slope %.4f, norm of the summed gradients %.1e\n", model[0], model[1],
           size);
    return !(size < 1e-9);
}
