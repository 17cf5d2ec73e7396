/* The data of an agent: read as its own settings and the proposal say, put into the columns of the run, and made a cost
 * and a node of the plan. */
#ifndef FPLT_FEDERATION_LOCAL_DATA_H
#define FPLT_FEDERATION_LOCAL_DATA_H

#include "engine/hub_node.h"
#include "fedplt/federation.h"
#include "federation/agent/row_sets.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/preparation.h"
#include "federation/agent/local_formula.h"
#include "objective/objective.h"

/* Refuses what has no effect at a site, wherever it is given: site.yaml serves nobody else. */
fplt_status fplt__site_effective(const fplt_settings *site, fplt_error *error);

/* Refuses a schema of the site that is another one than the proposal's (NULL: it has none). */
fplt_status fplt__site_check_schema(const fplt_settings *site, const fplt_schema *schema,
                                    fplt_error *error);

typedef struct fplt__local_data fplt__local_data;

/* Whose data they are. */
typedef struct fplt__local_source {
    uint32_t member_index;
    const uint8_t *
        secret; /* of the site: rows are hashed, and held out, by it; NULL: by the seed of the proposal */
    const fplt_federation_cost *cost; /* of proposals with a custom one; borrowed by the material */
} fplt__local_source;

/* Reads the data file(s) as `site` (the agent's own settings) and the proposal say, and holds rows
 * out. A custom cost takes their place: nothing is read, and there are no rows. `abroad`: what the coordinator may hear of a refusal; empty: no more than that there is one. */
fplt_status fplt__local_data_create(const fplt_settings *site, const fplt__proposal *proposal,
                                    const fplt__local_source *from, fplt__local_data **material,
                                    char abroad[FPLT__SENTENCE], fplt_error *error);
void fplt__local_data_destroy(fplt__local_data *material);
uint64_t fplt__local_data_records(const fplt__local_data *material);
uint64_t fplt__local_data_held_out(const fplt__local_data *material);
/* Columns of the file as it was read: numbers and levels, before a formula makes others of them. */
uint64_t fplt__local_data_inputs(const fplt__local_data *material);
/* Sorted; empty where there was no secret. */
typedef struct fplt__row_sets {
    fplt__row_set all, used, held; /* used and held: those of them that have an effect on answers */
} fplt__row_sets;
const fplt__row_sets *fplt__local_data_row_sets(const fplt__local_data *material);
/* folds.c: the rows of a site that a validation divides, as they were read. */
typedef struct fplt__folds_of {
    const fplt_settings *site, *reading; /* with the rules; with which the rows were read */
    const fplt_schema *schema;           /* of the proposal, or NULL */
    const fplt_dataset *rows;
    const uint8_t *secret; /* NULL: the rules are off */
    int is_pooled;         /* nobody sees the sums of this site alone */
} fplt__folds_of;
/* The most folds, `wanted` at most, of which each can be left out under the rules rows, holdout, differencing and cells;
 * 0: not even two. */
fplt_status fplt__folds_count(const fplt__folds_of *of, uint32_t wanted, uint32_t *most,
                              fplt_error *error);
/* The rows on one side of a split. */
fplt_status fplt__rows_of_side(const fplt_dataset *rows, const unsigned char *held, int side,
                               fplt_dataset **made, fplt_error *error);
/* That number, and the fold of each row as it was read; NULL where no fold is held out. */
uint32_t fplt__local_data_most_folds(const fplt__local_data *material);
const uint32_t *fplt__local_data_folds(const fplt__local_data *material);
fplt__form fplt__local_data_form(const fplt__local_data *material);
/* What the file has (wire/dictionary.h), to be released with fplt__free; NULL: a schema of the proposal says it. */
fplt_status fplt__local_data_names(const fplt__local_data *material, char **text,
                                   fplt_error *error);
/* Gives the rows the columns and classes of the run, or refuses them; `abroad` as above. Done once: the same text
 * again changes nothing, another is refused. */
fplt_status fplt__local_data_settle(fplt__local_data *material, const char *text,
                                    char abroad[FPLT__SENTENCE], fplt_error *error);
/* The proposal's formula over the columns of the run, once these are settled. */
const fplt__local_formula *fplt__local_data_formula(const fplt__local_data *material);
/* Gives the rows the columns of a formula with polynomials, whose numbers (run_design.h) come from all sites. Done once: the
 * same text again changes nothing, another is refused. */
fplt_status fplt__local_data_expand(fplt__local_data *material, const char *numbers,
                                    char abroad[FPLT__SENTENCE], fplt_error *error);
/* Whether the columns are those of the run, by its schema or by the step before. */
int fplt__local_data_is_settled(const fplt__local_data *material);
/* Whether the rows are no longer as they were read: put into columns, or transformed. */
int fplt__local_data_is_changed(const fplt__local_data *material);
/* What the proposal asks for, for the columns of the run; to be cleared. */
fplt_status fplt__local_data_preparation(const fplt__local_data *material, fplt__preparation *made,
                                         fplt_error *error);
/* The values that the coordinator computed for it; borrowed. */
typedef struct fplt__prepared {
    const double *fill;
    size_t fills;
    const uint64_t *class_rows;
    size_t classes;
} fplt__prepared;
/* Fills missing values and balances classes, once: the same again changes nothing, anything else is refused. `told` was
 * checked by fplt__preparation_check(). Filled rows get the columns of the formula, where polynomials do not wait. */
fplt_status fplt__local_data_prepare(fplt__local_data *material, const fplt__prepared *told,
                                     char abroad[FPLT__SENTENCE], fplt_error *error);
int fplt__local_data_is_prepared(const fplt__local_data *material);
/* Nothing is named as data. */
fplt_status fplt__site_no_data(fplt_error *error);
/* How much there is to be read, by the site's own settings alone. */
fplt_status fplt__site_data_look(const fplt_settings *site, size_t *rows, size_t *features,
                                 fplt_error *error);
/* What the site says about its files goes beside what the proposal says about everything else. */
fplt_status fplt__site_take_reading(const fplt_settings *site, fplt_settings *settings,
                                    fplt_error *error);
/* Digest of the bytes of the files. */
fplt_status fplt__site_data_digest(const fplt_settings *site, fplt__digest *digest,
                                   fplt_error *error);
/* The rows that it trains on, as they were read. */
const fplt_dataset *fplt__local_data_rows(const fplt__local_data *material);
/* The column of the clusters that have a random intercept; NULL: the fit has none. */
const char *fplt__local_data_cluster(const fplt__local_data *material);
/* Transforms the rows as the plan says (shift and scale alone are looked at) and makes the cost.
 * `all_agents` and `all_records`: of the roster, for `weights: rows`. Done once. */
fplt_status fplt__local_data_shape(fplt__local_data *material, const fplt__agreement *agreement,
                                   uint32_t all_agents, uint64_t all_records, fplt_error *error);
/* How the cost curves, once it is made, as closely as one process looks for the proposal's algorithm (fplt__run_looks). Not
 * with privacy. */
fplt_status fplt__local_data_curvature_bounds(fplt__local_data *material,
                                              fplt_curvature_bounds *bend, fplt_error *error);
size_t fplt__local_data_dimension(const fplt__local_data *material); /* 0: no cost is made yet */
/* How the records share the gradient at x, once the cost is made. Allocates the first time only. */
fplt_status fplt__local_data_influence(fplt__local_data *material, const double *x, double bound,
                                       fplt__influence *influence, fplt_error *error);
/* The distance of x from the point of the last such call; infinite before. */
double fplt__local_data_moved(const fplt__local_data *material, const double *x);
/* Held-out rows at x: sum of the losses, hits, records, and 1 where hits mean something. */
fplt_status fplt__local_data_score(fplt__local_data *material, const double *x,
                                   double out[FPLT__MEASURES]);
/* The agent of a plan; the material is borrowed by the node. */
fplt_status fplt__local_data_node(fplt__local_data *material, const fplt__agreement *agreement,
                                  uint32_t identity, const double *start, fplt_node **node,
                                  fplt_error *error);

#endif
