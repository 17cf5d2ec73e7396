/* From documents to problems: what the settings of a proposal or plan mean at the coordinator, who
 * sees the shape of the data and counts of records only, and at an agent, who has its own data. Both
 * use the steps of `fedplt train` (fedplt/job.h), so that the same settings mean the same. */
#ifndef FPLT_FEDERATION_PLAN_RESOLUTION_H
#define FPLT_FEDERATION_PLAN_RESOLUTION_H

#include <jansson.h>

#include "fedplt/job.h"
#include "fedplt/model.h"
#include "fedplt/promise.h"
#include "fedplt/schema.h"
#include "federation/plan/proposal.h"
#include "federation/plan/run_design.h"
#include "job/outline.h"
#include "protocol/leader.h"

/* Facts travel in steps: what the rows look like; without a schema what columns, levels and classes are called, and
 * what they are in the run; where columns are standardised by what they are like,
 * their ranges, exact sums, and exact sums of squares about the mean; then how the costs curve. */
enum fplt__facts_step {
    FPLT__FACTS_FORM,
    FPLT__FACTS_RANGES,
    FPLT__FACTS_SUMS,
    FPLT__FACTS_SQUARES,
    FPLT__FACTS_CURVATURE,
    /* Without a schema, between the form and all others: what each file has is said, and what the run has comes. */
    FPLT__FACTS_NAMES,
    FPLT__FACTS_COLUMNS,
    /* Preparation (preparation.h), between the columns and the ranges: ranges of the values that are there; sums and counts
     * of them and rows of each class; counts of the cells of declared grids; then what fills missing values and how many
     * rows each class has comes, and the rows are changed. */
    FPLT__FACTS_SPANS,
    FPLT__FACTS_COUNTS,
    FPLT__FACTS_CELLS,
    FPLT__FACTS_PREPARED,
    /* Where a formula has orthogonal polynomials, before the ranges: one step a phase of data/poly.h, and then one that tells
     * their numbers. */
    FPLT__FACTS_POLYS,
    FPLT__FACTS_POLYS_KNOWN = FPLT__FACTS_POLYS + FPLT__RUN_POLY_PHASES,
    /* The only step of an analysis (analysis.h): what each site counted. */
    FPLT__FACTS_ANALYSIS,
    /* The last step of the run that begins a validation (validation.h): rows of all members and of the largest go with the
     * question, and each says how many folds it can have. */
    FPLT__FACTS_FOLDS,
    FPLT__FACTS_STEPS
};
/* The form is followed by the length of what NAMES says; COLUMNS answers how many features there are. */
enum {
    FPLT__FORM_SCALARS = 4,
    FPLT__FORM_ANSWERS = FPLT__FORM_SCALARS + 1,
    FPLT__CURVATURE_SCALARS = 4,
    FPLT__COLUMNS_SCALARS = 1,
    FPLT__FOLDS_SCALARS = 1
};

/* Whether x is an integer from `low` to `high`; a NaN is none. */
int fplt__is_whole(double x, double low, double high);
void fplt__form_scalars(const fplt__form *form, double scalars[FPLT__FORM_SCALARS]);
fplt_status fplt__form_read(const double scalars[FPLT__FORM_SCALARS], fplt__form *form,
                            fplt_error *error);

/* Settings of the sections `train` and `privacy`. `reading`: with the tables for data files too.
 * Refuses names that do not exist or have no place in a federation. */
fplt_status fplt__plan_resolution_settings(const fplt__proposal *proposal, int reading,
                                           fplt_settings **settings, fplt_error *error);

/* Adds what federation.yaml leaves out and `fedplt train` on data of your own would not: a proposal says
 * what is meant, and no side has to know the other's defaults. `leader` is all of federation.yaml; what has no
 * effect beside the rest of it is refused. */
fplt_status fplt__plan_resolution_state_defaults(fplt__proposal *proposal,
                                                 const fplt_settings *leader, fplt_error *error);

/* What the settings say, as far as it is known without any data. */
typedef struct fplt__plan_resolution {
    fplt_settings *settings;
    fplt_schema *schema;    /* NULL: none */
    fplt_job_source source; /* what a promise sets where the settings do not say */
    fplt__outline job;
} fplt__plan_resolution;

/* The form of the rows of a proposal with this schema: that of the columns which its formula makes, where there is one. */
fplt_status fplt__proposal_form(const fplt__proposal *proposal, const fplt_schema *schema,
                                fplt__form *form, fplt_error *error);
fplt_status fplt__plan_resolution_of(const fplt__proposal *proposal, const fplt__form *form,
                                     fplt__plan_resolution *terms, fplt_error *error);
void fplt__plan_resolution_clear(fplt__plan_resolution *terms);
/* Whether columns are standardised by what the data are like, which takes three steps of facts. */
int fplt__plan_resolution_fits(const fplt_settings *settings);
/* What a plan does to the rows, of a formula to those that are filled and have its columns; to be cleared. */
fplt_status fplt__plan_resolution_transform(const fplt_settings *settings,
                                            const fplt_job_source *source, size_t features,
                                            const fplt__agreement *agreement,
                                            fplt_transform *transform, fplt_error *error);
/* The form that a plan states. */
fplt_status fplt__agreement_form(const fplt__agreement *agreement, fplt__form *form,
                                 fplt_error *error);

/* ---- the coordinator ---- */

/* What the members said, one entry a member. */
typedef struct fplt__gathered {
    fplt__form form;
    const uint64_t *records;
    const fplt_curvature_bounds *bend; /* NULL with privacy */
    const double *mean, *scale;        /* of the columns, or NULL */
    const double *fill;                /* of the columns before a formula, or NULL */
    size_t fills;                      /* how many */
    const uint64_t *class_rows;        /* of the classes, or NULL */
    const char *dictionary;            /* of the run; NULL: by the schema */
    const char *formula_numbers;       /* of the polynomials of a formula, or NULL */
    const uint8_t *identities;         /* for secure aggregation, 32 bytes each; else NULL */
} fplt__gathered;

/* The plan: the proposal (copied) and every resolved value. */
fplt_status fplt__plan_resolution_agree(const fplt__proposal *proposal,
                                        const fplt__gathered *gathered, fplt__agreement *agreement,
                                        fplt_error *error);
/* What the plan becomes at the coordinator; `agreement` is taken over, also on failure, and `start`
 * (NULL: zero) borrowed by the plan. */
fplt_status fplt__plan_resolution_lead(fplt__agreement *agreement, const double *start,
                                       fplt__leader_plan *plan, fplt_error *error);
void fplt__leader_plan_clear(fplt__leader_plan *plan); /* where no machine took it over */

/* ---- an agent ---- */

/* Whether what a plan says besides facts is what its proposal says: that alone was agreed to. */
fplt_status fplt__plan_resolution_follow(const fplt__agreement *agreement, fplt_error *error);

/* ---- both ---- */

/* What a plan calls the vector it begins at. */
fplt_status fplt__start_digest(const double *x, size_t count, fplt__digest *digest,
                               fplt_error *error);

/* What the record in a model says of the run: federation, plan, what it continues, algorithm, seed, and the members that
 * were excluded. A new reference, or NULL. */
json_t *fplt__plan_resolution_record(const fplt__agreement *agreement, const fplt__digest *plan);
/* The model file of a plan whose run gave x; `record` is a JSON object about the run, `information` what
 * standard errors are made from (fplt__plan_information numbers), or NULL. */
fplt_status fplt__plan_resolution_model(const fplt__agreement *agreement, const double *x,
                                        const char *record, const double *information,
                                        fplt_model **model, fplt_error *error);

#endif
