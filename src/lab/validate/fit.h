/* One model trained on some rows and measured on others. */
#ifndef FPLT_LAB_VALIDATE_FIT_H
#define FPLT_LAB_VALIDATE_FIT_H

#include "fedplt/validate.h"

/* Rows that are in, in their order, agents without any left out; FPLT_BAD_DATA where none is. */
fplt_status fplt__rows_where(const fplt_dataset *dataset, const unsigned char *is_in,
                             fplt_dataset **chosen, fplt_error *error);

/* Who is told how far it is, also in the middle of a training, and may stop it. */
typedef struct fplt__audience {
    fplt_watch watch; /* or NULL */
    void *context;
    size_t done, total; /* trainings */
    int stopped;
} fplt__audience;

/* Tells; non-zero when it was, or is now, asked to stop. */
int fplt__audience_notify(fplt__audience *audience);

/* Trains; `training` is taken over, also on failure. Where the audience stops it there is no model. */
fplt_status fplt__fit(const fplt_settings *settings, fplt_dataset *training,
                      fplt__audience *audience, fplt_model **model, fplt_error *error);

/* The measure that speaks for a task, by name and from a quality. */
const char *fplt__quality_name(fplt_task task);
double fplt__quality_of(fplt_task task, const fplt_quality *quality);

/* FPLT_UNSUPPORTED where the settings ask for a promise. */
fplt_status fplt__refuse_private(const fplt_settings *settings, const char *what,
                                 fplt_error *error);

#endif
