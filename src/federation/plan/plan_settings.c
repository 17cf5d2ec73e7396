/* Settings of a proposal: the tables that they are read by, what has no place in a federation, and defaults that the
 * proposal states. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "data/schema.h"
#include "data/tables.h"
#include "fedplt/algorithm.h"
#include "fedplt/federation.h"
#include "fedplt/settings_table.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/run_design.h"
#include "job/job.h"
#include "promise/promise.h"
#include "trainer/declare.h"

enum {
    TERMS = FPLT_JOB_PREPARE | FPLT_JOB_COST | FPLT_JOB_COMPOSITE | FPLT_JOB_ALGORITHM |
            FPLT_JOB_TRAINING | FPLT_JOB_PARTICIPATION | FPLT_JOB_RUN
};

/* Privacy */

/* What the section `privacy` has besides the settings of one process. */
static const fplt_setting privacy_table[] = {
    {"privacy.spare", FPLT_INTEGER, FPLT_AUTO, "auto", 0, 9007199254740992.0, NULL,
     "rounds that an agent may compute once more and that are paid for: what was lost on the way, "
     "or "
     "came late; auto: 5 % of the rounds, with secure aggregation 10 %, at least 1",
     0, 0, .needs = "privacy.epsilon,privacy.tau"},
    {"privacy.start", FPLT_CHOICE, 0, "zero", 0, 0, "zero|released",
     "where the run begins; released: at the model of an earlier private run, as `continue` says",
     0, 0, .needs = "privacy.epsilon,privacy.tau"},
    FPLT_SETTINGS_END,
};

/* Refuses what cannot be promised over a network. `secure`: the coordinator sees sums only. */
static fplt_status check_privacy(const fplt_settings *settings, int secure, fplt_error *error)
{
    const char *threat = fplt_settings_text(settings, "privacy.threat");
    if (!fplt__promise_wanted(settings))
        return FPLT_OK;
    if (fplt_settings_switch(settings, "privacy.diagnose"))
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "privacy: diagnose has no place in a federation: losses without noise "
            "do not leave an agent; leave it out");
    int of_sums = strcmp(threat, "secagg") == 0 || strcmp(threat, "secagg-sum") == 0;
    if (of_sums && !secure)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "privacy: threat is %s, but the coordinator sees the update of every "
                              "agent; with `aggregate: secure` in federation.yaml it sees sums",
                              threat);
    if (!of_sums && strcmp(threat, "transcript") != 0 && strcmp(threat, "broadcast") != 0)
        return fplt_error_set(
            error, FPLT_UNSUPPORTED,
            "privacy: threat is %s, but over a network the coordinator sees every "
            "message; transcript or broadcast, or with aggregate: secure secagg or secagg-sum",
            threat);
    return FPLT_OK;
}

/* Settings */

static const char *const excluded[] = {"trace",  "threads",     "uncoordinated", "start-model",
                                       "resume", "start-scale", "penalty-units", "site-effects"};

static fplt_status set_pairs(fplt_settings *settings, const char *section, const char *prefix,
                             const fplt__pair *pairs, size_t count, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && i < count; i++) {
        char name[160], origin[200];
        snprintf(name, sizeof name, "%s%.120s", prefix, pairs[i].name);
        snprintf(origin, sizeof origin, "%s", section);
        for (size_t j = 0; j < sizeof excluded / sizeof *excluded; j++)
            if (strcmp(excluded[j], pairs[i].name) == 0)
                return fplt_error_set(error, FPLT_BAD_VALUE,
                                      "%s: %s has no place in a federation; leave it out", section,
                                      pairs[i].name);
        if (!fplt__is_word_of_custom(&pairs[i]))
            status = fplt_settings_set(settings, name, pairs[i].value, origin, error);
    }
    return status;
}

/* What is done with missing values belongs to the proposal, although it is a setting about files. */
static fplt_setting filling_table[5];
static pthread_once_t filling_made = PTHREAD_ONCE_INIT;

static void make_filling_table(void)
{
    static const fplt_setting end = FPLT_SETTINGS_END;
    static const char *const names[] = {"missing", "missing-value", "missing-bounds",
                                        "missing-cells"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const fplt_setting *row = fplt__read_table; row->name; row++)
            if (strcmp(row->name, names[i]) == 0)
                filling_table[i] = *row;
    filling_table[0].needs = "!schema"; /* which says itself what a missing value becomes */
    filling_table[4] = end;
}

static fplt_status add_filling(fplt_settings *settings, fplt_error *error)
{
    pthread_once(&filling_made, make_filling_table);
    return fplt__settings_find(settings, filling_table[0].name)
               ? FPLT_OK
               : fplt_settings_add(settings, "prepare", filling_table, error);
}

static fplt_status set_all(fplt_settings *settings, const fplt__proposal *proposal,
                           fplt_error *error)
{
    fplt_status status;
    if ((status = add_filling(settings, error)) ||
        (status = fplt_settings_add(settings, "privacy", fplt__promise_table, error)) ||
        (status = fplt_settings_add(settings, "privacy", privacy_table, error)) ||
        (status = set_pairs(settings, "train", "", proposal->setting, proposal->settings, error)))
        return status;
    return set_pairs(settings, "privacy", "privacy.", proposal->privacy, proposal->privacies,
                     error);
}

static fplt_status check_terms(const fplt_settings *settings, const fplt__proposal *proposal,
                               fplt_error *error)
{
    fplt_status status;
    const char *start = fplt_settings_text(settings, "start");
    if ((status = fplt__custom_check(proposal, settings, error)))
        return status;
    if (strcmp(start, "zero") != 0 && strcmp(start, "model") != 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: start is %s, but a federation starts at zero or at a model",
                              start);
    if (strcmp(fplt_settings_text(settings, "participation"), "trace") == 0)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "train: participation is trace, which has no place in a federation; "
                              "one of all, bernoulli, fixed, round-robin");
    return check_privacy(settings, proposal->secure, error);
}

fplt_status fplt__plan_resolution_settings(const fplt__proposal *proposal, int reading,
                                           fplt_settings **out, fplt_error *error)
{
    fplt_settings *settings;
    const char *algorithm = fplt__pair_find(proposal->setting, proposal->settings, "algorithm");
    *out = NULL;
    fplt_status status = fplt_settings_create(&settings, error);
    if (status)
        return status;
    if ((status =
             fplt_job_declare(settings, TERMS | (reading ? FPLT_JOB_DATA : 0), algorithm, error)) ||
        (status = fplt_trainer_prefer(settings, 0, NULL, NULL, error)) ||
        /* a proposal of an earlier program does not state them */
        (status =
             fplt__settings_prefer(settings, "ties", "breslow", "an earlier program", error)) ||
        (status = set_all(settings, proposal, error)) ||
        (status = check_terms(settings, proposal, error))) {
        fplt_settings_destroy(settings);
        return status;
    }
    *out = settings;
    return FPLT_OK;
}

/* Defaults */

/* As the tables are made: what federation.yaml says. A quorum below all means that rounds may close
 * without some. */
static const char *given_there(void *context, const char *name)
{
    const fplt__proposal *proposal = context;
    if (strcmp(name, "quorum") == 0)
        return proposal->quorum && proposal->quorum < proposal->members ? "given" : NULL;
    if (strncmp(name, "privacy.", 8) == 0)
        return fplt__pair_find(proposal->privacy, proposal->privacies, name + 8);
    return fplt__pair_find(proposal->setting, proposal->settings, name);
}

/* "algorithm=...|auto" of those that fit; filled before the first use. */
static char closing_early[512], mirroring[512];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void add_algorithm(char text[512], const char *name)
{
    size_t used = strlen(text);
    snprintf(text + used, 512 - used, "%s%s", used ? "|" : "algorithm=", name);
}

static void fill_needs(void)
{
    static const double parameter[FPLT_MAX_PARAMETERS];
    const fplt_algorithm *algorithm;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        if (algorithm->allows & FPLT_ALLOWS_PARTIAL)
            add_algorithm(closing_early, algorithm->name);
        if (fplt_algorithm_shape(algorithm, parameter, 2).mirrored)
            add_algorithm(mirroring, algorithm->name);
    }
    add_algorithm(closing_early, "auto");
    add_algorithm(mirroring, "auto");
}

/* What stands in federation.yaml beside the proposal, as far as its effect hangs on that. */
static fplt_status set_beside(fplt_settings *settings, const fplt_settings *leader,
                              fplt_error *error)
{
    fplt_status status =
        fplt_settings_add(settings, "federation", fplt_federation_lead_table, error);
    for (const fplt_setting *row = fplt_federation_lead_table; !status && row->name; row++)
        if (fplt_settings_given(leader, row->name))
            status = fplt_settings_set(settings, row->name, fplt_settings_text(leader, row->name),
                                       fplt__settings_origin(leader, row->name), error);
    return status;
}

/* Defaults that are stated would count as given: what has no effect is looked for before. */
static fplt_status check_effects(fplt_settings *settings, const fplt__proposal *proposal,
                                 const fplt_settings *leader, fplt_error *error)
{
    static const fplt__setting_need here[] = {
        {"t-gradient", "epochs=auto,algorithm=auto", NULL}, /* nobody adds up such times */
        {"t-communication", "epochs=auto,algorithm=auto", NULL},
        {"quorum", closing_early, NULL},
        {"inform", "!privacy.epsilon;!privacy.tau;!model", NULL},
        {"check", mirroring, NULL},
        {NULL, NULL, NULL},
    };
    pthread_once(&filled, fill_needs);
    fplt_status status = set_all(settings, proposal, error);
    if (!status)
        status = set_beside(settings, leader, error);
    if (!status)
        status = fplt__settings_effective(settings, error);
    return status ? status : fplt__settings_effective_in(settings, "coordinator", here, error);
}

/* Whether the loss is Cox's, by its name or by a schema of survival times. */
static fplt_status find_survival(const fplt__proposal *proposal, const fplt_settings *settings,
                                 int *survival, fplt_error *error)
{
    const char *loss = fplt_settings_text(settings, "loss");
    fplt_schema *schema = NULL;
    *survival = strcmp(loss, "cox") == 0;
    if (strcmp(loss, "auto") != 0)
        return FPLT_OK;
    fplt_status status = fplt__proposal_schema(proposal, &schema, error);
    if (!status && schema)
        *survival = fplt__schema_form(schema).task == FPLT_TASK_SURVIVAL;
    fplt_schema_destroy(schema);
    return status;
}

/* Beside preferences the algorithm; with survival times how ties are treated, and no intercept, which that loss does
 * not see. */
static int is_stated(const fplt_settings *settings, const char *name, int survival)
{
    if (strcmp(name, "intercept") == 0 && survival)
        return 0;
    return fplt__settings_preference(settings, name) || strcmp(name, "algorithm") == 0 ||
           (survival && strcmp(name, "ties") == 0);
}

fplt_status fplt__plan_resolution_state_defaults(fplt__proposal *proposal,
                                                 const fplt_settings *leader, fplt_error *error)
{
    fplt_settings *settings;
    const fplt_setting *row;
    const char *group;
    int survival = 0;
    fplt_status status = fplt_settings_create(&settings, error);
    if (status)
        return status;
    if (!(status = fplt__trainer_declare(settings, TERMS, 1, given_there, proposal, error)) &&
        !(status = fplt__custom_check(proposal, settings, error)))
        status = check_effects(settings, proposal, leader, error);
    if (!status)
        status = find_survival(proposal, settings, &survival, error);
    for (size_t i = 0; !status && (row = fplt_settings_row(settings, i, &group)); i++)
        if (is_stated(settings, row->name, survival) &&
            !(fplt__is_custom(proposal) && fplt__custom_ignores(group)) &&
            !fplt__pair_find(proposal->setting, proposal->settings, row->name))
            status = fplt__proposal_set(proposal, row->name,
                                        fplt_settings_text(settings, row->name), error);
    fplt_settings_destroy(settings);
    return status;
}

int fplt__plan_resolution_fits(const fplt_settings *settings)
{
    const char *standardise = fplt_settings_text(settings, "standardise");
    return strcmp(standardise, "no") != 0 && strcmp(standardise, "schema") != 0;
}
