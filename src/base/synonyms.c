/* Names that other programs have for a setting. */
#include <stdio.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/settings.h"
#include "base/text.h"

static const struct {
    const char *other, *name, *how;
} synonyms[] = {
    {"lambda", "eps", "the weight of the penalty"},
    {"alpha", "eps", "the weight of the penalty"},
    {"C", "eps", "the weight of the penalty: 1/(C x rows) of scikit-learn"},
    {"l2", "eps", "the weight of the penalty"},
    {"weight-decay", "eps", "the weight of the penalty"},
    {"lr", "gamma", "the local step size"},
    {"learning-rate", "gamma", "the local step size"},
    {"step-size", "gamma", "the local step size"},
    {"epoch", "epochs", "local epochs a round"},
    {"local-epochs", "epochs", "local epochs a round"},
    {"batch-size", "batch", "records in a minibatch"},
    {"iterations", "rounds", "rounds at most"},
    {"max-iter", "rounds", "rounds at most"},
    {"num-rounds", "rounds", "rounds at most"},
    {"tol", "tolerance", "when to stop"},
    {"penalty", "regulariser", "the kind of penalty"},
    {"epsilon", "privacy.epsilon", "the privacy budget"},
    {"delta", "privacy.delta", "the privacy budget"},
    {"weights", "row-weight", "the column with the weight of each row"},
    {"sample-weight", "row-weight", "the column with the weight of each row"},
    {"time", "schema", "the file that declares columns (type: time and type: event)"},
    {"event", "schema", "the file that declares columns (type: time and type: event)"},
    {"target", "label", "the column of the outcome"},
    {"outcome", "label", "the column of the outcome"},
    {"y", "label", "the column of the outcome"},
    {"test-size", "holdout", "the share of rows that is held out"},
    {"output", "out", "the folder for the results"},
    {"na-values", "missing-codes", "values that stand for a missing one"},
    {"sep", "separator", "the sign between the fields"},
    {"delimiter", "separator", "the sign between the fields"},
    {"clients", "agents", "the number of agents"},
    {"method", "algorithm", "the federated algorithm"},
    {"optimizer", "solver", "how an agent trains locally"},
};

const char *fplt__settings_synonym(const fplt_settings *settings, const char *other,
                                   const char **how)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcasecmp(synonyms[i].other, other) == 0 &&
            fplt__settings_find(settings, synonyms[i].name)) {
            *how = synonyms[i].how;
            return synonyms[i].name;
        }
    return NULL;
}

/* Values that other programs have for one of a setting's words. */
static const struct {
    const char *setting, *other, *word;
} values[] = {
    {"loss", "logit", "logistic"},
    {"loss", "log", "logistic"},
    {"loss", "binomial", "logistic"},
    {"loss", "hinge", "squared-hinge"},
    {"loss", "svm", "squared-hinge"},
    {"loss", "mse", "least-squares"},
    {"loss", "squared", "least-squares"},
    {"loss", "gaussian", "least-squares"},
    {"loss", "linear", "least-squares"},
    {"loss", "multinomial", "softmax"},
    {"loss", "cross-entropy", "softmax"},
    {"loss", "coxph", "cox"},
    {"loss", "survival", "cox"},
    {"missing", "impute", "median"},
    {"missing", "mode", "most-frequent"},
    {"missing", "omit", "drop"},
    {"regulariser", "ridge", "l2"},
    {"solver", "gd", "gradient"},
    {"solver", "l-bfgs", "lbfgs"},
    {"task", "multiclass", "classes"},
    {"task", "classification", "binary"},
    {"separator", ";", "semicolon"},
    {"separator", ",", "comma"},
    {"separator", "|", "bar"},
    {"decimal", ",", "comma"},
    {"decimal", ".", "point"},
};

/* A number that was meant otherwise: 0,5; 30 %; 30 where a share is wanted; 1e3 where a whole number is. */
static int hint_number(const fplt_setting *row, const char *value, char *hint, size_t size)
{
    char plain[64];
    size_t length = strlen(value);
    if (row->kind == FPLT_REAL && !(row->flags & FPLT_LIST) && strchr(value, ','))
        return snprintf(hint, size, "; the decimal sign is a point") > 0;
    if (!length || length >= sizeof plain)
        return 0;
    memcpy(plain, value, length + 1);
    int percent = plain[length - 1] == '%';
    if (percent)
        plain[--length] = 0;
    double number = 0;
    if (fplt__parse_real(plain, &number))
        return 0;
    if (row->kind == FPLT_REAL && (percent || (number > 1 && number <= 100 && row->high <= 1)))
        return snprintf(hint, size, "; %s %% is %.6g", plain, number / 100) > 0;
    if (row->kind == FPLT_INTEGER && !percent && number >= row->low && number <= row->high &&
        fabs(number) <= 0x1p53 && number == rint(number))
        return snprintf(hint, size, "; write %lld", (long long)number) > 0;
    return 0;
}

void fplt__settings_hint(const fplt_setting *row, const char *value, char *hint, size_t size)
{
    *hint = 0;
    if (row->kind == FPLT_REAL || row->kind == FPLT_INTEGER) {
        hint_number(row, value, hint, size);
        return;
    }
    for (size_t i = 0; row->kind == FPLT_CHOICE && i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].setting, row->name) == 0 && strcasecmp(values[i].other, value) == 0 &&
            strstr(row->choices, values[i].word))
            snprintf(hint, size, "; here it is %s", values[i].word);
    if (row->flags & FPLT_PAIRS)
        snprintf(hint, size, "; for example yes=1,no=-1");
}
