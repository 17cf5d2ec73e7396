/* What the parts of `fedplt train` share. */
#ifndef FPLT_CLI_TRAIN_H
#define FPLT_CLI_TRAIN_H

#include "cli.h"
#include "fedplt/assessment.h"
#include "fedplt/trainer.h"
#include "report/report.h"

struct training {
    fplt_trainer *trainer; /* owned; the next four are its own */
    const fplt_job_view *view;
    fplt_engine *engine;
    const fplt_promise_view *promise; /* NULL: nothing is promised */
    const fplt_history *history;
    fplt_model *model; /* owned */
    fplt_result result;
    fplt_quality *held_out_each; /* owned: of the held-out rows, one a site; NULL: none */
    fplt_assessment held_out;
    const char *out;  /* where the files will be */
    const char *into; /* where they are written until all are there */
    fplt__meter meter;
    double seconds;
    int json, quiet, shows_progress, drawn;
    int made_folder, keeps_folder, pictures, agents_written, split_written;
};

/* Measures the held-out rows, where there are any, and writes them down. */
fplt_status train_assess(struct training *training, fplt_error *error);
fplt_status train_print(cli_call *cli, const struct training *training, fplt_error *error);
fplt_status train_print_json(const struct training *training, fplt_error *error);

/* With privacy: writes the certificate of the run; says what is promised. */
fplt_status train_certify(const struct training *training, fplt_error *error);
void train_print_promise(const fplt_promise_view *promise, cli_text *out);

#endif
