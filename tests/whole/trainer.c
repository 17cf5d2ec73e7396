/* A trainer on data in memory gives the bits of the program on a file. */
#include "../unit/trainer/training.h"

#include "fedplt/job.h"
#include "fedplt/read.h"

static const char *program; /* the path of fedplt */

/* Runs the program on the file and reads the model that it wrote. */
static fplt_model *train_by_program(const char *folder, const char *flags)
{
    fplt_error error;
    fplt_model *model;
    char command[1024], path[512];
    snprintf(command, sizeof command, "'%s' train --data %s/rows.csv --out %s --quiet %s", program,
             folder, folder, flags);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/model.json", folder);
    assert_ok(fplt_model_read(path, &model, &error), error);
    return model;
}

static void compare(const char *flags, const char *const *pairs)
{
    fplt_error error;
    char folder[] = "/tmp/fedplt-whole-XXXXXX", path[512], command[512];
    fplt_dataset *dataset = paper_rows(5, 4, 80);
    fplt_settings *settings;
    fplt_model *in_memory;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    assert_ok(fplt_dataset_write(dataset, path, "csv", &error), error);
    fplt_model *by_program = train_by_program(folder, flags);
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_trainer_declare(settings, 1, NULL, NULL, &error), error);
    for (; *pairs; pairs += 2)
        assert_ok(fplt_settings_set(settings, pairs[0], pairs[1], "test", &error), error);
    fplt_job_source source = {.dataset = borrow(dataset, NULL, NULL)};
    fplt_trainer *trainer = trainer_of(settings, &source);
    run_to_the_end(trainer);
    assert_ok(fplt_trainer_model(trainer, &in_memory, &error), error);
    const fplt_model_info *a = fplt_model_get_view(by_program), *b = fplt_model_get_view(in_memory);
    assert_int_equal(a->dimension, b->dimension);
    assert_memory_equal(a->weights, b->weights, a->dimension * sizeof *a->weights);
    fplt_model_destroy(by_program);
    fplt_model_destroy(in_memory);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    fplt_dataset_destroy(dataset);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void memory_gives_the_bits_of_the_program(void **state)
{
    (void)state;
    static const char *const plain[] = {NULL}, *const changed[] = {"standardise", "yes",
                                                                   "intercept",   "yes",
                                                                   "eps",         "0.01",
                                                                   "holdout",     "0.25",
                                                                   NULL};
    compare("", plain);
    compare("--standardise yes --intercept --eps 0.01 --holdout 0.25", changed);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_gives_the_bits_of_the_program)};
    program = count > 1 ? words[1] : "build/fedplt";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
