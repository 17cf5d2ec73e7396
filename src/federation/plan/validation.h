/* Validation over the network: the penalty is chosen by folds within the sites, in a chain of runs under one consent.
 *
 *     run                        proposal              what it does
 *     R                          `validation`          sites agree to all that follows, and say how many folds they can
 *                                                      have; the least is `folds`. Nothing is trained.
 *     R + 1 + value*folds + fold `part: fold F of K`   a fit without the rows of one fold at every site, at one value of the
 *                                                      grid; the held-out rows are scored at its end
 *     R + 1 + values*folds       `part: chosen`        the fit on all rows at the value that was chosen
 *
 * and, with `refit: yes`, the refit of the last. Which rows are in which fold follows from a secret of the site. Every run
 * starts at zero. Each proposal follows from the first alone (following.h): the value and the fold are in its text. */
#ifndef FPLT_FEDERATION_VALIDATION_H
#define FPLT_FEDERATION_VALIDATION_H

#include "report/validation.h"
#include "wire/document.h"

/* As a proposal states it. */
typedef struct fplt__validation {
    char search[FPLT__WORD];
    double value[FPLT__VALIDATION_VALUES];
    size_t count;
    uint32_t folds; /* at most */
} fplt__validation;

/* Which part of a validation a run is. */
typedef enum fplt__validation_part_kind {
    FPLT__PART_NONE,
    FPLT__PART_FOLD,
    FPLT__PART_CHOSEN
} fplt__validation_part_kind;
typedef struct fplt__validation_part {
    fplt__validation_part_kind kind;
    uint32_t fold, folds; /* of FPLT__PART_FOLD: fold 0 to folds - 1 */
} fplt__validation_part;

/**
 * States the validation of federation.yaml in the proposal of its first run.
 *
 * @param pairs     as a person wrote them: search, grid, folds
 * @param proposal  all else of it, before defaults are stated
 * @retval FPLT_BAD_VALUE    a setting that is none, a penalty that there is not, or one that `train` states as well
 * @retval FPLT_UNSUPPORTED  with privacy, or of a custom cost
 */
fplt_status fplt__validation_propose(const char *pairs, fplt__proposal *proposal,
                                     fplt_error *error);
/* The validation that a proposal begins, which may come from a stranger. */
fplt_status fplt__validation_read(const fplt__proposal *proposal, fplt__validation *validation,
                                  fplt_error *error);
/* FPLT_BAD_DATA: `part` is none that there is. */
fplt_status fplt__validation_part_read(const fplt__proposal *proposal, fplt__validation_part *part,
                                       fplt_error *error);
/* Whether the run leaves out a fold; 0 also for a part that cannot be read. */
int fplt__leaves_out_fold(const fplt__proposal *proposal);

/* Makes of the first proposal that of fit number `at`, in place: value at/folds of the grid, without fold at%folds. The nonce
 * is the caller's. */
fplt_status fplt__validation_state_fit(fplt__proposal *proposal, const fplt__validation *validation,
                                       uint32_t folds, size_t at, fplt_error *error);
/* Makes of it that of the fit on all rows, in place; the number of the run is the caller's. */
fplt_status fplt__validation_state_chosen(fplt__proposal *proposal,
                                          const fplt__validation *validation, size_t value,
                                          fplt_error *error);
/* The value of the grid that the settings of a proposal have; `count` where it is none of them. */
size_t fplt__validation_value_of(const fplt__validation *validation,
                                 const fplt__proposal *proposal);

#endif
