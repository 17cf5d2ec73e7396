/* What the modules above and the program ask h, beside fedplt/prox.h. */
#ifndef FPLT_PROX_PROX_ACCESS_H
#define FPLT_PROX_PROX_ACCESS_H

#include "fedplt/prox.h"

/* fplt__prox_dimension is the number of coordinates that h was made for, fplt__prox_name its kind as
 * in the settings, a constant text. Thread-safe. */
size_t fplt__prox_dimension(const fplt_prox *prox);
const char *fplt__prox_name(const fplt_prox *prox);

/* Nonzero when h is the zero function: by name, by weights of 0, or with nothing penalised. */
int fplt__prox_is_zero(const fplt_prox *prox);

/* What exists: name number `index` and one line of help; NULL past the last. */
const char *fplt__prox_list(size_t index, const char **help);

#endif
