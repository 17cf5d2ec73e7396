#include "federation/plan/validation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "federation/plan/custom_model.h"
#include "federation/plan/plan_resolution.h"
#include "federation/plan/proposal.h"
#include "federation/plan/refit.h"

static const char chosen[] = "chosen";

/* Settings of the section `validate`, or as a proposal states them. */
static fplt_status read_settings(const char *pairs, fplt_settings **settings, fplt_error *error)
{
    char name[128], value[FPLT__VALIDATION_TEXT];
    fplt_status status = fplt_settings_create(settings, error);
    if (status)
        return status;
    status = fplt_settings_add(*settings, "validate", fplt__validation_settings, error);
    while (!status && *pairs) {
        pairs = fplt__pairs_next(pairs, name, sizeof name, value, sizeof value);
        status = fplt_settings_set(*settings, name, value, "validate", error);
    }
    if (status) {
        fplt_settings_destroy(*settings);
        *settings = NULL;
    }
    return status;
}

static fplt_status take_settings(const fplt_settings *settings, fplt__validation *validation,
                                 fplt_error *error)
{
    snprintf(validation->search, sizeof validation->search, "%s",
             fplt_settings_text(settings, "search"));
    validation->folds = (uint32_t)fplt_settings_integer(settings, "folds");
    fplt_status status = fplt__validation_grid(fplt_settings_text(settings, "grid"),
                                               validation->value, &validation->count, error);
    return status ? fplt_error_prefix(error, "validate") : FPLT_OK;
}

/* `search=eps,grid=0.1\,1,folds=5` */
static fplt_status state_text(const fplt_settings *settings, char text[FPLT__VALIDATION_TEXT],
                              fplt_error *error)
{
    int used = snprintf(text, FPLT__VALIDATION_TEXT,
                        "search=%s,folds=%lld,grid=", fplt_settings_text(settings, "search"),
                        fplt_settings_integer(settings, "folds"));
    size_t at = (size_t)used;
    for (const char *grid = fplt_settings_text(settings, "grid"); *grid; grid++) {
        if (at + 3 > FPLT__VALIDATION_TEXT)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "validate: grid has more characters than the %d of a proposal; "
                                  "leave values or digits out",
                                  FPLT__VALIDATION_TEXT);
        if (*grid == ',')
            text[at++] = '\\';
        text[at++] = *grid;
    }
    text[at] = 0;
    return FPLT_OK;
}

fplt_status fplt__validation_read(const fplt__proposal *proposal, fplt__validation *validation,
                                  fplt_error *error)
{
    fplt_settings *settings;
    fplt_status status = read_settings(proposal->validation, &settings, error);
    if (status)
        return status;
    status = take_settings(settings, validation, error);
    fplt_settings_destroy(settings);
    return status;
}

/* ---- what is proposed ---- */

/* Settings that `train` may not have beside a validation, and why. */
static fplt_status check_given(const fplt__proposal *proposal, const char *search,
                               fplt_error *error)
{
    if (fplt__pair_find(proposal->setting, proposal->settings, search))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "validate chooses %s, but train states it; leave it out there",
                              search);
    if (fplt__pair_find(proposal->setting, proposal->settings, "holdout"))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "validate: folds say which rows are held out, but train has holdout; "
                              "leave it out");
    return FPLT_OK;
}

static fplt_status check_penalty(const fplt__proposal *proposal, const char *search,
                                 fplt_error *error)
{
    fplt_settings *settings;
    int of_eps = strcmp(search, "eps") == 0;
    fplt_status status = fplt__plan_resolution_settings(proposal, 0, &settings, error);
    if (status)
        return status;
    if (strcmp(fplt_settings_text(settings, of_eps ? "regulariser" : "h"),
               of_eps ? "none" : "zero") == 0)
        status =
            fplt_error_set(error, FPLT_BAD_VALUE, "validate searches %s, but train has %s", search,
                           of_eps ? "regulariser none" : "no h; add one, such as `h: l1`");
    fplt_settings_destroy(settings);
    return status;
}

fplt_status fplt__validation_propose(const char *pairs, fplt__proposal *proposal, fplt_error *error)
{
    fplt_settings *settings;
    fplt__validation validation;
    if (proposal->privacies)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "validate: scores of held-out rows would leave without noise, but "
                              "federation.yaml promises privacy; leave `validate` out");
    if (fplt__is_custom(proposal))
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "validate: of a custom cost neither the penalty nor the rows are "
                              "known; leave `validate` out");
    fplt_status status = read_settings(pairs, &settings, error);
    if (status)
        return status;
    if (!(status = take_settings(settings, &validation, error)) &&
        !(status = check_given(proposal, validation.search, error)) &&
        !(status = check_penalty(proposal, validation.search, error)))
        status = state_text(settings, proposal->validation, error);
    fplt_settings_destroy(settings);
    return status;
}

/* ---- its parts ---- */

fplt_status fplt__validation_part_read(const fplt__proposal *proposal, fplt__validation_part *part,
                                       fplt_error *error)
{
    char again[64];
    *part = (fplt__validation_part){FPLT__PART_NONE, 0, 0};
    if (!*proposal->part)
        return FPLT_OK;
    if (strcmp(proposal->part, chosen) == 0) {
        part->kind = FPLT__PART_CHOSEN;
        return FPLT_OK;
    }
    part->kind = FPLT__PART_FOLD;
    const char *first = strchr(proposal->part, ' '), *last = strrchr(proposal->part, ' ');
    unsigned long fold = first ? strtoul(first, NULL, 10) : 0,
                  folds = last ? strtoul(last, NULL, 10) : 0;
    if (fold >= 1 && fold <= folds && folds >= 2 && folds <= FPLT__VALIDATION_FOLDS) {
        part->fold = (uint32_t)fold - 1;
        part->folds = (uint32_t)folds;
        snprintf(again, sizeof again, "fold %lu of %lu", fold, folds);
        if (strcmp(again, proposal->part) == 0)
            return FPLT_OK;
    }
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "the proposal is for part '%.23s' of a validation, which is none: "
                          "`chosen`, or `fold 1 of 5`",
                          proposal->part);
}

int fplt__leaves_out_fold(const fplt__proposal *proposal)
{
    fplt__validation_part part;
    return !fplt__validation_part_read(proposal, &part, NULL) && part.kind == FPLT__PART_FOLD;
}

static fplt_status set_value(fplt__proposal *proposal, const fplt__validation *validation,
                             size_t value, fplt_error *error)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", validation->value[value]);
    return fplt__proposal_set(proposal, validation->search, text, error);
}

fplt_status fplt__validation_state_fit(fplt__proposal *proposal, const fplt__validation *validation,
                                       uint32_t folds, size_t at, fplt_error *error)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", 1.0 / folds);
    fplt_status status = set_value(proposal, validation, at / folds, error);
    if (!status)
        status = fplt__proposal_set(proposal, "holdout", text, error);
    snprintf(proposal->part, sizeof proposal->part, "fold %u of %u", (unsigned)(at % folds) + 1,
             folds);
    *proposal->validation = 0;
    proposal->refit = FPLT__REFIT_NONE;
    proposal->run += 1 + (uint32_t)at;
    fplt__pairs_sort(proposal->setting, proposal->settings);
    return status;
}

fplt_status fplt__validation_state_chosen(fplt__proposal *proposal,
                                          const fplt__validation *validation, size_t value,
                                          fplt_error *error)
{
    fplt_status status = set_value(proposal, validation, value, error);
    snprintf(proposal->part, sizeof proposal->part, "%s", chosen);
    *proposal->validation = 0;
    fplt__pairs_sort(proposal->setting, proposal->settings);
    return status;
}

size_t fplt__validation_value_of(const fplt__validation *validation, const fplt__proposal *proposal)
{
    const char *text = fplt__pair_find(proposal->setting, proposal->settings, validation->search);
    double value;
    size_t at = 0;
    if (!text || fplt__parse_real(text, &value))
        return validation->count;
    while (at < validation->count && validation->value[at] != value)
        at++;
    return at;
}
