/* How far apart measurements are. Work is counted, never time, so that a run is the same on every machine: in
 * numbers of records that a gradient visits, by weights that were measured once (bench/growth.c shows what comes
 * of them). They are on the side of fewer measurements. */
#include <math.h>

#include "job/job.h"
#include "objective/objective.h"
#include "fedplt/solver.h"

enum {
    RECORD = 8,      /* the function of a record's margin */
    SPARSE_ROW = 16, /* numbers of a sparse row: those of other processes are not known */
    CALL = 200,      /* what a gradient takes besides */
    PASSES = 2,      /* a measurement traverses the records once, for value, gradient and hits */
    /* a coordinate: added to the exact sum by an agent, and read, joined and judged by the coordinator */
    AGENT_MEASURED = 70,
    AGENT_TRAINED = 60,
    MEASURED = 150,
    TRAINED = 20,
    AGENT = 500, /* what a measurement takes besides for an agent: small ones train side by side */
    /* orders to the agents; a measurement takes two */
    MEASUREMENT = 17000,
    ROUND = 4000
};

/* A gradient over so many records. */
static double gradient(const fplt__load *load, double records)
{
    double row = load->sparse ? fmin(load->columns, SPARSE_ROW) : load->columns;
    return records * load->outputs * (row + RECORD) + CALL;
}

/* Records that a local epoch visits. */
static double visited(const fplt_training *training, double records)
{
    int step = training->solver && training->solver->traits & FPLT_STOCHASTIC && !training->by_pass;
    return step ? fmin(training->batch, records) : records;
}

fplt__load fplt__load_of(const fplt_objective *o)
{
    uint32_t agents = fplt_objective_agents(o);
    fplt__load load = {.columns = (double)o->columns,
                       .outputs = (double)o->outputs,
                       .dimension = (double)o->dimension,
                       .sparse = o->sparse};
    for (uint32_t i = 0; o->place && i < agents; i++)
        load.records += (double)fplt_objective_records(o, i);
    load.records /= agents;
    return load;
}

double fplt__load_spacing(const fplt__load *load, const fplt_training *training, double agents,
                          double active)
{
    double n = load->dimension, epochs = training->epochs ? training->epochs : 1;
    active = fmax(active, 1);
    if (!(load->records > 0)) /* gradients are taken to be all of the work */
        return fmax(1, ceil(4 * PASSES * agents / (active * epochs) - 1e-6));
    double measurement =
        agents * (PASSES * gradient(load, load->records) + AGENT_MEASURED * n + AGENT) +
        MEASURED * n + MEASUREMENT;
    double round =
        active * (epochs * gradient(load, visited(training, load->records)) + AGENT_TRAINED * n) +
        TRAINED * n + ROUND;
    return fmax(1, ceil(4 * measurement / round - 1e-6));
}
