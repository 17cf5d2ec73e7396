/* Models of a federation in threads (federating.h) beside that of the trainer in one process. */
#ifndef FPLT_TESTS_FEDERATED_MODELS_H
#define FPLT_TESTS_FEDERATED_MODELS_H

#include "federating.h"

#include "fedplt.h"
#include "fedplt/trainer.h"

/* That every side succeeded. */
static inline void assert_sides_ok(const struct federating *all)
{
    for (size_t i = 0; i <= all->sites; i++)
        if (all->side[i].status)
            fail_msg("%s: %s\n%s", all->side[i].name, all->side[i].error.text, all->side[i].log);
}

/* The model in the folder of a side. */
static inline fplt_model *model_of(const struct federating *all, size_t side)
{
    char path[600];
    fplt_error error;
    fplt_model *model;
    snprintf(path, sizeof path, "%s/out/model.json", all->side[side].folder);
    assert_ok(fplt_model_read(path, &model, &error), error);
    return model;
}

static inline const char *given(void *context, const char *name)
{
    for (const char *const(*pairs)[2] = context; (*pairs)[0]; pairs++)
        if (strcmp((*pairs)[0], name) == 0)
            return (*pairs)[1];
    return NULL;
}

/* The same settings in one process, a file a site. */
static inline fplt_model *trained(const struct federating *all, const char *const (*pairs)[2])
{
    char data[2000] = "";
    fplt_error error;
    fplt_settings *settings;
    fplt_trainer *trainer;
    fplt_model *model;
    for (size_t i = 1; i <= all->sites; i++)
        snprintf(data + strlen(data), sizeof data - strlen(data), "%s%s/rows.csv", i > 1 ? "," : "",
                 all->side[i].folder);
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_trainer_declare(settings, 1, given, (void *)pairs, &error), error);
    assert_ok(fplt_settings_set(settings, "data", data, "test", &error), error);
    for (; (*pairs)[0]; pairs++)
        assert_ok(fplt_settings_set(settings, (*pairs)[0], (*pairs)[1], "test", &error), error);
    assert_ok(fplt_trainer_create(settings, NULL, &trainer, &error), error);
    assert_ok(fplt_trainer_run(trainer, NULL, NULL, NULL, &error), error);
    assert_ok(fplt_trainer_model(trainer, &model, &error), error);
    fplt_trainer_destroy(trainer);
    fplt_settings_destroy(settings);
    return model;
}

/* To the bit with tolerance 0. */
static inline void assert_models_equal(const struct federating *all, const fplt_model *expected,
                                       double tolerance)
{
    const fplt_model_info *wanted = fplt_model_get_view(expected);
    for (size_t i = 0; i <= all->sites; i++) {
        fplt_model *model = model_of(all, i);
        const fplt_model_info *own = fplt_model_get_view(model);
        assert_int_equal(own->features, wanted->features);
        assert_int_equal(own->dimension, wanted->dimension);
        assert_int_equal(own->intercept, wanted->intercept);
        assert_int_equal(own->classes, wanted->classes);
        assert_string_equal(own->loss, wanted->loss);
        for (size_t j = 0; j < wanted->features && wanted->feature_names; j++)
            assert_string_equal(own->feature_names[j], wanted->feature_names[j]);
        for (size_t j = 0; j < wanted->classes; j++)
            assert_string_equal(own->class_names[j], wanted->class_names[j]);
        for (size_t j = 0; j < wanted->dimension; j++)
            if (!(fabs(own->weights[j] - wanted->weights[j]) <= tolerance))
                fail_msg("%s: weight %zu is %.17g, not %.17g", all->side[i].name, j,
                         own->weights[j], wanted->weights[j]);
        fplt_model_destroy(model);
    }
}

#endif
