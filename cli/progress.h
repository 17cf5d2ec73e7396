/* The line that shows how far a long experiment is. */
#ifndef FPLT_CLI_PROGRESS_H
#define FPLT_CLI_PROGRESS_H

#include "cli.h"

typedef struct cli_progress {
    double begun, drawn;
    unsigned width; /* columns of the terminal; 0: nobody looks */
    int shown;
} cli_progress;

/* Begins; draws only where standard error is a terminal and `quiet` is not set. */
void cli_progress_begin(cli_progress *progress, int quiet);
/* A watch of an experiment: draws after two seconds, and asks to stop where someone interrupted. */
int cli_progress_watch(void *progress, size_t done, size_t total);
/* Shows how far the reading of a large file is (fplt__read_watch), unless that call is quiet. */
void cli_progress_reading(void *call, const char *file, size_t done, size_t size);
/* Erases the line and returns the seconds since the beginning. */
double cli_progress_end(cli_progress *progress);

/* Where the experiment was interrupted: says so and returns FPLT_OK with exit status 130. Otherwise
 * the status itself. */
fplt_status cli_interrupted_status(cli_call *cli, fplt_status status);

/* 13500 -> "13.5k"; infinite: "not reached", NaN: "" */
void cli_brief(double value, char *text, size_t size);

#endif
