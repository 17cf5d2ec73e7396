/* A design's inside: made in design.c, applied to rows in design_apply.c. */
#ifndef FPLT_DATA_DESIGN_H
#define FPLT_DATA_DESIGN_H

#include "data/formula.h"

/* A variable among the inputs, and what its columns are made of. */
typedef struct fplt__measured {
    fplt__variable_kind kind;
    unsigned degree;
    size_t input;  /* its first */
    size_t levels; /* of a category; 0: a number */
    int encoded;   /* the levels are inputs themselves */
    size_t number; /* poly: degree centres, then degree + 1 squared norms; C(): the levels */
    size_t basis;  /* its first place in a row's room */
    size_t width;
    char column[FPLT__VARIABLE_TEXT], text[2 * FPLT__VARIABLE_TEXT];
} fplt__measured;

struct fplt_design {
    char *text;
    fplt__names inputs, names;
    fplt__names sites; /* with effects: the first is the reference */
    fplt__measured variable[FPLT__VARIABLES_MAX];
    size_t variables, columns, room;
    int intercept;
    size_t
        at_once; /* columns that are not 0 in one row at most: one combination of the levels of a term */
    size_t categories; /* of those, the ones without a number */
    size_t *first;     /* columns + 1: where the factors of a column begin */
    size_t *factor;    /* places in the room */
    double *number;    /* found on the training rows */
    size_t numbers, capacity;
};

#endif
