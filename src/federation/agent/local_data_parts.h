/* The parts of an agent's data, for the two files that read them and make a cost of them. */
#ifndef FPLT_FEDERATION_LOCAL_DATA_PARTS_H
#define FPLT_FEDERATION_LOCAL_DATA_PARTS_H

#include "data/dataset.h"
#include "fedplt/solver.h"
#include "federation/agent/local_data.h"
#include "federation/plan/columns.h"
#include "federation/plan/validation.h"
#include "job/job.h"

struct fplt__local_data {
    fplt_settings *settings;
    fplt_settings
        *terms; /* what the proposal says alone: the site may read its file in another way */
    fplt_schema *schema;    /* of the proposal, or NULL */
    fplt_job_source source; /* what a promise sets */
    fplt_dataset *training, *held_out;
    size_t
        inputs; /* columns of the rows as they were read, before a formula makes others of them */
    fplt__dictionary own; /* what the file has; nothing where a schema of the proposal says it */
    char *
        settled; /* owned: the common dictionary that the rows have; NULL: not yet, or by the schema */
    double *prepared; /* owned: as it was told (fplt__local_data_prepare); NULL: not yet */
    size_t prepared_count;
    fplt__local_formula formula;
    fplt_objective *objective;  /* of the rows, or the lent one with its gradients shortened */
    const fplt_objective *lent; /* a custom cost, in place of all rows; NULL: none */
    fplt_noise *noise;
    fplt_noise_source source_of_noise;
    fplt_objective *scored; /* of the held-out rows; made when they are asked for */
    double *scratch;        /* for them */
    fplt__row_sets sets;
    fplt__validation_part part; /* of a validation: which fold is held out */
    uint32_t *fold;             /* owned: of each row as it was read; NULL: no fold is held out */
    uint32_t most_folds;        /* that these rows can have, where a validation begins */
    uint32_t members;           /* of the proposal */
    double *
        norms; /* owned: of the packed rows, and scratch behind them; made when they are asked for */
    double *judged; /* behind these: the point at which influence was asked for last; NULL: none */
};

#endif
