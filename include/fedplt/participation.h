/* Participation: which agents are active in a round. A rule is a pure function of (seed, run, round); rounds are counted
 * from 0.
 *
 * Threads and blocking: fplt_participation_create blocks on the file of a trace. A rule does not change: any number of threads
 * may use it. */
#ifndef FEDPLT_PARTICIPATION_H
#define FEDPLT_PARTICIPATION_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_participation fplt_participation;

typedef struct fplt_participation_settings {
    const char *rule;            /* all, bernoulli, fixed, round-robin, trace */
    double probability;          /* bernoulli: of every agent; above 0, at most 1 */
    const double *probabilities; /* bernoulli: one an agent instead, or NULL (copied) */
    uint32_t count;              /* fixed, round-robin: agents a round */
    const char *trace; /* trace: a text file, each line lists the agents (0-based, separated by
                                   blanks or commas) active in one round, the first line those of
                                   round 0; it repeats from the start; # begins a comment, an empty
                                   line is a round without agents, a line with only a comment is no
                                   round */
} fplt_participation_settings;

/* Makes a rule for `agents` agents, 1 or more. Settings are borrowed for the call; a trace is read
 * now. FPLT_BAD_VALUE for an unknown rule or a number out of range, FPLT_IO or FPLT_BAD_DATA for the trace's file, naming
 * its line. */
FPLT_API fplt_status fplt_participation_create(const fplt_participation_settings *settings,
                                               uint32_t agents, fplt_participation **participation,
                                               fplt_error *error);
/* Releases the rule; NULL is legal. */
FPLT_API void fplt_participation_destroy(fplt_participation *participation);

/* Writes the active agents in increasing order (room for all) and returns how many. */
FPLT_API uint32_t fplt_participation_choose(const fplt_participation *participation, uint64_t seed,
                                            uint32_t run, uint64_t round, uint32_t *active);

#ifdef __cplusplus
}
#endif
#endif
