/* The model's file: the same bits back, and a sentence for everything that is not a model. */
#include "testing.h"

#include <jansson.h>

#include "failing.h"
#include "fedplt/export.h"
#include "fedplt/model.h"
#include "fedplt/random.h"
#include "fedplt/transform.h"
#include "temporary.h"

enum { FEATURES = 3 };

static const char *const features[] = {"age", "Größe", "sex=\"f\""};
static const char *const classes[] = {"no", "perhaps", "yes"};
static const double softmax_weights[] = {
    0.1, -0.0, 4.9406564584124654e-324, 1e308, 1, 1.0 / 3, -1e-17,
    2,   3,    0.30000000000000004,     11,    12};

static fplt_model_info sample(fplt_transform *transform)
{
    static double mean[] = {1, 2, 0.3}, scale[] = {0.1, 7, 1e-5};
    *transform = (fplt_transform){FEATURES, mean, scale, 2.5};
    return (fplt_model_info){.task = FPLT_TASK_CLASSES,
                             .loss = "softmax",
                             .huber_delta = 1,
                             .intercept = 1,
                             .features = FEATURES,
                             .classes = 3,
                             .feature_names = features,
                             .class_names = classes,
                             .drop_first_level = 1,
                             .label = "b",
                             .transform = transform,
                             .weights = softmax_weights,
                             .dimension = 12,
                             .program = "fedplt test",
                             .training = "{\"algorithm\": \"fed-plt\"}"};
}

static fplt_model *sample_model(void)
{
    fplt_transform transform;
    fplt_model_info info = sample(&transform);
    fplt_error error;
    fplt_model *model;
    assert_ok(fplt_model_create(&info, &model, &error), error);
    return model;
}

static void bits_come_back(void **state)
{
    (void)state;
    fplt_error error;
    fplt_model *model = sample_model(), *copy;
    char folder[] = "/tmp/fedplt-model-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.json", folder);
    assert_ok(fplt_model_write(model, path, &error), error);
    assert_ok(fplt_model_read(path, &copy, &error), error);
    const fplt_model_info *a = fplt_model_get_view(model), *b = fplt_model_get_view(copy);
    assert_int_equal(b->dimension, 12);
    assert_memory_equal(a->weights, b->weights, sizeof softmax_weights);
    assert_memory_equal(a->transform->mean, b->transform->mean, FEATURES * sizeof(double));
    assert_memory_equal(a->transform->scale, b->transform->scale, FEATURES * sizeof(double));
    assert_true(b->transform->radius == 2.5 && b->intercept == 1 && b->drop_first_level == 1);
    for (size_t i = 0; i < FEATURES; i++) {
        assert_string_equal(b->feature_names[i], features[i]);
        assert_string_equal(b->class_names[i], classes[i]);
    }
    assert_int_equal(b->task, FPLT_TASK_CLASSES);
    assert_string_equal(b->loss, "softmax");
    assert_string_equal(b->label, "b");
    assert_null(b->site);
    assert_string_equal(b->training, "{\"algorithm\":\"fed-plt\"}");
    assert_int_equal(fplt_model_outputs(copy), 3);
    fplt_model_destroy(model);
    fplt_model_destroy(copy);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* no temporary file is left */
}

static json_t *sample_json(void)
{
    fplt_error error;
    char *text;
    fplt_model *model = sample_model();
    assert_ok(fplt_model_text(model, &text, &error), error);
    json_t *json = json_loads(text, 0, NULL);
    fplt_free(text);
    fplt_model_destroy(model);
    return json;
}

/* Parses the document, which must be refused with these words. */
static void refused(json_t *json, const char *part)
{
    fplt_error error = {FPLT_OK, ""};
    fplt_model *model;
    char *text = json_dumps(json, JSON_REAL_PRECISION(17));
    fplt_status status = fplt_model_parse(text, strlen(text), "m.json", &model, &error);
    free(text);
    if (!status)
        fail_msg("accepted, but should have said '%s'", part);
    assert_null(model);
    assert_int_equal(status, error.status);
    assert_contains(error.text, "m.json");
    assert_contains(error.text, part);
}

static void every_field_is_needed(void **state)
{
    (void)state;
    static const char *const names[] = {"format",        "version",     "program",   "task",
                                        "loss",          "huber_delta", "intercept", "features",
                                        "feature_names", "classes",     "reading",   "transform",
                                        "weights",       "training"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *json = sample_json();
        assert_int_equal(json_object_del(json, names[i]), 0);
        refused(json, names[i]);
        json_decref(json);
        json = sample_json(); /* and of its own kind */
        json_object_set_new(json, names[i], json_pack("[[]]"));
        refused(json, names[i]);
        json_decref(json);
    }
    json_t *json = sample_json(), *inner;
    const char *sections[] = {"reading", "transform"}, *name;
    for (size_t s = 0; s < 2; s++)
        json_object_foreach(json_object_get(json, sections[s]), name, inner)
        {
            json_t *other = sample_json();
            json_object_del(json_object_get(other, sections[s]), name);
            refused(other, name);
            json_decref(other);
        }
    json_decref(json);
}

static void refused_with(const char *field, json_t *value, const char *part)
{
    json_t *json = sample_json();
    json_object_set_new(json, field, value);
    refused(json, part);
    json_decref(json);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    refused_with("format", json_string("other"), "this is not a model");
    refused_with("version", json_integer(2), "version is 2");
    refused_with("task", json_string("binary"), "3 classes");
    refused_with("task", json_string("regression"), "classes");
    refused_with("task", json_string("tasks"), "task is 'tasks'");
    refused_with("loss", json_string("hinge"), "hinge");
    refused_with("loss", json_string("logistic"), "does not go with the task classes");
    refused_with("features", json_integer(0), "features is 0");
    refused_with("features", json_integer(-1), "features is -1");
    refused_with("features", json_integer(4), "3 feature_names, but 4 features");
    refused_with("intercept", json_false(), "weights has 12 numbers, but it must have 3 x 3");
    refused_with("weights", json_pack("[f, s]", 1.0, "x"), "weights[1] is not a number");
    refused_with("classes", json_pack("[s, s, i]", "a", "b", 3), "classes[2] is not a text");
    refused_with("transform",
                 json_pack("{s:[f, f], s:n, s:f}", "mean", 1.0, 2.0, "scale", "radius", 0.0),
                 "one mean, scale and fill a feature");
    refused_with("transform",
                 json_pack("{s:n, s:[f, f, f], s:f}", "mean", "scale", 1.0, 0.0, 1.0, "radius",
                           0.0),
                 "transform.scale[1] is 0");
    refused_with("transform", json_pack("{s:n, s:n, s:f}", "mean", "scale", "radius", -1.0),
                 "transform.radius is -1");
    fplt_error error;
    fplt_model *model;
    assert_int_equal(fplt_model_parse("{\n]", 3, "m.json", &model, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "m.json:2: this is not JSON");
    assert_int_equal(fplt_model_parse("[]", 2, "m.json", &model, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt_model_parse("", 0, "m.json", &model, &error), FPLT_BAD_DATA);
    assert_int_equal(fplt_model_read("/nonexistent/m.json", &model, &error), FPLT_IO);
    assert_contains(error.text, "/nonexistent/m.json");
    fplt_transform transform;
    fplt_model_info info = sample(&transform);
    double weights[12] = {0};
    weights[7] = INFINITY;
    info.weights = weights;
    assert_int_equal(fplt_model_create(&info, &model, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "weights[7]");
}

/* Bytes changed at random: refused with a sentence, or accepted as a whole model. */
static void mutations_do_no_harm(void **state)
{
    (void)state;
    fplt_error error;
    fplt_model *model = sample_model();
    char *text;
    assert_ok(fplt_model_text(model, &text, &error), error);
    fplt_model_destroy(model);
    size_t length = strlen(text);
    fplt_stream stream = fplt_stream_make(1, 0, FPLT_FOR_TEST, 0, 0, 0);
    static const char bytes[] = "{}[]\",:0123456789eE+-.ntf\\\n\0\xff ";
    for (int round = 0; round < 5000; round++) {
        char *copy = malloc(length);
        memcpy(copy, text, length);
        for (uint64_t k = fplt_stream_below(&stream, 4) + 1; k > 0; k--)
            copy[fplt_stream_below(&stream, length)] =
                bytes[fplt_stream_below(&stream, sizeof bytes)];
        size_t size = fplt_stream_below(&stream, 4) ? length : fplt_stream_below(&stream, length);
        error = (fplt_error){FPLT_OK, ""};
        fplt_status status = fplt_model_parse(copy, size, "m.json", &model, &error);
        assert_true(!status == (model != NULL));
        if (status)
            assert_contains(error.text, "m.json");
        fplt_model_destroy(model);
        free(copy);
    }
    fplt_free(text);
}

static void survives_want_of_memory(void **state)
{
    (void)state;
    fplt_error error;
    fplt_model *model = sample_model();
    char *text;
    assert_ok(fplt_model_text(model, &text, &error), error);
    fplt_model_destroy(model);
    temporary file = temporary_file(text, strlen(text));
    fplt_free(text);
    survives_failing_allocations(
        {
            fplt_model *read;
            status = fplt_model_read(file.path, &read, NULL);
            fplt_model_destroy(read);
        },
        15);
    unlink(file.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_come_back),          cmocka_unit_test(every_field_is_needed),
        cmocka_unit_test(nonsense_is_refused),     cmocka_unit_test(mutations_do_no_harm),
        cmocka_unit_test(survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
