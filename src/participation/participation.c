/* Rules of participation. Every rule is a function of (seed, run, round) alone, so that any engine
 * and any process finds the same cohort without talking. */
#include "fedplt/participation.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "fedplt/random.h"
#include "linalg/elementary.h"
#include "participation/participation.h"
#include "participation/trace.h"

struct rule {
    const char *name, *help;
    fplt_status (*check)(const fplt_participation_settings *settings, uint32_t agents,
                         fplt_error *error);
    /* Optional: copies or reads what the rule needs. */
    fplt_status (*prepare)(fplt_participation *participation,
                           const fplt_participation_settings *settings, fplt_error *error);
    uint32_t (*choose)(const fplt_participation *participation, fplt_stream *stream, uint64_t round,
                       uint32_t *active);
    double (*rate)(const fplt_participation *participation, uint32_t agent);
    uint32_t (*least)(const fplt_participation *participation); /* agents in a round */
};

struct fplt_participation {
    const struct rule *rule;
    uint32_t agents, count;
    uint32_t fewest; /* agents in a round */
    double probability;
    double *probabilities; /* owned; NULL: `probability` for everyone */
    fplt__trace trace;     /* owned contents */
};

/* all */

static uint32_t all_choose(const fplt_participation *participation, fplt_stream *stream,
                           uint64_t round, uint32_t *active)
{
    (void)stream, (void)round;
    for (uint32_t i = 0; i < participation->agents; i++)
        active[i] = i;
    return participation->agents;
}

static double all_rate(const fplt_participation *participation, uint32_t agent)
{
    (void)participation, (void)agent;
    return 1;
}

static uint32_t all_least(const fplt_participation *participation)
{
    return participation->agents;
}

/* bernoulli */

static int is_probability(double p)
{
    return p > 0 && p <= 1;
}

static fplt_status bernoulli_check(const fplt_participation_settings *settings, uint32_t agents,
                                   fplt_error *error)
{
    const double *each = settings->probabilities;
    if (!each && !is_probability(settings->probability))
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "bernoulli: probability is %g, but it must be a number above 0 and at most 1",
            settings->probability);
    for (uint32_t i = 0; each && i < agents; i++)
        if (!is_probability(each[i]))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "bernoulli: the probability of agent %u is %g, but it must be a "
                                  "number above 0 and at most 1",
                                  i, each[i]);
    return FPLT_OK;
}

static fplt_status bernoulli_prepare(fplt_participation *participation,
                                     const fplt_participation_settings *settings, fplt_error *error)
{
    participation->probability = settings->probability;
    if (!settings->probabilities)
        return FPLT_OK;
    size_t agents = participation->agents;
    fplt_status status =
        fplt__alloc_into(&participation->probabilities, agents,
                         sizeof *participation->probabilities, "the probabilities", error);
    if (!status)
        memcpy(participation->probabilities, settings->probabilities,
               agents * sizeof *settings->probabilities);
    return status;
}

/* Below this common probability the lengths of the gaps between those who take part are drawn, which
 * are geometric, instead of a coin for everyone. */
static const double rare = 0.125;

/* -log(1 - p) */
static double decay_of(double p)
{
    return fplt__log1p_unit(p / (1 - p));
}

static uint32_t choose_rare(const fplt_participation *participation, fplt_stream *stream,
                            uint32_t *active)
{
    double decay = decay_of(participation->probability), next = 0;
    uint32_t count = 0;
    for (;; next++) {
        next += floor(fplt__log(1 / fplt_stream_uniform(stream)) / decay);
        if (!(next < participation->agents))
            return count;
        active[count++] = (uint32_t)next;
    }
}

/* One uniform an agent in order of the agents, so that an agent's coin does not depend on the
 * probabilities of the others. */
static uint32_t bernoulli_choose(const fplt_participation *participation, fplt_stream *stream,
                                 uint64_t round, uint32_t *active)
{
    (void)round;
    const double *each = participation->probabilities;
    if (!each && participation->probability < rare)
        return choose_rare(participation, stream, active);
    double common = participation->probability;
    uint32_t count = 0;
    for (uint32_t i = 0; i < participation->agents; i++) {
        active[count] = i;
        count += fplt_stream_uniform(stream) < (each ? each[i] : common);
    }
    return count;
}

static double bernoulli_rate(const fplt_participation *participation, uint32_t agent)
{
    return participation->probabilities ? participation->probabilities[agent]
                                        : participation->probability;
}

static uint32_t bernoulli_least(const fplt_participation *participation)
{
    uint32_t certain = 0;
    for (uint32_t i = 0; i < participation->agents; i++)
        certain += bernoulli_rate(participation, i) == 1;
    return certain;
}

/* fixed and round-robin */

static fplt_status count_check(const char *rule, uint32_t count, uint32_t agents, fplt_error *error)
{
    if (count >= 1 && count <= agents)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: count is %u, but it must be a whole number from 1 to %u, the number "
                          "of agents",
                          rule, count, agents);
}

static fplt_status fixed_check(const fplt_participation_settings *settings, uint32_t agents,
                               fplt_error *error)
{
    return count_check("fixed", settings->count, agents, error);
}

static fplt_status round_robin_check(const fplt_participation_settings *settings, uint32_t agents,
                                     fplt_error *error)
{
    return count_check("round-robin", settings->count, agents, error);
}

static fplt_status count_prepare(fplt_participation *participation,
                                 const fplt_participation_settings *settings, fplt_error *error)
{
    (void)error;
    participation->count = settings->count;
    return FPLT_OK;
}

static uint32_t fixed_choose(const fplt_participation *participation, fplt_stream *stream,
                             uint64_t round, uint32_t *active)
{
    (void)round;
    fplt__stream_choose(stream, participation->count, participation->agents, active);
    return participation->count;
}

/* Round k takes the `count` agents from k count on, modulo N; those that wrapped come first. */
static uint32_t round_robin_choose(const fplt_participation *participation, fplt_stream *stream,
                                   uint64_t round, uint32_t *active)
{
    (void)stream;
    uint64_t agents = participation->agents, count = participation->count;
    uint64_t first = round % agents * count % agents;
    uint64_t wrapped = first + count > agents ? first + count - agents : 0;
    for (uint64_t j = 0; j < count; j++)
        active[j] = (uint32_t)(j < wrapped ? j : first + j - wrapped);
    return participation->count;
}

/* Also the share of rounds under round-robin: in N rounds everyone has `count` turns. */
static double count_rate(const fplt_participation *participation, uint32_t agent)
{
    (void)agent;
    return (double)participation->count / participation->agents;
}

static uint32_t count_least(const fplt_participation *participation)
{
    return participation->count;
}

/* trace */

static fplt_status trace_check(const fplt_participation_settings *settings, uint32_t agents,
                               fplt_error *error)
{
    (void)agents;
    if (!settings->trace || !*settings->trace)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "trace: no file is given, but the rule needs one");
    return FPLT_OK;
}

static fplt_status trace_prepare(fplt_participation *participation,
                                 const fplt_participation_settings *settings, fplt_error *error)
{
    return fplt__trace_read(settings->trace, participation->agents, &participation->trace, error);
}

static uint32_t trace_choose(const fplt_participation *participation, fplt_stream *stream,
                             uint64_t round, uint32_t *active)
{
    (void)stream;
    const fplt__trace *trace = &participation->trace;
    size_t line = (size_t)(round % trace->rounds);
    size_t count = trace->start[line + 1] - trace->start[line];
    if (count)
        memcpy(active, trace->member + trace->start[line], count * sizeof *active);
    return (uint32_t)count;
}

static double trace_rate(const fplt_participation *participation, uint32_t agent)
{
    return (double)participation->trace.turns[agent] / (double)participation->trace.rounds;
}

static uint32_t trace_least(const fplt_participation *participation)
{
    const fplt__trace *trace = &participation->trace;
    size_t least = participation->agents;
    for (size_t line = 0; line < trace->rounds; line++) {
        size_t count = trace->start[line + 1] - trace->start[line];
        least = count < least ? count : least;
    }
    return (uint32_t)least;
}

static const struct rule registry[] = {
    {"all", "everyone in every round", NULL, NULL, all_choose, all_rate, all_least},
    {"bernoulli", "each with a probability of its own, independently", bernoulli_check,
     bernoulli_prepare, bernoulli_choose, bernoulli_rate, bernoulli_least},
    {"fixed", "a fixed number, uniformly without replacement", fixed_check, count_prepare,
     fixed_choose, count_rate, count_least},
    {"round-robin", "a fixed number, by turns", round_robin_check, count_prepare,
     round_robin_choose, count_rate, count_least},
    {"trace", "as a file lists them, round by round", trace_check, trace_prepare, trace_choose,
     trace_rate, trace_least},
};

enum { RULES = sizeof registry / sizeof *registry };

const char *fplt__participation_list(size_t index, const char **help)
{
    if (index >= RULES)
        return NULL;
    if (help)
        *help = registry[index].help;
    return registry[index].name;
}

static const struct rule *find_rule(const char *name)
{
    for (size_t i = 0; i < RULES; i++)
        if (strcmp(registry[i].name, name) == 0)
            return &registry[i];
    return NULL;
}

fplt_status fplt_participation_create(const fplt_participation_settings *settings, uint32_t agents,
                                      fplt_participation **out, fplt_error *error)
{
    *out = NULL;
    const char *name = settings->rule ? settings->rule : "";
    const struct rule *rule = find_rule(name);
    if (!rule)
        return fplt__unknown_name("participation rule", name, fplt__participation_list, error);
    if (agents == 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "participation: there are 0 agents, but there must be at least 1");
    fplt_status status;
    if (rule->check && (status = rule->check(settings, agents, error)))
        return status;
    fplt_participation *participation;
    if ((status =
             fplt__alloc_into(&participation, 1, sizeof *participation, "participation", error)))
        return status;
    participation->rule = rule;
    participation->agents = agents;
    if (rule->prepare && (status = rule->prepare(participation, settings, error))) {
        fplt_participation_destroy(participation);
        return status;
    }
    participation->fewest = rule->least(participation);
    *out = participation;
    return FPLT_OK;
}

void fplt_participation_destroy(fplt_participation *participation)
{
    if (!participation)
        return;
    fplt__trace_release(&participation->trace);
    fplt__free(participation->probabilities);
    fplt__free(participation);
}

uint32_t fplt_participation_choose(const fplt_participation *participation, uint64_t seed,
                                   uint32_t run, uint64_t round, uint32_t *active)
{
    fplt_stream stream = fplt_stream_make(seed, run, FPLT_FOR_PARTICIPATION, round, 0, 0);
    return participation->rule->choose(participation, &stream, round, active);
}

uint32_t fplt__participation_agents(const fplt_participation *participation)
{
    return participation->agents;
}

double fplt__participation_rate(const fplt_participation *participation, uint32_t agent)
{
    return participation->rule->rate(participation, agent);
}

uint32_t fplt__participation_least(const fplt_participation *participation)
{
    return participation->fewest;
}

int fplt__participation_is_full(const fplt_participation *participation)
{
    return fplt__participation_least(participation) == participation->agents;
}

const char *fplt__participation_name(const fplt_participation *participation)
{
    return participation->rule->name;
}
