/* The documents that all sides agree on: a proposal, made before any fact is known, and the plan, which
 * is the proposal and every resolved value. Canonical JSON: UTF-8, keys sorted, no blanks, reals as
 * C99 hexadecimal strings, 64-bit numbers that may pass 2^53 as decimal strings. Reading refuses
 * what is not canonical, unknown, repeated and missing keys, and more than
 * 64 kB + 1 kB x (members + columns) besides what the names of columns take. */
#ifndef FPLT_WIRE_DOCUMENT_H
#define FPLT_WIRE_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/status.h"
#include "fedplt/hub_node.h"
#include "wire/frame.h"
#include "wire/hash.h"
#include "wire/message.h"

/* No document is longer: 64 kB, and 1 kB for each of at most 65,536 members and columns. */
enum { FPLT__DOCUMENT_LIMIT = (64 << 10) + (1 << 10) * 65536 };

/* A setting by name, as a person would write it. */
typedef struct fplt__pair {
    char *name, *value; /* owned */
} fplt__pair;

/* The model of a cost that the agents bring themselves (`loss: custom`). `digest` names the program of the cost; what it
 * is a digest of is agreed on outside. */
typedef struct fplt__custom_model {
    char name[FPLT__NAME], version[FPLT__NAME];
    uint32_t dimension; /* 0: there is none, and the text has no key `model` */
    fplt__digest digest;
} fplt__custom_model;

/* What a run without rounds asks of the sites (federation/plan/analysis.h): one answer of counts and sums. Not looked into
 * here. */
typedef struct fplt__proposed_analysis {
    char kind[FPLT__WORD]; /* empty: the run trains, and the text has no key `analysis` */
    size_t settings;
    fplt__pair *setting; /* owned; names sorted */
    char *model;         /* owned; text of the model that it is about; NULL: none */
} fplt__proposed_analysis;

/* Where a run without privacy has to do with a refit without a penalty (federation/plan/refit.h). */
typedef enum fplt__refit_word {
    FPLT__REFIT_NONE,    /* the text has no key `refit` */
    FPLT__REFIT_FOLLOWS, /* one follows this run, under the same consent */
    FPLT__REFIT_THIS     /* this run is one */
} fplt__refit_word;

/* Bytes of the text of a validation. */
enum { FPLT__VALIDATION_TEXT = 2048 };

/* Bytes of the model of an analysis. */
enum { FPLT__ANALYSIS_MAX_MODEL = 4 << 20 };

typedef struct fplt__proposal {
    char federation[FPLT__NAME];
    uint32_t run;           /* of the federation: 1, 2, ... */
    uint8_t nonce[16];      /* random: no two runs share a hash */
    fplt__digest authority; /* SHA-256 of the authority's certificate */
    uint32_t members;
    char (*roster)[FPLT__NAME]; /* owned; position is the member_index */
    size_t settings, privacies;
    fplt__pair *setting; /* owned; the section `train`, names sorted */
    fplt__pair *privacy; /* owned; the section `privacy`; none: off */
    uint32_t columns;
    char *schema;    /* owned; canonical text of the schema, not looked into here; NULL: none */
    uint32_t quorum; /* 0: auto */
    /* Owned; what is declared of columns without a schema (wire/dictionary.h), not looked into here; NULL: nothing,
     * and the text has no key `dictionary`. */
    char *dictionary;
    /* Secure aggregation (secagg/keys.h); 0: off, and the text has no keys `aggregate` and `colluders`. */
    int secure;
    uint32_t colluders; /* members that may help the coordinator */
    /* What the model is for, and the last day (YYYY-MM-DD) on which sites take part; empty: not said, and the text has no
     * such key. */
    char purpose[FPLT__SENTENCE], expires[11];
    /* Members that were excluded, "basel, bern": the run goes on without them. Empty: none, and the text has no such key. */
    char excluded[FPLT__SENTENCE];
    fplt__custom_model model;
    fplt__proposed_analysis analysis;
    fplt__refit_word refit;
    /* Of the run that a validation begins with, its grid and folds; of a run that follows from it, which part of it it is
     * (federation/plan/validation.h). Not looked into here; empty: none, and the text has no such key. */
    char validation[FPLT__VALIDATION_TEXT], part[FPLT__WORD];
} fplt__proposal;

typedef struct fplt__agreement {
    fplt__proposal proposal;
    fplt_plan plan; /* what hub and node are made from; agents is the roster */
    size_t resolves;
    fplt__pair *resolved;     /* owned; every setting that was auto, as resolved; names sorted */
    uint64_t *records;        /* owned; one a member */
    fplt_curvature curvature; /* of all, or public bounds */
    uint64_t rounds;
    uint32_t quorum;         /* of the roster's rule; 0: more than half of each cohort */
    uint32_t evaluate_every; /* rounds; 0: only at the end */
    int criterion_at_mean;   /* of the agents' models, as the engine does; else at the model */
    int score;               /* held-out rows are scored too */
    double tolerance, change;
    int relative;
    /* Privacy: */
    int private;  /* nothing is measured, nothing but kinds 1, 2, 3 and 8 travels */
    uint64_t cap; /* rounds an agent may compute: rounds + spare; without privacy 0, no cap */
    double *tau;  /* owned; noise of each member, 0 without privacy */
    double *rate; /* owned; what a computed round costs each member (Renyi rate mu^2/2) */
    /* Of every column, where the schema standardises by the facts; else shifts is 0. */
    uint32_t shifts;
    double *shift, *scale; /* owned */
    /* What missing values of each column become; none: fills is 0, and the text has no key `fill`. */
    uint32_t fills;
    double *fill; /* owned */
    /* Rows of each class over all members, where classes are balanced; else the text has no key `class-rows`. */
    uint32_t balances;
    uint64_t *class_rows;   /* owned */
    fplt__digest start;     /* of the start vector's bytes (GET /start); zeros: the zero vector */
    char kernel[32];        /* pinned, or empty */
    fplt__digest continues; /* the plan whose last model is the start; zeros: none */
    /* Owned; the columns that all sites read by (wire/dictionary.h), not looked into here; NULL: those of the schema,
     * and the text has no key `dictionary`. */
    char *dictionary;
    /* Secure aggregation, where the proposal wants it; else the text has no key `secure`. */
    uint32_t
        threshold;  /* 0: sums are over all members; else members without which there is no sum */
    uint32_t most;  /* the largest cohort */
    uint32_t width; /* bytes of a masked number: 8 or 16 */
    uint8_t *identities; /* owned; 32 bytes a member, as they came with the consents; NULL: off */
} fplt__agreement;

/* As sent: to be released with fplt__free. Strings are checked: names are [a-z0-9-]{1,40}. */
fplt_status fplt__proposal_text(const fplt__proposal *proposal, char **text, fplt_error *error);
fplt_status fplt__proposal_read(const void *text, size_t size, fplt__proposal *proposal,
                                fplt_error *error);
void fplt__proposal_clear(fplt__proposal *proposal);

fplt_status fplt__agreement_text(const fplt__agreement *agreement, char **text, fplt_error *error);
/* Also refuses an algorithm that does not exist, parameters outside their rows, and arrays that do not
 * have one entry a member or column. */
fplt_status fplt__agreement_read(const void *text, size_t size, fplt__agreement *agreement,
                                 fplt_error *error);
void fplt__agreement_clear(fplt__agreement *agreement);

/* [a-z0-9-]{1,40} */
int fplt__name_is_legal(const char *name);
/* 1 to 40 of A-Z, a-z, 0-9, `.`, `_`, `+` and `-`. */
int fplt__version_is_legal(const char *version);
/* NULL where it is not among them. */
const char *fplt__pair_find(const fplt__pair *pairs, size_t count, const char *name);

/* The words of `refit` in the text; that of FPLT__REFIT_NONE is empty. */
extern const char *const fplt__refit_words[FPLT__REFIT_THIS + 1];

/* The value and key by which both documents name secure aggregation. */
#define FPLT__SECURE_WORD "secure"
/* The longest text that is legal for as many members and columns. */
size_t fplt__proposal_limit(const fplt__proposal *proposal);
size_t fplt__agreement_limit(const fplt__agreement *agreement);

#endif
