/* Trains on rows in memory, writes the model to a file, reads it back and predicts for new rows.
 *     cc train_predict.c $(pkg-config --cflags --libs fedplt) -lm -o train_predict && ./train_predict model.json
 *
 * Three clinics measured the dose x1, the weight x2 and the response 2 + 3 x1 - 0.5 x2. Without a regulariser the model
 * must find this formula, so the program compares its predictions with it and fails if one differs by more than 1e-6. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <fedplt.h>
#include <fedplt/job.h>
#include <fedplt/transform.h>

enum { CLINICS = 3, FEATURES = 2, ROWS = 60, NEW_ROWS = 4 };

static void check(fplt_status status, const fplt_error *error)
{
    if (status) {
        fprintf(stderr, "train_predict: %s: %s\n", fplt_status_name(status), error->text);
        exit(1);
    }
}

static double response(const double *row)
{
    return 2 + 3 * row[0] - 0.5 * row[1];
}

/* Rows of all clinics, one clinic after the other; the library copies them. */
static fplt_dataset *make_clinics(void)
{
    static const char *const columns[FEATURES] = {"dose", "weight"};
    static const char *const clinics[CLINICS] = {"north", "east", "south"};
    static const size_t rows_of[CLINICS] = {30, 20, 10};
    double values[ROWS][FEATURES], labels[ROWS];
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_dataset *data;
    fplt_error error;
    for (int i = 0; i < ROWS; i++) {
        values[i][0] = fplt_stream_uniform(&stream);
        values[i][1] = 70 + 10 * fplt_stream_normal(&stream);
        labels[i] = response(values[i]);
    }
    fplt_rows rows = {.count = ROWS, .features = FEATURES, .dense = &values[0][0], .label = labels};
    check(fplt_dataset_from_rows(&rows, FPLT_TASK_REGRESSION, rows_of, CLINICS, &data, &error),
          &error);
    check(fplt_dataset_name(data, columns, clinics, NULL, &error), &error);
    return data;
}

static void train_and_write(const char *path)
{
    fplt_error error;
    fplt_settings *settings;
    fplt_trainer *trainer;
    fplt_model *model;
    fplt_result result;
    fplt_job_source source = {.dataset = make_clinics()}; /* the trainer takes it over */

    check(fplt_settings_create(&settings, &error), &error);
    check(fplt_trainer_declare(settings, 1, NULL, NULL, &error), &error);
    check(fplt_settings_set(settings, "loss", "least-squares", "train_predict", &error), &error);
    check(fplt_settings_set(settings, "regulariser", "none", "train_predict", &error), &error);
    check(fplt_trainer_create(settings, &source, &trainer, &error), &error);
    check(fplt_trainer_run(trainer, NULL, NULL, &result, &error), &error);
    if (result.outcome != FPLT_CONVERGED) { /* divergence is an outcome, not an error */
        fprintf(stderr, "train_predict: %s\n", result.sentence);
        exit(1);
    }
    check(fplt_trainer_model(trainer, &model, &error), &error);
    check(fplt_model_write(model, path, &error), &error);
    fplt_model_destroy(model);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
}

/* A model predicts for transformed rows: its own transform standardises the columns as in training. */
static int predict(const char *path)
{
    double fresh[NEW_ROWS][FEATURES] = {{0, 70}, {1, 70}, {0.5, 50}, {0.25, 90}};
    double unknown[NEW_ROWS] = {0}, predicted[NEW_ROWS];
    const size_t all = NEW_ROWS;
    int failed = 0;
    fplt_error error;
    fplt_model *model;
    fplt_dataset *data;

    check(fplt_model_read(path, &model, &error), &error);
    fplt_rows rows = {
        .count = NEW_ROWS, .features = FEATURES, .dense = &fresh[0][0], .label = unknown};
    check(fplt_dataset_from_rows(&rows, FPLT_TASK_REGRESSION, &all, 1, &data, &error), &error);
    check(fplt_transform_apply(fplt_model_get_view(model)->transform, data, &error), &error);
    rows = fplt_dataset_all(data);
    check(fplt_model_predict(model, &rows, NULL, NULL, predicted, &error), &error);
    for (int i = 0; i < NEW_ROWS; i++) {
        printf("dose %.2f, weight %.0f: %.4f\n", fresh[i][0], fresh[i][1], predicted[i]);
        failed |= !(fabs(predicted[i] - response(fresh[i])) < 1e-6);
    }
    fplt_dataset_destroy(data);
    fplt_model_destroy(model);
    return failed;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "model.json";
    train_and_write(path);
    return predict(path);
}
