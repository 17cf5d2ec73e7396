/* The inside of weights: what their tables and files are made of. */
#ifndef FPLT_STUDY_WEIGHTING_INSIDE_H
#define FPLT_STUDY_WEIGHTING_INSIDE_H

#include "study/weighting.h"

typedef struct fplt__weighted_file {
    const char *path; /* borrowed */
    fplt_dataset *dataset;
    double *weight; /* owned, as the data set: one a row of it */
} fplt__weighted_file;

struct fplt__weighting {
    const fplt_model *model;   /* borrowed */
    fplt__weighted_file *file; /* owned */
    size_t files;
    double rows[2], truncated[2]; /* of the groups: the first class, and the second, the treated */
    double share, low, high;
    char separator; /* 0: as the files have it */
    int comma;      /* decimal sign */
};

/* Which row of its file a row of the data set is, from 1. */
size_t fplt__weighted_place(const fplt__weighted_file *file, size_t row);

#endif
