/* What the modules above and the program ask an engine, beside fedplt/engine.h. */
#ifndef FPLT_ENGINE_ENGINE_ACCESS_H
#define FPLT_ENGINE_ENGINE_ACCESS_H

#include "fedplt/algorithm.h"
#include "fedplt/engine.h"

/* The same at any point. */
fplt_status fplt__engine_measure_at(fplt_engine *engine, const double *x, fplt_measure *measure,
                                    fplt_error *error);

/* An agent's vectors; NULL where they are in another process. */
const double *fplt__engine_kept(const fplt_engine *engine, uint32_t agent);

/* The vectors of all agents, one after the other, wherever they are: calls visit(context, agent, kept)
 * until it fails. */
fplt_status fplt__engine_visit(fplt_engine *engine,
                               fplt_status (*visit)(void *context, uint32_t agent,
                                                    const double *kept),
                               void *context, fplt_error *error);

/* The shape of the algorithm for the parameters of this run. */
fplt_shape fplt__engine_shape(const fplt_engine *engine);

/* The parameters as resolved (fplt__engine_parameters, belongs to the engine), the curvature of all
 * agents with cohort and epochs (fplt__engine_facts), an agent's step, NaN where its solver takes
 * none (fplt__engine_step), and its updates so far (fplt__engine_updates). Agents count from 0; the
 * number is not checked. */
const double *fplt__engine_parameters(const fplt_engine *engine);
fplt_facts fplt__engine_facts(const fplt_engine *engine);
double fplt__engine_step(const fplt_engine *engine, uint32_t agent);
uint64_t fplt__engine_updates(const fplt_engine *engine, uint32_t agent);

/* Whether the running sums equal the sum of the agents' own vectors, to the bit. */
int fplt__engine_consistent(fplt_engine *engine);

#endif
