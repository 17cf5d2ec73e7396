/* What the parts of `fedplt train` share. */
#ifndef FPLT_CLI_TRAIN_H
#define FPLT_CLI_TRAIN_H

#include "cli.h"
#include "fedplt/model.h"
#include "fedplt/promise.h"

struct training {
    fplt_job *job;             /* owned */
    const fplt_job_view *view; /* of the job */
    fplt_promise *plan;        /* owned; NULL: nothing is promised */
    char *certificate;         /* owned */
    fplt_engine *engine;       /* owned */
    fplt_history *history;     /* owned */
    fplt_model *model;         /* owned */
    fplt_result result;
    const char *out, *checkpoint;
    uint64_t checkpoint_every, resumed_at;
    fplt_meter meter;
    fplt_error error; /* of the observer */
    double seconds;
    int json, quiet, shows_progress, drawn;
    int made_folder, keeps_folder, pictures, agents_written;
};

/* The rows of an earlier part of a resumed run, where they are still in the folder. */
void train_read_history(struct training *training);

fplt_status train_print(cli_call *cli, const struct training *training, fplt_error *error);
fplt_status train_print_json(const struct training *training, fplt_error *error);

/* With privacy: makes the certificate of the run and writes it; says what is promised. */
fplt_status train_certify(struct training *training, fplt_error *error);
void train_print_promise(const struct training *training, fplt__buffer *out);

#endif
