/* Reads a CSV file, trains a model on it, and prints the predicted label of each row. docs/c.md explains it.
 *     cc first.c $(pkg-config --cflags --libs fedplt) -o first && ./first hospitals.csv */
#include <fedplt.h>
#include <fedplt/read.h>
#include <stdio.h>
#include <stdlib.h>

static void check(fplt_status status, const fplt_error *error)
{
    if (status) {
        fprintf(stderr, "first: %s\n", error->text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : "hospitals.csv";
    fplt_error error;
    fplt_settings *settings;
    fplt_trainer *trainer;
    fplt_model *model;
    fplt_dataset *data;

    /* train: every setting of `fedplt train` has its default until it is set */
    check(fplt_settings_create(&settings, &error), &error);
    check(fplt_trainer_declare(settings, 1, NULL, NULL, &error), &error);
    check(fplt_settings_set(settings, "data", file, "first", &error), &error);
    check(fplt_settings_set_real(settings, "eps", 0.01, "first", &error), &error);
    check(fplt_trainer_create(settings, NULL, &trainer, &error), &error);
    check(fplt_trainer_run(trainer, NULL, NULL, NULL, &error), &error);
    check(fplt_trainer_model(trainer, &model, &error), &error);

    /* predict: the model reads the columns by their names and transforms them as in training */
    fplt_read_settings read = fplt_read_defaults();
    read.site = "none"; /* sites would group the rows; predictions follow the order of the file */
    check(fplt_model_dataset(model, &file, 1, &read, 0, &data, &error), &error);
    fplt_rows rows = fplt_dataset_all(data);
    double *predicted = (double *)calloc(rows.count, sizeof *predicted);
    if (!predicted)
        return 1;
    check(fplt_model_predict(model, &rows, NULL, NULL, predicted, &error), &error);
    const fplt_model_info *info = fplt_model_get_view(model);
    for (size_t i = 0; i < rows.count; i++)
        if (info->classes)
            puts(info->class_names[(size_t)predicted[i]]);
        else
            printf("%.17g\n", predicted[i]);

    free(predicted);
    fplt_dataset_destroy(data);
    fplt_model_destroy(model);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    return 0;
}
