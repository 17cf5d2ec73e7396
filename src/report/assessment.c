/* Measures of quality for people and programs: the table of the sites, and the whole as JSON. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/filled.h"
#include "report/model.h"
#include "report/model_access.h"
#include "report/quality.h"
#include "report/report.h"
#include "fedplt/assessment.h"

static const fplt__quality_measure measures[] = {
    {"weight", offsetof(fplt_quality, weight), 6},
    {"loss", offsetof(fplt_quality, loss), 6},
    {"accuracy", offsetof(fplt_quality, accuracy), 4},
    {"auc", offsetof(fplt_quality, auc), 4},
    {"f1", offsetof(fplt_quality, f1), 4},
    {"precision", offsetof(fplt_quality, precision), 4},
    {"recall", offsetof(fplt_quality, recall), 4},
    {"brier", offsetof(fplt_quality, brier), 4},
    {"rmse", offsetof(fplt_quality, rmse), 6},
    {"r2", offsetof(fplt_quality, r2), 4},
    {"deviance", offsetof(fplt_quality, deviance), 6},
    {"concordance", offsetof(fplt_quality, concordance), 4},
};

enum { MEASURES = sizeof measures / sizeof *measures };

const fplt__quality_measure *fplt__quality_measure_at(size_t index)
{
    return index < MEASURES ? &measures[index] : NULL;
}

static double value_of(const fplt_quality *quality, const fplt__quality_measure *measure)
{
    double value;
    memcpy(&value, (const char *)quality + measure->place, sizeof value);
    return value;
}

static const char *site_name(const fplt_dataset *dataset, uint32_t agent, char *room, size_t size)
{
    const char *name = fplt_dataset_agent_name(dataset, agent);
    snprintf(room, size, "%u", agent);
    return name ? name : room;
}

/* A measure is shown where it is known of all rows together. */
static void add_row(fplt_table *table, const char *name, const fplt_quality *quality,
                    const fplt_quality *all)
{
    fplt__table_text(table, name);
    fplt__table_whole(table, (long long)quality->rows);
    for (size_t i = 0; i < MEASURES; i++)
        if (!isnan(value_of(all, &measures[i])))
            fplt__table_number(table, value_of(quality, &measures[i]), measures[i].digits);
}

fplt_status fplt__quality_table(const fplt_dataset *dataset, const fplt_quality *each,
                                const fplt_quality *all, fplt_table **table, fplt_error *error)
{
    const char *columns[MEASURES + 2] = {"site", "rows"};
    size_t count = 2;
    uint32_t agents = fplt_dataset_agents(dataset);
    char room[16];
    for (size_t i = 0; i < MEASURES; i++)
        if (!isnan(value_of(all, &measures[i])))
            columns[count++] = measures[i].name;
    fplt_status status = fplt__table_create(columns, count, table, error);
    if (status)
        return status;
    for (uint32_t i = 0; agents > 1 && i < agents; i++)
        add_row(*table, site_name(dataset, i, room, sizeof room), &each[i], all);
    add_row(*table, "all", all, all);
    return FPLT_OK;
}

/* JSON */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *fplt__quality_json(const char *site, const fplt_quality *quality)
{
    json_t *made = site ? json_pack("{s:s}", "site", site) : json_object();
    json_object_set_new(made, "rows", json_integer((json_int_t)quality->rows));
    for (size_t i = 0; i < MEASURES; i++)
        json_object_set_new(made, measures[i].name, number(value_of(quality, &measures[i])));
    return made;
}

static json_t *sites_json(const fplt_dataset *dataset, const fplt_quality *each)
{
    json_t *made = json_array();
    char room[16];
    for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++)
        json_array_append_new(made, fplt__quality_json(site_name(dataset, i, room, sizeof room),
                                                       &each[i]));
    return made;
}

static json_t *classes_json(const fplt_model *model, const fplt_assessment *assessment)
{
    json_t *made = json_array();
    for (uint32_t k = 0; k < assessment->classes; k++) {
        const fplt_class_quality *own = &assessment->each[k];
        json_array_append_new(made, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "class",
                                              model->info.class_names[k], "rows",
                                              (json_int_t)own->rows, "precision",
                                              number(own->precision), "recall", number(own->recall),
                                              "f1", number(own->f1), "auc", number(own->auc)));
    }
    return made;
}

/* Numbers of rows, or `weights` of them. */
static json_t *confusion_json(const fplt_assessment *assessment, const double *weights)
{
    json_t *made = json_array();
    for (uint32_t k = 0; k < assessment->classes; k++) {
        json_t *line = json_array();
        for (uint32_t j = 0; j < assessment->classes; j++) {
            size_t at = (size_t)k * assessment->classes + j;
            json_array_append_new(line, weights
                                            ? json_real(weights[at])
                                            : json_integer((json_int_t)assessment->confusion[at]));
        }
        json_array_append_new(made, line);
    }
    return made;
}

static json_t *roc_json(const fplt_assessment *assessment)
{
    json_t *made = json_array();
    for (size_t i = 0; i < assessment->roc_count; i++)
        json_array_append_new(made, json_pack("{s:f, s:f, s:o}", "false_positive",
                                              assessment->roc[i].false_positive, "true_positive",
                                              assessment->roc[i].true_positive, "score",
                                              number(assessment->roc[i].score)));
    return made;
}

static json_t *calibration_json(const fplt_assessment *assessment)
{
    json_t *made = json_array();
    for (int b = 0; assessment->calibrated && b < FPLT_CALIBRATION_BINS; b++)
        json_array_append_new(made, json_pack("{s:I, s:o, s:o}", "rows",
                                              (json_int_t)assessment->bin[b].rows, "predicted",
                                              number(assessment->bin[b].predicted), "observed",
                                              number(assessment->bin[b].observed)));
    return made;
}

fplt_status fplt_assessment_text(const fplt_model *model, const fplt_dataset *dataset,
                                 const fplt_quality *each, const fplt_assessment *made, char **text,
                                 fplt_error *error)
{
    json_t *document = json_pack(
        "{s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "all",
        fplt__quality_json("all", &made->all), "weighted", !isnan(made->all.weight), "sites",
        sites_json(dataset, each), "threshold", number(made->threshold), "classes",
        classes_json(model, made), "confusion", confusion_json(made, NULL), "confusion_weight",
        made->confusion_weight ? confusion_json(made, made->confusion_weight) : json_null(), "roc",
        roc_json(made), "calibration", calibration_json(made));
    json_t *filled = document ? fplt__filled_json(dataset) : NULL;
    if (filled)
        json_object_set_new(document, "filled", filled);
    char *dumped = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(document);
    *text = dumped ? fplt__strdup(dumped) : NULL;
    free(dumped);
    return *text ? FPLT_OK
                 : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the JSON document");
}
