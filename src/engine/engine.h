/* The engine's inside: shared by the round loop and the checkpoint. */
#ifndef FPLT_ENGINE_ENGINE_H
#define FPLT_ENGINE_ENGINE_H

#include "base/sum.h"
#include "engine/fleet.h"
#include "engine/hub.h"
#include "engine/stopping.h"
#include "fedplt/engine.h"
#include "fedplt/settings_table.h"

struct fplt_engine {
    const fplt_objective *objective;         /* borrowed */
    const fplt_prox *prox;                   /* borrowed, or `no_prox` */
    const fplt_participation *participation; /* borrowed, or `all` */
    fplt_prox *no_prox;                      /* owned */
    fplt_participation *all;                 /* owned */
    fplt_run_settings settings;              /* arrays in it are not kept */
    fplt_plan plan;
    const fplt_setting *given; /* the first parameter that is not left to its default, or NULL */
    fplt_facts facts;
    fplt_hub *hub;
    fplt__fleet *fleet;
    fplt_curvature *curvatures;           /* owned; one an agent */
    fplt_training *each;                  /* owned; one an agent, or NULL */
    uint32_t *active;                     /* owned; room for all */
    uint64_t *updates;                    /* owned; one an agent */
    double *down, *point, *before, *wide; /* owned */
    fplt__sum *sum;                       /* owned; an evaluation, or all mirrored */
    fplt__sum *found; /* owned: the last evaluation, where rounds ask for the same; or NULL */
    double *found_at; /* owned: where that was, once `finds` */
    int finds;
    fplt_counters counters;
    uint64_t round; /* rounds done: the number of the next */
    uint32_t last_active;
    uint64_t seen;      /* one more than the rounds done when `before` was the model; 0: never */
    double moved;       /* how far the model went in the round before that */
    fplt_error failure; /* of a round that ended half way */
    fplt_measure start;
    int started;
    double base;                /* what a relative tolerance is a share of; NaN: not known yet */
    unsigned char identity[32]; /* of problem and settings, once `identified` */
    int identified;
};

/* The criterion that the settings ask for, once the start was measured. */
double fplt__engine_target(const fplt_engine *engine);

/* Where rounds ask for what was measured at this point already: its sums, or NULL. */
const fplt__sum *fplt__engine_found(const fplt_engine *engine, const double *x);

/* The information in the records of all agents, as fplt__objective_information has it. */
fplt_status fplt__engine_information(fplt_engine *engine, const double *x,
                                     const fplt__information *sums, fplt_error *error);

#endif
