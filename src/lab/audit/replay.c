/* Every message again: from what the agent kept, what was broadcast, the cost and the recorded noise.
 * Where each step asks the source with the right mean, and what is sent is what the last step gave, all
 * that a message tells of the records is told through the noise. */
#include "lab/audit/audit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- one agent's round ---- */

struct scene {
    struct fplt__audit *audit;
    struct fplt__audit_worker *worker;
    const struct fplt__claimed *claimed;
    const fplt_objective *cost;
    const double *y, *z, *x; /* before */
    const double *z_after, *x_after;
    size_t n;
};

/* As far as the claim pays for arithmetic. */
static int near(const struct scene *scene, const double *a, const double *b)
{
    for (size_t j = 0; j < scene->n; j++)
        if (!(fabs(a[j] - b[j]) <= scene->claimed->spacing))
            return 0;
    return 1;
}

static int same(const struct scene *scene, const double *a, const double *b)
{
    return memcmp(a, b, scene->n * sizeof *a) == 0;
}

/* The training whose last iterate is what the agent keeps; otherwise that in its place. */
static const struct fplt__training_seen *find_training(const struct scene *scene, uint32_t place)
{
    const struct fplt__observer *observer = scene->worker->observer;
    size_t last = (scene->audit->epochs - 1) * scene->n;
    size_t count = observer->count < observer->agents ? observer->count : observer->agents;
    for (size_t i = 0; i < count; i++) {
        const struct fplt__training_seen *seen = &observer->seen[(place + i) % count];
        if (seen->calls == scene->audit->epochs && same(scene, seen->out + last, scene->x_after))
            return seen;
    }
    return place < count ? &observer->seen[place] : NULL;
}

static int nearly(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* What is wrong with the round, in words; NULL: nothing. */
static const char *find_fault(const struct scene *scene, uint32_t agent,
                              const struct fplt__training_seen *seen, fplt_status *status)
{
    size_t n = scene->n, epochs = scene->audit->epochs;
    const struct fplt__audit_room *room = &scene->worker->room;
    double *w = room->first, *other = room->second, step = scene->audit->plan->mechanism.step;
    if (!seen || seen->calls != epochs)
        return "noise is not drawn once an epoch";
    /* without a centre the start is the first vector that is shown */
    if (scene->audit->keeps
            ? !near(scene, room->centre, seen->centre) || !same(scene, scene->x, seen->start)
            : !same(scene, scene->x, seen->centre))
        return "training begins elsewhere";
    for (size_t epoch = 0; epoch < epochs; epoch++) {
        memcpy(w, epoch ? seen->out + (epoch - 1) * n : scene->x, n * sizeof *w);
        if ((*status = fplt__audit_step(scene->audit, scene->cost, agent, room, w)))
            return NULL;
        if (!nearly(seen->step[epoch], step) || !nearly(seen->tau[epoch], scene->claimed->tau))
            return "noise of another scale is asked for";
        if (!near(scene, w, seen->mean + epoch * n))
            return "a step is not that of its gradient";
    }
    for (size_t j = 0; j < n; j++)
        other[j] = scene->z[j] + 2 * (scene->x_after[j] - scene->y[j]);
    if (!same(scene, scene->x_after, seen->out + (epochs - 1) * n) ||
        !near(scene, other, scene->z_after))
        return "the message is not its last iterate";
    return NULL;
}

/* ---- the draws ---- */

static int on_lattice(double number, double spacing)
{
    return number == spacing * rint(number / spacing);
}

/* In units of the claimed deviation. On the lattice that is exact, also in single precision. */
static float draw_of(const struct scene *scene, double mean, double out)
{
    double spacing = scene->claimed->spacing;
    if (!scene->audit->settings->secure)
        return (float)((out - mean) / (spacing * FPLT_NOISE_SCALE));
    return (float)((rint(out / spacing) - round(mean / spacing)) / FPLT_NOISE_SCALE);
}

/* A step of splitmix64 [Steele, Lea and Flood 2014]. */
static uint64_t mix(uint64_t state, float draw)
{
    uint64_t z = state + (uint64_t)llrint((double)draw * FPLT_NOISE_SCALE) * 0x9e3779b97f4a7c15u +
                 0x2545f4914f6cdd1du;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void note_off(struct fplt__oddities *oddities, uint64_t run, uint32_t agent, size_t round)
{
    if (oddities->off++ == 0) {
        oddities->run_off = run;
        snprintf(oddities->where_off, sizeof oddities->where_off, "agent %u, round %zu", agent,
                 round);
    }
}

/* Of steps in which no noise was drawn it is 0. */
static void keep_draws(const struct scene *scene, uint64_t run, size_t round, uint32_t agent,
                       const struct fplt__training_seen *seen)
{
    const struct fplt__audit *audit = scene->audit;
    struct fplt__oddities *oddities = &scene->worker->oddities;
    size_t n = scene->n, block = agent * audit->rounds + round;
    double spacing = scene->claimed->spacing;
    float *draws = scene->worker->draws + block * audit->epochs * n;
    scene->worker->present[block] = 1;
    for (size_t epoch = 0; epoch < audit->epochs; epoch++) {
        int drawn = seen && epoch < seen->calls;
        uint64_t mark = 0;
        for (size_t k = epoch * n; k < (epoch + 1) * n; k++) {
            draws[k] = drawn ? draw_of(scene, seen->mean[k], seen->out[k]) : 0;
            mark = mix(mark, draws[k]);
            oddities->draws += (uint64_t)drawn;
            if (drawn && !on_lattice(seen->out[k], spacing))
                note_off(oddities, run, agent, round);
            if (drawn && audit->settings->secure)
                fplt__residues_add(&scene->worker->residues,
                                   llrint((double)draws[k] * FPLT_NOISE_SCALE));
        }
        uint64_t place = (run * audit->agents * audit->rounds + block) * audit->epochs + epoch;
        if (run < audit->marked)
            audit->marks[place] = (struct fplt__mark){mark, place};
    }
    for (size_t j = 0; j < n; j++)
        if (!on_lattice(scene->x_after[j], spacing))
            note_off(oddities, run, agent, round);
}

static void note_odd(struct fplt__oddities *oddities, uint64_t run, uint32_t agent, size_t round,
                     const char *fault)
{
    if (oddities->odd++ == 0) {
        oddities->run_odd = run;
        snprintf(oddities->where_odd, sizeof oddities->where_odd, "agent %u, round %zu: %s", agent,
                 round, fault);
    }
}

const double *fplt__audit_message(const struct fplt__audit *audit,
                                  struct fplt__audit_worker *worker, uint32_t place)
{
    const struct fplt__observer *observer = worker->observer;
    size_t n = audit->n, last = (audit->epochs - 1) * n;
    int seen = place < observer->count && place < observer->agents &&
               observer->seen[place].calls == audit->epochs;
    const double *x = seen ? observer->seen[place].out + last : worker->room.y;
    for (size_t j = 0; j < n; j++) {
        worker->after[n + j] = x[j];
        worker->after[j] = 2 * x[j] - worker->room.y[j];
    }
    return worker->after;
}

void fplt__audit_check_sum(const struct fplt__audit *audit, struct fplt__audit_worker *worker,
                           const fplt_engine *engine, uint64_t run, size_t round, uint32_t active)
{
    double *model = worker->room.second;
    int near = !fplt_engine_model(engine, model);
    for (size_t j = 0; j < audit->n; j++)
        near &= fabs(model[j] - worker->sum[j] / active) <= audit->claimed[0].spacing;
    if (!near)
        note_odd(&worker->oddities, run, audit->victim, round,
                 "the sum is not that of the last iterates");
}

fplt_status fplt__audit_replay(struct fplt__audit *audit, struct fplt__audit_worker *worker,
                               uint64_t run, size_t round, uint32_t agent, uint32_t place,
                               const double *after)
{
    size_t n = audit->n;
    const double *before = worker->before + 2 * n * agent;
    struct scene scene = {.audit = audit,
                          .worker = worker,
                          .claimed = &audit->claimed[agent],
                          .cost = audit->cost[run & 1],
                          .y = worker->room.y,
                          .z = before,
                          .x = before + n,
                          .z_after = after,
                          .x_after = after + n,
                          .n = n};
    fplt_status status = FPLT_OK;
    const struct fplt__training_seen *seen = find_training(&scene, place);
    const char *fault = find_fault(&scene, agent, seen, &status);
    struct fplt__oddities *oddities = &worker->oddities;
    oddities->messages++;
    if (fault)
        note_odd(oddities, run, agent, round, fault);
    keep_draws(&scene, run, round, agent, seen);
    return status;
}

/* ---- the verdicts ---- */

static struct fplt__oddities gather(const struct fplt__audit *audit)
{
    struct fplt__oddities all = {0};
    for (unsigned i = 0; i < fplt__pool_threads(audit->pool); i++) {
        const struct fplt__oddities *one = &audit->workers[i].oddities;
        if (one->odd && (!all.odd || one->run_odd < all.run_odd)) {
            memcpy(all.where_odd, one->where_odd, sizeof all.where_odd);
            all.run_odd = one->run_odd;
        }
        if (one->off && (!all.off || one->run_off < all.run_off)) {
            memcpy(all.where_off, one->where_off, sizeof all.where_off);
            all.run_off = one->run_off;
        }
        all.messages += one->messages;
        all.odd += one->odd;
        all.draws += one->draws;
        all.off += one->off;
    }
    return all;
}

static void judge_count(fplt_audit_check *check, uint64_t tests, uint64_t found, const char *where)
{
    check->tests = tests;
    check->found = (double)found;
    check->doubt = found ? 0 : 1;
    check->verdict = found   ? FPLT_AUDIT_REFUTED
                     : tests ? FPLT_AUDIT_NOT_REFUTED
                             : FPLT_AUDIT_LEFT_OUT;
    snprintf(check->where, sizeof check->where, "%s", where);
}

static int ascending(const void *a, const void *b)
{
    const struct fplt__mark *x = a, *y = b;
    if (x->mark != y->mark)
        return x->mark < y->mark ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* P(two vectors of noise are equal) is (1 / (2 sqrt(pi) 2^20))^n, and two marks are equal with 2^-64;
 * Markov's inequality over all pairs. */
static double chance_of_equal(double count, size_t n)
{
    double pair = pow(1 / (2 * sqrt(M_PI) * FPLT_NOISE_SCALE), (double)n) + 0x1p-64;
    return fmin(1, count * count / 2 * pair);
}

static void name_mark(const struct fplt__audit *audit, const struct fplt__mark *mark, char *text,
                      size_t room)
{
    uint64_t epochs = audit->epochs, rounds = audit->rounds, agents = audit->agents;
    uint64_t block = mark->place / epochs;
    snprintf(text, room, "agent %llu, round %llu of run %llu",
             (unsigned long long)(block / rounds % agents), (unsigned long long)(block % rounds),
             (unsigned long long)(block / rounds / agents));
}

static void judge_reuse(struct fplt__audit *audit)
{
    fplt_audit_check *check = &audit->result->check[FPLT__REUSE];
    size_t room = audit->marked * audit->agents * audit->rounds * audit->epochs, count = 0;
    uint64_t again = 0;
    char first[80] = "", second[80] = "";
    for (size_t i = 0; i < room; i++) /* absent agents drew nothing */
        if (audit->marks[i].mark)
            audit->marks[count++] = audit->marks[i];
    qsort(audit->marks, count, sizeof *audit->marks, ascending);
    for (size_t i = 1; i < count; i++)
        if (audit->marks[i].mark == audit->marks[i - 1].mark && again++ == 0) {
            name_mark(audit, &audit->marks[i - 1], first, sizeof first);
            name_mark(audit, &audit->marks[i], second, sizeof second);
            snprintf(check->where, sizeof check->where, "%.46s; %.46s", first, second);
        }
    double chance = chance_of_equal((double)count, audit->n);
    if (chance > audit->level)
        snprintf(check->refutes, sizeof check->refutes,
                 "nothing: so few coordinates may be equal by chance");
    check->tests = count;
    check->found = (double)again;
    check->doubt = again ? chance : 1;
    check->verdict = chance > audit->level ? FPLT_AUDIT_BLIND
                     : again               ? FPLT_AUDIT_REFUTED
                                           : FPLT_AUDIT_NOT_REFUTED;
}

void fplt__audit_judge_replay(struct fplt__audit *audit)
{
    fplt_audit_check *check = audit->result->check;
    struct fplt__oddities all = gather(audit);
    check[FPLT__MESSAGES] =
        (fplt_audit_check){.name = "every message of every agent",
                           .measure = "messages that are something else",
                           .power = 1,
                           .refutes = "any message that records and noise do not give"};
    check[FPLT__LATTICE] = (fplt_audit_check){.name = "the lattice",
                                              .measure = "numbers off it",
                                              .power = 1,
                                              .refutes = "any draw or message off the lattice"};
    check[FPLT__REUSE] = (fplt_audit_check){.name = "noise that is used again",
                                            .measure = "steps with noise that was there before",
                                            .power = 1,
                                            .refutes = "any noise that is used twice"};
    judge_count(&check[FPLT__MESSAGES], all.messages, all.odd, all.where_odd);
    if (audit->settings->secure)
        judge_count(&check[FPLT__LATTICE], all.draws, all.off, all.where_off);
    else {
        check[FPLT__LATTICE].verdict = FPLT_AUDIT_LEFT_OUT;
        check[FPLT__LATTICE].doubt = 1;
        snprintf(check[FPLT__LATTICE].refutes, sizeof check->refutes,
                 "nothing: simulated noise has no lattice");
    }
    judge_reuse(audit);
}
