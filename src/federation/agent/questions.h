/* Questions: what a run without privacy asks of a data set, whether the rows can carry it, and what all questions together
 * cost over the life of the data set. Rules rows, freedom, holdout, questions, tables and differencing (rules.h). */
#ifndef FPLT_FEDERATION_QUESTIONS_H
#define FPLT_FEDERATION_QUESTIONS_H

#include "federation/agent/local_data.h"
#include "federation/agent/site_memory.h"
#include "federation/plan/analysis.h"

/* The question at hand. */
typedef struct fplt__asked {
    int64_t data_set; /* 0: nothing is asked, or the rules are off */
    fplt__question question;
    /* What is left for Hessians of the question, in numbers; infinite where no rule counts. */
    double left;
    int is_pooled;     /* under secure aggregation: nobody sees the cells of this site alone */
    int is_withdrawal; /* the rows differ by an approved withdrawal */
} fplt__asked;

/* Where `members` is above 1 the counts are those of all honest sites together: under secure aggregation nobody sees the
 * sums of a single site. */
typedef struct fplt__pooled {
    uint32_t members;
    uint64_t records; /* of all of them */
} fplt__pooled;

/* Of a plan under secure aggregation: all members but the colluders, and those with the most rows might be these. */
fplt__pooled fplt__questions_pool(const fplt__agreement *agreement);

/* Finds which question a proposal asks of the data. FPLT_OK with asked->data_set 0 where the rules do not apply. */
fplt_status fplt__questions_find(const fplt_settings *site, const fplt__proposal *proposal,
                                 const fplt__digest *hash, const fplt__local_data *data,
                                 fplt__site_memory *memory, fplt__asked *asked, fplt_error *error);
/* Rules on numbers that the coordinator knows anyway. FPLT_FAILED: refused, and the sentence may be told. `pooled` NULL:
 * the site's sums are seen by themselves. */
fplt_status fplt__questions_judge(const fplt_settings *site, const fplt__local_data *data,
                                  fplt__site_memory *memory, const fplt__pooled *pooled,
                                  fplt__asked *asked, fplt_error *error);
/* The rule `questions` alone, of a question about so many rows. */
fplt_status fplt__questions_judge_cost(const fplt_settings *site, uint64_t rows,
                                       fplt__site_memory *memory, fplt__asked *asked,
                                       fplt_error *error);
/* The question that an analysis is, to the data set of these rows. */
fplt_status fplt__questions_find_analysis(const fplt_settings *site, const fplt__analysis *analysis,
                                          const fplt__proposal *proposal,
                                          const fplt__row_sets *sets, fplt__site_memory *memory,
                                          fplt__asked *asked, fplt_error *error);
/* What a run of a proposal would cost the data set of the question at hand, which has the same parameters. `added`: as in
 * fplt__question_cost. */
fplt_status fplt__questions_price(const fplt_settings *site, const fplt__proposal *proposal,
                                  fplt__site_memory *memory, const fplt__asked *asked,
                                  double *added, fplt_error *error);
/* The rule `tables`; `is_named`: the policy names the model of the analysis. FPLT_FAILED: refused, and the sentence may be told. */
fplt_status fplt__questions_judge_tables(const fplt_settings *site, const fplt__analysis *analysis,
                                         int is_named, fplt__site_memory *memory,
                                         const fplt__asked *asked, fplt_error *error);
/* The rule `differencing`. FPLT_FAILED: refused; the sentence is for the site alone. */
fplt_status fplt__questions_compare(const fplt_settings *site, const fplt__row_sets *sets,
                                    fplt__site_memory *memory, fplt__asked *asked,
                                    fplt_error *error);
/* The rule `roster`, of runs under secure aggregation: a roster that differs from an earlier one by a few members would
 * give the sum of these by subtraction. Remembers the roster. A run without secure aggregation shows each update, and may
 * not lack a few members of such a roster either. FPLT_FAILED: refused, and the sentence may be told. */
fplt_status fplt__questions_judge_roster(const fplt_settings *site, const fplt__proposal *proposal,
                                         fplt__site_memory *memory, fplt_error *error);
/* Counts the question, durably; the same question again costs nothing. */
fplt_status fplt__questions_charge(const fplt__row_sets *sets, fplt__site_memory *memory,
                                   const fplt__asked *asked, fplt_error *error);
/* Counts `hessians` that are about to leave; FPLT_FAILED where the budget of the data set does not have them. */
fplt_status fplt__questions_charge_hessians(fplt__site_memory *memory, fplt__asked *asked,
                                            unsigned hessians, fplt_error *error);
/* Behind standard errors: the Hessian, and the sum of the records' gradients times themselves. */
enum { FPLT__HESSIANS_OF_ERRORS = 2 };
/* Numbers of a Hessian. */
double fplt__questions_hessian(uint64_t parameters);

/* The rules `cells` and `clusters`: classes, events and columns that are constant but for a few rows, and few clusters with a
 * random intercept. The columns are those of the run. `cluster`: the column of the clusters, by which the rows were read; NULL:
 * there is none. FPLT_FAILED: refused; the sentence, which names the column, is for the site alone. */
fplt_status fplt__cells_judge(const fplt_settings *site, const fplt_dataset *rows,
                              const char *cluster, fplt_error *error);

#endif
