/* The disclosure rules with their values under each preset of policy.disclosure. The table is their only home: the agent
 * asks it, `fedplt agent --check` prints it, and a test compares docs/disclosure.md with it. */
#ifndef FPLT_FEDERATION_RULES_H
#define FPLT_FEDERATION_RULES_H

#include "base/buffer.h"
#include "fedplt/settings.h"

typedef enum fplt__rule_name {
    FPLT__RULE_APPROVAL,
    FPLT__RULE_START,
    FPLT__RULE_WHOLE_GRADIENTS,
    FPLT__RULE_STEP,
    FPLT__RULE_NUMBERS,
    FPLT__RULE_QUESTIONS,
    FPLT__RULE_HESSIANS,
    FPLT__RULE_ROWS,
    FPLT__RULE_ROWS_PER_PARAMETER,
    FPLT__RULE_FREEDOM,
    FPLT__RULE_HOLDOUT,
    FPLT__RULE_CELLS,
    FPLT__RULE_CLUSTERS,
    FPLT__RULE_COUNTS,
    FPLT__RULE_TABLES,
    FPLT__RULE_SPLITS,
    FPLT__RULE_DIFFERENCING,
    FPLT__RULE_SATURATION,
    FPLT__RULE_DOMINANCE,
    FPLT__RULE_MEASUREMENTS,
    FPLT__RULE_RANGES,
    FPLT__RULE_ROSTER,
    FPLT__RULE_WITHDRAWAL,
    FPLT__RULES
} fplt__rule_name;

/* Of the rule `saturation`: beyond this linear predictor a logistic slope is below 4e-4, and the record no longer counts in a
 * gradient. */
#define FPLT__STEEP 8.0

enum { FPLT__PRESETS = 3 }; /* strict, research, off */

typedef struct fplt__rule {
    const char *name;
    const char *says;            /* what it demands, for people */
    const char *unit;            /* how a value reads, a format of one double; NULL: yes or no */
    double value[FPLT__PRESETS]; /* 0: the rule does not hold */
    int reads_records;           /* a refusal tells something about records */
} fplt__rule;

extern const fplt__rule fplt__rules[FPLT__RULES];

/* The value under the site's policy.disclosure; 0: the rule does not hold. */
double fplt__rule_value(const fplt_settings *site, fplt__rule_name rule);
/* The name of the preset. */
const char *fplt__rule_preset(const fplt_settings *site);
int fplt__rules_are_off(const fplt_settings *site);

/* A value as people read it: "3 rows", "yes", "no rule". */
void fplt__rule_show(fplt__rule_name rule, double value, fplt__buffer *text);
/* A row of the table in docs/disclosure.md, without the end of the line. */
void fplt__rule_row(fplt__rule_name rule, fplt__buffer *text);

#endif
