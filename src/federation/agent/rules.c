#include "federation/agent/rules.h"

#include <string.h>

static const char *const presets[FPLT__PRESETS] = {"strict", "research", "off"};

const fplt__rule fplt__rules[FPLT__RULES] = {
    [FPLT__RULE_APPROVAL] = {"approval",
                             "A schema, columns, classes, levels, a formula, bounds for missing "
                             "values or row weights that the proposal states are approved at the "
                             "site",
                             NULL,
                             {1, 1, 0},
                             0},
    [FPLT__RULE_START] = {"start",
                          "A run starts at zero, at a model that this agent received, or at one in "
                          "policy.start-models; an analysis is about such a model",
                          NULL,
                          {1, 1, 0},
                          0},
    [FPLT__RULE_WHOLE_GRADIENTS] =
        {"whole-gradients", "Solvers that train on chosen rows are refused", NULL, {1, 1, 0}, 0},
    [FPLT__RULE_STEP] = {"step",
                         "gamma times the largest curvature of the site's cost is at most",
                         "%g",
                         {2, 2, 0},
                         0},
    [FPLT__RULE_NUMBERS] = {"numbers",
                            "Numbers that bend or cut single records, or place the next "
                            "broadcast or the cells of an analysis, are automatic or in "
                            "policy.approved",
                            NULL,
                            {1, 0, 0},
                            0},
    [FPLT__RULE_QUESTIONS] = {"questions",
                              "All questions over the life of a data set cost at most this share "
                              "of rows times columns",
                              "%g",
                              {0.5, 1, 0},
                              0},
    [FPLT__RULE_HESSIANS] = {"hessians",
                             "Hessians leave where policy.allow has `information` and the site has "
                             "for each parameter at least",
                             "%g rows",
                             {3, 3, 0},
                             0},
    [FPLT__RULE_ROWS] =
        {"rows", "The site trains on, or counts, at least", "%g rows", {20, 20, 0}, 0},
    [FPLT__RULE_ROWS_PER_PARAMETER] =
        {"rows-per-parameter", "For each parameter at least", "%g rows", {3, 3, 0}, 0},
    [FPLT__RULE_FREEDOM] = {"freedom", "Rows minus parameters are at least", "%g", {10, 10, 0}, 0},
    [FPLT__RULE_HOLDOUT] =
        {"holdout", "A holdout of the site has at least", "%g rows", {20, 20, 0}, 0},
    [FPLT__RULE_CELLS] = {"cells",
                          "A class, a level or the rarer side of a column that is otherwise "
                          "constant has at least",
                          "%g rows",
                          {3, 3, 0},
                          1},
    [FPLT__RULE_CLUSTERS] = {"clusters",
                             "A column that `random-intercept` names has at the site at least",
                             "%g clusters",
                             {20, 20, 0},
                             1},
    [FPLT__RULE_COUNTS] = {"counts", "A count that is reported is at least", "%g", {5, 5, 0}, 1},
    [FPLT__RULE_TABLES] =
        {"tables",
         "All tables of a kind (`describe`, `survival`) about a data set have the "
         "same strata, columns and cells, and all evaluations are of one model, or of models in "
         "policy.start-models",
         NULL,
         {1, 0, 0},
         0},
    [FPLT__RULE_SPLITS] = {"splits",
                           "Which rows are held out follows from a secret of the site, not from "
                           "the proposal's seed",
                           NULL,
                           {1, 1, 0},
                           0},
    [FPLT__RULE_DIFFERENCING] = {"differencing",
                                 "Two sets of rows that were answered for are equal or differ by "
                                 "at least",
                                 "%g rows",
                                 {20, 20, 0},
                                 1},
    [FPLT__RULE_SATURATION] =
        {"saturation",
         "Rows whose linear predictor is above 8 in absolute value at a "
         "broadcast point, or by the model of an analysis, are at most this share",
         "%g",
         {0.05, 0.05, 0},
         1},
    [FPLT__RULE_DOMINANCE] = {"dominance",
                              "One record has at most this share of the sum of all gradient norms, "
                              "or of a sum that an analysis tells",
                              "%g",
                              {0.25, 0.25, 0},
                              1},
    [FPLT__RULE_MEASUREMENTS] = {"measurements",
                                 "Measurements are as many as the plan says, at one point for each "
                                 "accepted round",
                                 NULL,
                                 {1, 1, 0},
                                 0},
    [FPLT__RULE_RANGES] = {"ranges",
                           "Minimum and maximum of a column leave rounded outwards to powers of "
                           "two",
                           NULL,
                           {1, 1, 0},
                           0},
    [FPLT__RULE_ROSTER] = {"roster",
                           "Under secure aggregation two rosters are equal or differ by at least",
                           "%g members",
                           {3, 3, 0},
                           0},
    [FPLT__RULE_WITHDRAWAL] =
        {"withdrawal", "Between two withdrawals of rows pass at least", "%g days", {30, 30, 0}, 0},
};

static size_t preset_of(const fplt_settings *site)
{
    const char *name = fplt_settings_text(site, "policy.disclosure");
    for (size_t i = 0; i < FPLT__PRESETS; i++)
        if (strcmp(presets[i], name) == 0)
            return i;
    return 0;
}

double fplt__rule_value(const fplt_settings *site, fplt__rule_name rule)
{
    return fplt__rules[rule].value[preset_of(site)];
}

const char *fplt__rule_preset(const fplt_settings *site)
{
    return presets[preset_of(site)];
}

int fplt__rules_are_off(const fplt_settings *site)
{
    return strcmp(fplt__rule_preset(site), "off") == 0;
}

void fplt__rule_show(fplt__rule_name rule, double value, fplt__buffer *text)
{
    if (!(value > 0))
        fplt__buffer_add(text, fplt__rules[rule].unit ? "no rule" : "no");
    else if (!fplt__rules[rule].unit)
        fplt__buffer_add(text, "yes");
    else
        fplt__buffer_format(text, fplt__rules[rule].unit, value);
}

void fplt__rule_row(fplt__rule_name rule, fplt__buffer *text)
{
    fplt__buffer_format(text, "| `%s` | %s |", fplt__rules[rule].name, fplt__rules[rule].says);
    for (size_t i = 0; i < FPLT__PRESETS; i++) {
        fplt__buffer_add(text, " ");
        fplt__rule_show(rule, fplt__rules[rule].value[i], text);
        fplt__buffer_add(text, " |");
    }
}
