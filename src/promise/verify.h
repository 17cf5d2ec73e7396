/* A verification while it runs, shared by verify.c (the certificate itself) and verify_model.c (the model with it). */
#ifndef FPLT_PROMISE_VERIFY_H
#define FPLT_PROMISE_VERIFY_H

#include "promise/certificate.h"

enum { FPLT__FAILS = 0, FPLT__HOLDS = 1, FPLT__NOTICE = 2 }; /* as a finding says it */

struct fplt__verification {
    const char *path;
    const json_t *root; /* the certificate */
    const fplt_certificate_look *look;
    int holds;
    int version; /* of the certificate */
    fplt_promise_view view;
    fplt__certificate_run run;
    double parameter[FPLT_MAX_PARAMETERS];
    uint64_t *records, *rounds;          /* owned */
    double *tau;                         /* owned */
    const char **names;                  /* owned array */
    fplt__certificate_account *accounts; /* owned array, or NULL */
    fplt__certificate_charge *charges;   /* owned: those of all accounts */
};

/* Reports one finding; one that fails makes the whole verification fail. */
void fplt__verification_find(struct fplt__verification *self, int holds, const char *format, ...)
    FPLT_PRINTF(3, 4);

/* Equal but for the last digits: both come from the same formula on the same numbers. */
int fplt__verification_same(double a, double b);

/* Whether the model is the one that the certificate was made for: its digest, its schema, what it says of the certificate,
 * and what its training record says of the run. */
fplt_status fplt__verification_model(struct fplt__verification *self, const json_t *model,
                                     const char *path, fplt_error *error);

#endif
