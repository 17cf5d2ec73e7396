/* Analyses over the network: a run without rounds, in which every site tells one vector of counts and sums. The proposal
 * names the kind, its settings and, where it is about one, the model. Sites count with the functions that one process uses,
 * and the coordinator combines with them, so that the numbers are those of one process to the bit. */
#ifndef FPLT_FEDERATION_ANALYSIS_H
#define FPLT_FEDERATION_ANALYSIS_H

#include "fedplt/data.h"
#include "fedplt/model.h"
#include "fedplt/read.h"
#include "fedplt/settings.h"
#include "fedplt/settings_table.h"
#include "wire/document.h"

typedef struct fplt__analysis fplt__analysis;

/* The file of a site, and what its disclosure rules let out. */
typedef struct fplt__analysis_site {
    const char *path;
    fplt_read_settings read; /* schema: of the site itself, or NULL */
    size_t minimum;          /* of a count that is told; 0: none */
    double dominant;         /* largest share of one row in a sum that is told; 0: no rule */
    double per_parameter;    /* rows for each parameter of a Hessian that is told; 0: no rule */
    double steep, saturated; /* largest share of rows with a larger linear predictor; 0: no rule */
} fplt__analysis_site;

/* What a site counted. Cleared by fplt__analysis_counted_clear(). */
typedef struct fplt__analysis_counted {
    uint64_t records;
    fplt_dataset *rows;   /* owned: the rows of the file, for their hashes */
    unsigned char *aside; /* owned: of each of them, 1 where it was not counted; NULL: all were */
    uint64_t *words;      /* owned: 2 for each of fplt__analysis_numbers() */
} fplt__analysis_counted;

/* The result for people and programs, each released with fplt_free(), NULL where the kind has none. */
enum { FPLT__ANALYSIS_FORMS = 6 };
typedef struct fplt__analysis_report {
    char *text[FPLT__ANALYSIS_FORMS]; /* in the order of fplt__analysis_endings */
} fplt__analysis_report;
/* Endings of the files: txt, csv, json, html, tex, svg. */
extern const char *const fplt__analysis_endings[FPLT__ANALYSIS_FORMS];

/* A kind of analysis. Functions are called with an analysis of that kind. */
typedef struct fplt__analysis_kind {
    const char *name;  /* also the word of policy.allow, and the name of the files */
    const char *tells; /* what each site tells, for people */
    const fplt_setting *table;
    int needs_model;
    int takes_refit;  /* it is about the refit of the model, where that has one */
    int needs_schema; /* of federation.yaml: the columns that are counted */
    int is_table;     /* counts of the same rows by other settings would tell what each withholds */
    fplt_status (*check)(const fplt__analysis *analysis, fplt_error *error);
    uint64_t (*numbers)(const fplt__analysis *analysis);
    /* Numbers that are told at most about so many rows, and columns that they are about: the cost of the question. */
    uint64_t (*cost)(const fplt__analysis *analysis, uint64_t rows, size_t minimum);
    uint64_t (*columns)(const fplt__analysis *analysis);
    /* Of Hessians that are told; NULL: none are. */
    uint64_t (*parameters)(const fplt__analysis *analysis);
    fplt_status (*count)(const fplt__analysis *analysis, const fplt__analysis_site *site,
                         fplt__analysis_counted *counted, fplt_error *error);
    /* `words` are untrusted: FPLT_BAD_DATA names the site whose numbers cannot be. */
    fplt_status (*report)(const fplt__analysis *analysis, const char *const *names,
                          const uint64_t *const *words, size_t sites, fplt__analysis_report *report,
                          fplt_error *error);
} fplt__analysis_kind;

/* The kinds. */
extern const fplt__analysis_kind fplt__analysis_evaluate, fplt__analysis_describe,
    fplt__analysis_survival, fplt__analysis_survival_test;

struct fplt__analysis {
    const fplt__analysis_kind *kind;
    fplt_settings *settings; /* owned */
    fplt_model *model;       /* owned, or NULL */
    fplt_schema *schema;     /* owned, or NULL */
    fplt__digest model_digest;
};

/* Number `index`; NULL past the last. */
const fplt__analysis_kind *fplt__analysis_kind_list(size_t index);
/* By its name; NULL: there is none. */
const fplt__analysis_kind *fplt__analysis_kind_find(const char *name);

/* Whether the kind that the section `analysis` names needs a schema; 0 for an unknown kind. */
int fplt__analysis_needs_schema(const char *pairs);

/* Whether the proposal asks for an analysis. */
int fplt__is_analysis(const fplt__proposal *proposal);

/**
 * Reads the section `analysis` of federation.yaml into a proposal.
 *
 * @param pairs     as a person wrote them: kind, its settings, and `model` with a path
 * @param path      file of the model, where `model` is given; NULL otherwise
 * @param proposal  out: its analysis; roster, privacy, schema and the rest are there already
 * @retval FPLT_BAD_VALUE    no such kind or setting, a model that is missing or has no place, or privacy is promised
 * @retval FPLT_UNSUPPORTED  the model has no such analysis
 */
fplt_status fplt__analysis_propose(const char *pairs, const char *path, fplt__proposal *proposal,
                                   fplt_error *error);

/* The analysis of a proposal, which may come from a stranger; to be closed. */
fplt_status fplt__analysis_open(const fplt__proposal *proposal, fplt__analysis **analysis,
                                fplt_error *error);
/* NULL is legal. */
void fplt__analysis_close(fplt__analysis *analysis);
/* For kinds that count by a schema: a row for every line of the site's file, also one with missing or undeclared values. */
fplt_status fplt__analysis_read_lines(const fplt__analysis *analysis,
                                      const fplt__analysis_site *site, fplt_dataset **rows,
                                      fplt_error *error);
void fplt__analysis_counted_clear(fplt__analysis_counted *counted);
void fplt__analysis_report_clear(fplt__analysis_report *report);

/* A model without its history: no training record, no sums behind standard errors, no refit. Two models with the same text
 * answer alike for every row. The text keeps the order of levels in a schema; `digest` is that of the text with sorted keys. The text
 * is released with fplt_free(); `text` NULL: not wanted. */
fplt_status fplt__analysis_model_text(const fplt_model *model, char **text, fplt__digest *digest,
                                      fplt_error *error);

#endif
