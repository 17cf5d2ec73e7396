/* What missing values become. */
#ifndef FPLT_DATA_FILL_H
#define FPLT_DATA_FILL_H

#include "data/dataset.h"

/* One number a feature, as settings->fill says; its word is checked. */
fplt_status fplt__fill_fit(const fplt_dataset *dataset, const fplt_transform_settings *settings,
                           double *fill, fplt_error *error);

#endif
