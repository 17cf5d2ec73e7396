/* The settings of a job that no module below has a table for. */
#ifndef FPLT_JOB_TABLES_H
#define FPLT_JOB_TABLES_H

#include "fedplt/settings.h"
#include "fedplt/settings_table.h"
#include "fedplt/solver.h"

extern const fplt_setting fplt__job_seed_table[], fplt__job_data_table[], fplt__job_holdout_table[],
    fplt__job_cost_table[], fplt__job_composite_table[], fplt__job_algorithm_table[],
    fplt__job_training_table[], fplt__job_participation_table[], fplt__job_run_table[];

/* Writes the choices of the tables from the registries; once before the tables are used. */
void fplt__job_tables_fill(void);

/* Whether batch, and tau, mean something to it. */
int fplt__is_stochastic(const fplt_solver *solver);
int fplt__is_noisy(const fplt_solver *solver);

#endif
