/* The data of an agent: read as its own settings and the proposal say, put into the columns of the run, and made a cost
 * and a node of the plan. */
#ifndef FPLT_FEDERATION_LOCAL_DATA_H
#define FPLT_FEDERATION_LOCAL_DATA_H

#include "federation/plan/plan_resolution.h"

/* Refuses what has no effect at a site, wherever it is given: site.yaml serves nobody else. */
fplt_status fplt__site_effective(const fplt_settings *site, fplt_error *error);

typedef struct fplt__local_data fplt__local_data;

/* Reads the data file(s) as `site` (the agent's own settings) and the proposal say, and holds rows
 * out. `abroad`: what the coordinator may hear of a refusal; empty: no more than that there is one. */
fplt_status fplt__local_data_create(const fplt_settings *site, const fplt__proposal *proposal,
                                    uint32_t identity, fplt__local_data **material,
                                    char abroad[FPLT__SENTENCE], fplt_error *error);
void fplt__local_data_destroy(fplt__local_data *material);
uint64_t fplt__local_data_records(const fplt__local_data *material);
fplt__form fplt__local_data_form(const fplt__local_data *material);
/* What the file has (wire/dictionary.h), to be released with fplt__free; NULL: a schema of the proposal says it. */
fplt_status fplt__local_data_names(const fplt__local_data *material, char **text,
                                   fplt_error *error);
/* Gives the rows the columns and classes of the run, or refuses them; `abroad` as above. Done once: the same text
 * again changes nothing, another is refused. */
fplt_status fplt__local_data_settle(fplt__local_data *material, const char *text,
                                    char abroad[FPLT__SENTENCE], fplt_error *error);
/* Whether the columns are those of the run, by its schema or by the step before. */
int fplt__local_data_is_settled(const fplt__local_data *material);
/* Whether the rows are no longer as they were read: put into columns, or transformed. */
int fplt__local_data_is_changed(const fplt__local_data *material);
/* How much there is to be read, by the site's own settings alone. */
fplt_status fplt__site_data_look(const fplt_settings *site, size_t *rows, size_t *features,
                                 fplt_error *error);
/* Digest of the bytes of the files. */
fplt_status fplt__site_data_digest(const fplt_settings *site, fplt__digest *digest,
                                   fplt_error *error);
/* The rows that it trains on, as they were read. */
const fplt_dataset *fplt__local_data_rows(const fplt__local_data *material);
/* Transforms the rows as the plan says (shift and scale alone are looked at) and makes the cost.
 * `all_agents` and `all_records`: of the roster, for `weights: rows`. Done once. */
fplt_status fplt__local_data_shape(fplt__local_data *material, const fplt__agreement *agreement,
                                   uint32_t all_agents, uint64_t all_records, fplt_error *error);
/* How the cost curves, once it is made. */
fplt_status fplt__local_data_curvature_bounds(fplt__local_data *material,
                                              fplt_curvature_bounds *bend, fplt_error *error);
size_t fplt__local_data_dimension(const fplt__local_data *material); /* 0: no cost is made yet */
/* Held-out rows at x: sum of the losses, hits, records, and 1 where hits mean something. */
fplt_status fplt__local_data_score(fplt__local_data *material, const double *x,
                                   double out[FPLT_MEASURES]);
/* The agent of a plan; the material is borrowed by the node. */
fplt_status fplt__local_data_node(fplt__local_data *material, const fplt__agreement *agreement,
                                  uint32_t identity, const double *start, fplt_node **node,
                                  fplt_error *error);

#endif
