/* Private training: a model with differential privacy, its certificate, and the verification of the certificate.
 *     cc private.c $(pkg-config --cflags --libs fedplt) -lm -o private && ./private private.json
 *
 * The library plans noise and rounds from public numbers alone: how many clinics and records there are, and the bound on the
 * norm of a row. The noise comes from the operating system, so each run writes another model with the same promise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fedplt.h>
#include <fedplt/certificate.h>
#include <fedplt/job.h>

enum { CLINICS = 4, FEATURES = 3, ROWS = 500 };

static void check(fplt_status status, const fplt_error *error)
{
    if (status) {
        fprintf(stderr, "private: %s: %s\n", fplt_status_name(status), error->text);
        exit(1);
    }
}

/* Patients of four clinics; every row has a norm below 1, the bound that is set as privacy.rows. */
static fplt_dataset *make_clinics(void)
{
    static double values[CLINICS * ROWS][FEATURES], labels[CLINICS * ROWS];
    static const size_t rows_of[CLINICS] = {ROWS, ROWS, ROWS, ROWS};
    fplt_stream stream = fplt_stream_make(5, 0, FPLT_FOR_TEST, 0, 0, 0);
    fplt_dataset *data;
    fplt_error error;
    for (int i = 0; i < CLINICS * ROWS; i++) {
        for (int k = 0; k < FEATURES; k++)
            values[i][k] = fplt_stream_uniform(&stream) - 0.5;
        labels[i] = values[i][0] - values[i][1] + 0.2 * fplt_stream_normal(&stream) > 0 ? 1 : -1;
    }
    fplt_rows rows = {
        .count = CLINICS * ROWS, .features = FEATURES, .dense = &values[0][0], .label = labels};
    check(fplt_dataset_from_rows(&rows, FPLT_TASK_BINARY, rows_of, CLINICS, &data, &error), &error);
    return data;
}

static void print_finding(void *context, int holds, const char *sentence)
{
    (void)context;
    printf("  %s: %s\n", holds == 0 ? "wrong" : holds == 1 ? "ok" : "notice", sentence);
}

/* The rows are not measured: a loss without noise would reveal something about them. */
static void print_weights(const fplt_model *model)
{
    const fplt_model_info *info = fplt_model_get_view(model);
    printf("weights");
    for (size_t k = 0; k < info->dimension; k++)
        printf(" %.3f", info->weights[k]);
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "private.json";
    fplt_error error;
    fplt_settings *settings;
    fplt_trainer *trainer;
    fplt_model *model;
    fplt_job_source source = {.dataset = make_clinics()};

    check(fplt_settings_create(&settings, &error), &error);
    check(fplt_trainer_declare(settings, 1, NULL, NULL, &error), &error);
    check(fplt_settings_set_real(settings, "privacy.epsilon", 2, "private", &error), &error);
    check(fplt_settings_set_real(settings, "privacy.delta", 1e-5, "private", &error), &error);
    check(fplt_settings_set_real(settings, "privacy.rows", 1, "private", &error), &error);
    check(fplt_trainer_create(settings, &source, &trainer, &error), &error);
    check(fplt_trainer_run(trainer, NULL, NULL, NULL, &error), &error);
    check(fplt_trainer_model(trainer, &model, &error), &error);
    check(fplt_model_write(model, path, &error), &error);
    const fplt_promise_view *promise = fplt_trainer_promise(trainer);
    printf("(%g, %g)-differential privacy against %s: %llu rounds\n", promise->promised,
           promise->delta, promise->threat->name, (unsigned long long)promise->rounds);

    print_weights(model);

    /* An auditor computes the promise again from the certificate alone. */
    const char *certificate = fplt_trainer_certificate(trainer, &error);
    if (!certificate)
        return 1;
    fplt_certificate_look look = {.finding = print_finding};
    fplt_certificate_summary summary;
    check(fplt_certificate_verify(certificate, strlen(certificate), "certificate", &look, &summary,
                                  &error),
          &error);
    printf("the certificate %s\n", summary.holds ? "holds" : "does not hold");
    int failed = !summary.holds || !(summary.epsilon <= 2);
    fplt_model_destroy(model);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    return failed;
}
