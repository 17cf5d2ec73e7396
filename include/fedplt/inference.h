/* What hospitals publish: coefficients with standard errors, from the sums over all sites of what their
 * records tell. */
#ifndef FEDPLT_INFERENCE_H
#define FEDPLT_INFERENCE_H

#include "fedplt/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sums behind standard errors; a model carries them where they were computed. Both matrices are
 * row-major, dimension x dimension. */
struct fplt_inference {
    double records;      /* whose sums they are */
    double dispersion;   /* factor of the covariance: 1, or the variance of the residuals */
    int penalised;       /* the cost had a regulariser or h: coefficients are shrunk */
    int by_rows;         /* every row counted alike */
    double *information; /* owned: Hessian of the losses */
    double *scores; /* owned: sum of the records' gradients times themselves; NULL: not known */
};

/* At x, from costs over records. FPLT_UNSUPPORTED for a caller's own costs. */
FPLT_API fplt_status fplt_inference_make(const fplt_objective *objective, const char *loss,
                                         const double *x, int penalised, int by_rows,
                                         fplt_inference *inference, fplt_error *error);
/* Releases what the struct owns; a zeroed struct is legal. */
FPLT_API void fplt_inference_clear(fplt_inference *inference);

typedef struct fplt_summary_settings {
    double level;  /* of the intervals: 0.95 */
    int robust;    /* the sandwich: right also where the model's variance is wrong */
    int own_units; /* undo what standardising did to the columns */
} fplt_summary_settings;

/* 0.95, not robust, own units. */
FPLT_API fplt_summary_settings fplt_summary_defaults(void);

/* One line a coefficient: name, coefficient, std_error, z, p, low, high, and where e^coefficient means
 * something its name (odds_ratio, rate_ratio, hazard_ratio) with its interval. `notes` has sentences
 * that say where the errors do not mean what they seem, one a line, released with fplt_free; it may be
 * empty. FPLT_UNSUPPORTED, with the reason, where there are none. */
FPLT_API fplt_status fplt_model_summary(const fplt_model *model,
                                        const fplt_summary_settings *settings, fplt_table **table,
                                        char **notes, fplt_error *error);

/* A new model with the same loss on these rows (as fplt_model_dataset gives them), every row counting
 * alike and nothing penalised, by Newton's method from the model's weights; `refit` 0: the weights stay,
 * and only the sums are computed. FPLT_UNREACHABLE where no minimiser is found: classes that columns
 * separate perfectly have none. */
FPLT_API fplt_status fplt_model_infer(const fplt_model *model, const fplt_dataset *dataset,
                                      int refit, fplt_model **inferred, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
