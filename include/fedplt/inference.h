/* What hospitals publish: coefficients with standard errors, from the sums over all sites of what their
 * records tell.
 *
 * Threads and blocking: thread-safe, as models and data sets are only read; nothing blocks. fplt_model_infer computes for as
 * long as a training by Newton's method. */
#ifndef FEDPLT_INFERENCE_H
#define FEDPLT_INFERENCE_H

#include "fedplt/model.h"
#include "fedplt/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sums behind standard errors; a model carries them where they were computed. Both matrices are
 * row-major, dimension x dimension. */
struct fplt_inference {
    double records; /* sum of the weights of the rows whose sums they are */
    double
        dispersion; /* factor of the covariance: 1, the variance of the residuals, or that of y/mu (gamma) */
    int penalised;       /* the cost had a regulariser or h: coefficients are shrunk */
    int by_rows;         /* every row counted alike */
    double *information; /* owned: Hessian of the losses */
    double *scores; /* owned: sum of the records' gradients times themselves; NULL: not known */
    /* A coefficient that a refit left out has zeros in its row and column of both. What follows is 0 in models of
     * earlier programs. */
    double rows;        /* with a weight above 0 */
    double events;      /* of these, rows of the second of two classes or with an event */
    double losses;      /* sum of the losses */
    double log_weights; /* sum of the logarithms of the weights */
    double constant;    /* sum over the rows of log y! of counts, of log y of the loss gamma */
    double zero_losses; /* losses where all coefficients are 0 */
    double
        null_losses; /* losses with nothing but an intercept, where the model has one; NaN: not known */
    double pearson; /* gamma: Pearson's statistic, the sum of (y/mu - 1)^2; otherwise 0 */
};

typedef struct fplt_summary_settings {
    double level;  /* of the intervals: 0.95 */
    int robust;    /* the sandwich: right also where the model's variance is wrong */
    int own_units; /* undo what standardising did to the columns */
    /* levels (column=level, a list) that the others of their category are compared with; NULL: those that the fit
     * left out, the first ones. Borrowed. */
    const char *reference;
} fplt_summary_settings;

/* 0.95, not robust, own units. */
FPLT_API fplt_summary_settings fplt_summary_defaults(void);

/* One line a coefficient: name, coefficient, std_error, z, p, low, high, and where e^coefficient means
 * something its name (odds_ratio, rate_ratio, hazard_ratio) with its interval. With least squares t stands for z, and
 * tests and intervals are those of Student's distribution with rows - rank degrees of freedom. With several classes
 * the first column is `class`, and coefficients are contrasts to the first class. A model with a penalty has no tests
 * and no intervals. Cells are missing where a coefficient was left out by a refit. `notes` has sentences
 * that warn where the errors are not valid, one a line, released with fplt_free; it may be
 * empty. FPLT_UNSUPPORTED, with the reason, where there are none. */
FPLT_API fplt_status fplt_model_summary(const fplt_model *model,
                                        const fplt_summary_settings *settings, fplt_table **table,
                                        char **notes, fplt_error *error);

/* How well a model fits the rows that its sums are of; NaN where a number is not known or has no meaning. */
typedef struct fplt_fit {
    double rows;       /* with a weight above 0 */
    double events;     /* of these, of the second of two classes or with an event */
    double parameters; /* estimated coefficients */
    double log_likelihood, null_log_likelihood; /* null: an intercept alone, or nothing */
    double aic, bic;
    double chi_squared, chi_freedom, chi_p; /* likelihood-ratio test against the null model */
    double pseudo_r2;                       /* McFadden's */
    double r2, adjusted_r2, sigma;          /* least squares; sigma: residual standard error */
    double f, f_numerator, f_denominator,
        f_p;           /* least squares; gamma: of the fall of the deviance */
    double dispersion; /* gamma: Pearson's */
} fplt_fit;

/* Of the model's own sums. FPLT_UNSUPPORTED, with the reason, where it has none. */
FPLT_API fplt_status fplt_model_fit(const fplt_model *model, fplt_fit *fit, fplt_error *error);

/* The refit that ended the run of a federation (`refit: yes`): the same loss on the rows of all sites without a penalty, with
 * the sums behind its standard errors at the coordinator. Part of the model, which must outlive it; NULL where there is none. */
FPLT_API const fplt_model *fplt_model_refit(const fplt_model *model);

/* A new model with the same loss on these rows (as fplt_model_dataset gives them), every row counting
 * alike, nothing penalised and no bound on the linear predictor of counts, by Newton's method from the model's
 * weights. Columns that are constant or depend on those before are left out: their weights are 0 and they have no
 * information; of a category with all its levels beside an intercept that is the first level. `refit` 0: the
 * weights stay, and only the sums are computed. FPLT_UNREACHABLE, with the reason, where no minimiser is found:
 * classes that columns separate perfectly have none. */
FPLT_API fplt_status fplt_model_infer(const fplt_model *model, const fplt_dataset *dataset,
                                      int refit, fplt_model **inferred, fplt_error *error);

#ifdef __cplusplus
}
#endif
#endif
