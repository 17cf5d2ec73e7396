/* A loss as a function of a record's margins m_k = <a, x_k> (one an output), and the smooth
 * regularisers. Everything that differs between losses is in these tables. */
#ifndef FPLT_OBJECTIVE_LOSS_H
#define FPLT_OBJECTIVE_LOSS_H

#include "fedplt/data.h"
#include "linalg/kernel.h"

/* Records that are treated together, at most. */
enum { FPLT_CHUNK = 256 };

/* Some records of one agent. Margins and their like are arrays of `outputs` times `stride` numbers,
 * output after output, `count` of each used. */
typedef struct fplt__block {
    const fplt__kernel *kernel;
    double parameter;              /* of the loss */
    size_t count, outputs, stride; /* outputs: with what all records share */
    const double *label;           /* NULL where the loss flips rows: of those is known ... */
    const unsigned char *negative; /* ... whether the label was negative */
    const double *weight; /* of the records, mean 1; NULL: all 1. Only whole losses look at it */
    double *room;         /* fplt__loss_room x stride, for whole losses only */
    /* clustered losses: the number of each record's cluster, equal ones beside each other; NULL: all are of one */
    const uint32_t *cluster;
    const double *rule; /* of quadrature: fplt__hermite_rule */
} fplt__block;

/* Where a quantity can lie, and with it the scale of its interval. */
typedef enum fplt__range {
    FPLT__RANGE_ANY,      /* no interval but by tests */
    FPLT__RANGE_POSITIVE, /* the interval of the logarithm */
    FPLT__RANGE_SHARE     /* between 0 and 1: of the logit */
} fplt__range;

/* What is printed of coordinates that all records share: numbers that follow from them and from the intercept. */
typedef struct fplt__display {
    size_t (*quantities)(size_t shared);
    int replaces_intercept; /* they say all that the intercept says */
    int has_tests;          /* to compare one with 0 means something */
    void (*name)(const char *const *class_names, size_t which, char *room, size_t size);
    /* Number `which`; slopes: its derivatives by the intercept, then by each shared coordinate. */
    double (*value)(size_t which, double intercept, const double *shared, size_t count,
                    double *slopes);
    const char *note; /* a sentence on the standard errors */
    /* a sentence for quantities above 0 of which the data do not tell the size: they are not shown; NULL: none */
    const char *unknown;
    fplt__range (*range)(size_t which); /* NULL: FPLT__RANGE_ANY */
    /* a sentence for a fit at the boundary, where the first quantity is 0; no error is known of one that is. NULL: none */
    const char *boundary;
} fplt__display;

typedef struct fplt__loss {
    const char *name, *help;
    unsigned tasks; /* bit 1 << task for those it fits */
    int flips;      /* margins are of -label times the row, and the label is not used */
    int classes;    /* one output a class, labels 0, 1, ... */
    int ordered;    /* one output, labels 0, 1, ... in their order */
    int sigmoid;    /* its slope is the kernel's sigmoid of the margin */
    int likelihood; /* minus the logarithm of one, up to a constant and a factor: its curvature tells
                        how far estimates may be off */
    int dispersed;  /* that factor is unknown, and estimated from the losses */
    int probable;   /* margins are logits: they give probabilities of the classes */
    int exponential; /* what is predicted is e^margin: an expected count, a hazard */
    int counts;      /* labels are at least 0 */
    int positive;    /* labels are above 0 */
    int kinked;      /* its second derivative jumps */
    /* dispersed: the factor is the mean of the squared slopes (Pearson's statistic over the degrees of freedom), not of
     * twice the losses */
    int pearson;
    /* The second derivative has no bound: `most` is its mean where the model holds, a scale for the criterion and no more.
     * Only methods that search their step take it. */
    int unbounded;
    /* No sum over records: a block has all of an agent's, in the order that the loss wants, and what
     * `value`, `slope` and `bend` make of a record depends on the others, weights included. */
    int whole;
    /* whole: labels are times with their events, the latest first; a constant in the margins changes nothing */
    int hazards;
    /* whole: records of a cluster beside each other; values of a cluster are at its first record. Rows have no weights, and
     * every row counts alike: a likelihood */
    int clustered;
    size_t (*room)(double parameter); /* whole: numbers of the block's room a record; NULL: 3 */
    const char *
        parameter; /* the setting that it has beside: huber-delta, predictor-bound, ties, quadrature-points; or NULL */
    double least, most;                  /* bounds of the second derivative in the margin */
    double (*most_of)(double parameter); /* the same where it depends on the parameter; or NULL */

    void (*value)(const fplt__block *block, double *margins); /* margins become losses */
    void (*slope)(const fplt__block *block, double *margins); /* margins become derivatives */
    /* optional: margins become derivatives, `values` losses, both as by the two above and cheaper */
    void (*both)(const fplt__block *block, double *margins, double *values);
    /* margins become what `bend` needs to replace directions by second derivative times
     * direction */
    void (*curve)(const fplt__block *block, double *margins);
    void (*bend)(const fplt__block *block, const double *curve, double *directions);
    /* whole losses only, or NULL: directions become the gradients' share of every record (score residuals), up to
     * their sign, for robust errors */
    void (*score)(const fplt__block *block, const double *curve, double *directions);
    size_t (*hits)(const fplt__block *block, const double *margins);
    /* Optional, of a likelihood: */
    /* margins become the means of their second derivatives, which `curve` and `bend` have only of the labels at hand: the
     * information behind standard errors is the expected one; NULL: they are the same */
    void (*expect)(const fplt__block *block, double *margins);
    /* what the likelihood has of a label beside its loss: log y! of counts, log y of gamma */
    double (*constant)(double label);
    /* of a label with its mean: twice the loss minus the least that it can be */
    double (*deviance)(double label, double mean, const double *shared);
    /* probable, of one output: the probability of the second class; NULL: margins are logits */
    double (*probability)(double margin);
    /* Coordinates behind the intercepts that all records share, of labels of so many classes (0: numbers). Each is a
     * further margin behind those of the outputs, the same of every record, and `outputs` of a block counts them: the
     * loss sees no other difference. NULL: none */
    size_t (*shared)(size_t classes);
    const fplt__display *display; /* set where `shared` is */
    /* with `shared`, in place of `expect`: as `bend`, by the means of the second derivatives */
    void (*expect_bend)(const fplt__block *block, const double *curve, double *directions);
    /* ordered: of each class, from the score and the shared coordinates */
    void (*probabilities)(double score, const double *shared, size_t count, double *probabilities);
    /* ordered: the class of the largest of these, the first of equal ones */
    size_t (*likeliest)(double score, const double *shared, size_t count);
} fplt__loss;

/* Whether it has the setting of this name beside. */
int fplt__loss_has(const fplt__loss *loss, const char *setting);
/* Numbers a record in the room of a block: 0 where the loss is a sum over records. */
size_t fplt__loss_room(const fplt__loss *loss, double parameter);
/* How many coordinates all records share. */
size_t fplt__loss_shared(const fplt__loss *loss, size_t classes);

typedef struct fplt__regulariser {
    const char *name, *help;
    double least, most; /* bounds of its second derivative */
    double (*value)(const double *x, size_t count);
    /* gradient = factor times it, plus `weight` times the regulariser's */
    void (*slope)(double factor, double weight, const double *x, size_t count, double *gradient);
    /* add `weight` times second derivative times v, second derivative */
    void (*bend)(double weight, const double *x, const double *v, size_t count, double *product);
    double (*curve)(double x);
} fplt__regulariser;

/* A regulariser as an objective has it: `weight` times its sum over coordinates, each divided by its unit. */
typedef struct fplt__penalty {
    const fplt__regulariser *kind;
    double weight;
    double *units;      /* owned; one a coordinate; NULL: 1 each */
    size_t count;       /* coordinates */
    double least, most; /* bounds of its second derivative */
} fplt__penalty;

/* Of `outputs` times `features` coordinates; `units` (one a feature, or NULL) are copied. */
fplt_status fplt__penalty_make(const fplt__regulariser *kind, double weight, const double *units,
                               size_t features, size_t outputs, fplt__penalty *penalty,
                               fplt_error *error);
double fplt__penalty_value(const fplt__penalty *penalty, const double *x);
/* gradient = factor times it, plus `scale` times that of the penalty; `gradient` must not overlap x */
void fplt__penalty_slope(const fplt__penalty *penalty, double factor, double scale, const double *x,
                         double *gradient);
/* Adds `scale` times second derivative times v. */
void fplt__penalty_bend(const fplt__penalty *penalty, double scale, const double *x,
                        const double *v, double *product);
/* `scale` times the second derivative in coordinate j, which is x. */
double fplt__penalty_curve(const fplt__penalty *penalty, double scale, size_t j, double x);

extern const fplt__loss *const fplt__losses[];              /* ends with NULL */
extern const fplt__regulariser *const fplt__regularisers[]; /* ends with NULL */

fplt_status fplt__loss_find(const char *name, const fplt__loss **loss, fplt_error *error);
/* Names the first part that a loss of these tasks needs and that this one lacks; NULL: it is complete. */
const char *fplt__loss_lacks(const fplt__loss *loss);
fplt_status fplt__regulariser_find(const char *name, const fplt__regulariser **regulariser,
                                   fplt_error *error);

#endif
