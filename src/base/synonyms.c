/* Names that other programs have for a setting. */
#include <string.h>
#include <strings.h>

#include "base/settings.h"

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
            fplt_settings_find(settings, synonyms[i].name)) {
            *how = synonyms[i].how;
            return synonyms[i].name;
        }
    return NULL;
}
