/* Schemas: what they say of rows, their canonical text, drafts, and a sentence with file and line for
 * everything that is wrong. */
#include <math.h>
#include <unistd.h>

#include "helpers.h"

#include "fedplt/schema.h"
#include "data/dataset_access.h"
#include "data/schema_access.h"

static const char patients[] =
    "columns:\n"
    "  age:   {type: number, bounds: 20..90, missing: 55}\n"
    "  pain:  {type: category, levels: {none: 0, some: [1, 2]}, missing: none, other: some}\n"
    "  smoke: {type: category, levels: [no, yes, ex], base: no, missing: no, other: neutral-row}\n"
    "  sick:  {type: label, classes: {no: 0, yes: [1, 2, 3]}, missing: no, other: neutral-row}\n"
    "  place: {type: site, names: [north, south]}\n"
    "  who:   ignore\n";

static fplt_schema *parse(const char *text)
{
    fplt_schema *schema;
    fplt_error error;
    assert_ok(fplt__schema_parse(text, strlen(text), "s.yaml", &schema, &error), error);
    return schema;
}

static fplt_dataset *read_by(const char *schema_text, const char *name, const char *text)
{
    fplt_schema *schema = parse(schema_text);
    fplt_dataset *dataset = read_text_as(name, text, &(fplt_read_settings){.schema = schema});
    fplt_schema_destroy(schema); /* the data set keeps it */
    assert_non_null(fplt__dataset_schema(dataset));
    return dataset;
}

static void refuse_by(const char *schema_text, const char *name, const char *text,
                      const char *where, const char *part)
{
    fplt_schema *schema = parse(schema_text);
    refuse_text(name, text, &(fplt_read_settings){.schema = schema}, where, part);
    fplt_schema_destroy(schema);
}

static void rows_become_what_is_declared(void **state)
{
    (void)state;
    fplt_dataset *dataset = read_by(patients, "x.csv",
                                    "who,place,age,pain,sick,smoke\n"
                                    "a,south,30,0,0,no\n"      /* 2nd site first in the file */
                                    "b,north,1e300,2.0,3,ex\n" /* clipped; 2.0 is 2 */
                                    "c,north,?,NA,,\n"         /* all missing */
                                    "d,north,old,7,1,yes\n"    /* text in a number; unknown level */
                                    "e,south,40,1,1,maybe\n"   /* neutral: unknown level */
                                    "f,south,40,1,9,yes\n");   /* neutral: unknown class */
    static const char *const names[] = {"age", "pain=none", "pain=some", "smoke=yes", "smoke=ex"};
    static const double expected[][5] = {{90, 0, 1, 0, 1}, {55, 1, 0, 0, 0}, {55, 0, 1, 1, 0},
                                         {30, 1, 0, 0, 0}, {55, 0, 0, 0, 0}, {55, 0, 0, 0, 0}};
    static const double labels[] = {1, -1, 1, -1, -1, -1};
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(all.features, 5);
    for (size_t j = 0; j < 5; j++)
        assert_string_equal(fplt_dataset_feature_name(dataset, j), names[j]);
    assert_memory_equal(all.dense, expected, sizeof expected);
    assert_memory_equal(all.label, labels, sizeof labels);
    assert_string_equal(fplt_dataset_agent_name(dataset, 0), "north");
    assert_int_equal(fplt_dataset_shard(dataset, 0).count, 3);
    assert_int_equal(fplt_dataset_task(dataset), FPLT_TASK_BINARY);
    assert_string_equal(fplt_dataset_class_name(dataset, 1), "yes");
    fplt_dataset_destroy(dataset);
}

/* Whatever stands in one record, the data set has the same shape and only that row differs. */
static void one_record_changes_one_row(void **state)
{
    (void)state;
    static const char *const kinds[] = {"1e300,0,0,no",   "-1e300,0,0,no", "1e999,0,0,no",
                                        "nan,0,0,no",     ",,,",           "text,text,text,text",
                                        "30,rare,0,rare", "30,0,77,no",    "?,?,?,?"};
    const char *head = "age,pain,sick,smoke,place,who\n30,0,0,no,north,1\n";
    char text[256];
    snprintf(text, sizeof text, "%s40,1,1,yes,north,2\n50,1,0,ex,south,3\n", head);
    fplt_dataset *first = read_by(patients, "x.csv", text);
    fplt_rows a = fplt_dataset_all(first);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(text, sizeof text, "%s%s,north,2\n50,1,0,ex,south,3\n", head, kinds[i]);
        fplt_dataset *other = read_by(patients, "x.csv", text);
        fplt_rows b = fplt_dataset_all(other);
        assert_same_agents(first, other);
        assert_int_equal(a.features, b.features);
        assert_int_equal(fplt_dataset_outputs(first), fplt_dataset_outputs(other));
        assert_memory_equal(a.dense, b.dense, 5 * sizeof(double));
        assert_memory_equal(a.dense + 10, b.dense + 10, 5 * sizeof(double));
        for (size_t j = 5; j < 10; j++)
            assert_true(b.dense[j] >= (j == 5 ? 20 : 0) && b.dense[j] <= (j == 5 ? 90 : 1));
        fplt_dataset_destroy(other);
    }
    fplt_dataset_destroy(first);
}

static void beside_the_features(void **state)
{
    (void)state;
    fplt_dataset *dataset = read_by("columns:\n"
                                    "  x: {type: number, bounds: -1..1, missing: 0}\n"
                                    "  w: {type: weight, bounds: 0.5..2, missing: 1}\n"
                                    "  o: {type: offset, bounds: -3..3, missing: 0}\n"
                                    "  t: {type: time, bounds: 0.1..100, missing: 1}\n"
                                    "  e: {type: event, classes: [0, 1], missing: 0, other: 0}\n"
                                    "  p: {type: person, most: 2}\n"
                                    "  s: {type: site, names: [b, a]}\n",
                                    "x.csv",
                                    "x,w,o,t,e,p,s\n.5,9,1,7,1,ann,a\n1,,9,500,0,bob,b\n"
                                    "1,2,?,3,1,ann,b\n");
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(fplt_dataset_task(dataset), FPLT_TASK_SURVIVAL);
    const double weight[] = {1, 2, 2}, offset[] = {3, 0, 1}, label[] = {-100, 3, 7},
                 person[] = {1, 0};
    assert_memory_equal(all.weight, weight, sizeof weight);
    assert_memory_equal(all.offset, offset, sizeof offset);
    assert_memory_equal(all.label, label, sizeof label);
    assert_memory_equal(fplt__dataset_persons(dataset, 0), person, sizeof person);
    assert_true(fplt__dataset_persons(dataset, 1)[0] == 0);
    uint32_t last = 1;
    fplt_dataset *picked;
    fplt_error error;
    assert_ok(fplt__dataset_pick(dataset, &last, 1, &picked, &error), error);
    assert_true(fplt__dataset_persons(picked, 0)[0] == 0);
    assert_ptr_equal(fplt__dataset_schema(picked), fplt__dataset_schema(dataset));
    fplt_dataset_destroy(dataset); /* the picked one keeps the schema */
    assert_non_null(fplt__schema_text(fplt__dataset_schema(picked)));
    fplt_dataset_destroy(picked);
}

/* Of one person's rows the first ones count; what stands in the others, or in a row of nobody, is not seen,
 * weight and offset included. */
static void rows_beyond_those_of_a_person_are_neutral(void **state)
{
    (void)state;
    static const char schema[] =
        "columns:\n  x: {type: number, bounds: 0..10, missing: 0}\n"
        "  w: {type: weight, bounds: 1..3, missing: 1}\n"
        "  o: {type: offset, bounds: -3..5, missing: 0}\n"
        "  y: {type: label, bounds: 0..8, missing: 0}\n"
        "  p: {type: person, most: 2, missing: neutral-row, other: neutral-row}\n";
    fplt_dataset *dataset = read_by(schema, "x.csv",
                                    "x,w,o,y,p\n1,1,1,1,ann\n2,1,2,2,ann\n3,1,3,3,\n"
                                    "3,1,3,3,ann\n4,3,4,4,bob\n9,1,3,3,ann\n7,2,1,1,?\n");
    const double x[] = {1, 2, 5, 5, 4, 5, 5}, weight[] = {1, 1, 2, 2, 3, 2, 2},
                 offset[] = {1, 2, 1, 1, 4, 1, 1}, label[] = {1, 2, 4, 4, 4, 4, 4};
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(all.count, 7);
    assert_memory_equal(all.dense, x, sizeof x);
    assert_memory_equal(all.weight, weight, sizeof weight);
    assert_memory_equal(all.offset, offset, sizeof offset);
    assert_memory_equal(all.label, label, sizeof label);
    assert_int_equal(fplt__schema_most(fplt__dataset_schema(dataset)), 2);
    fplt_dataset_destroy(dataset);
}

static const char sparse[] = "format: libsvm\nfeatures: 3\n"
                             "entries: {bounds: -2..4, missing: 0.5, other: neutral-row}\n"
                             "label: {classes: [-1, 1], missing: -1, other: neutral-row}\n";

static void libsvm_entries(void **state)
{
    (void)state;
    fplt_dataset *dataset =
        read_by(sparse, "x.libsvm", "+1 1:1 3:1e300\n-1 2:-9\n1 1:3 9:1\n7 1:3\n1 2:word\n");
    static const double expected[][3] = {{1, 0, 4}, {0, -2, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0.5, 0}};
    static const double labels[] = {1, -1, -1, -1, 1};
    fplt_rows all = fplt_dataset_all(dataset);
    assert_int_equal(all.features, 3);
    assert_int_equal(all.count, 5);
    for (size_t r = 0; r < 5; r++) {
        assert_true(all.label[r] == labels[r]);
        for (size_t j = 0; j < 3; j++)
            assert_true(value_at(&all, r, j) == expected[r][j]);
    }
    fplt_transform transform;
    fplt_error error;
    fplt_transform_settings by = {.standardise = "schema"};
    assert_ok(fplt_transform_fit(dataset, &by, &transform, &error), error);
    assert_null(transform.mean);
    assert_true(transform.scale[2] == 4);
    fplt_transform_clear(&transform);
    assert_true(fabs(fplt__schema_radius(fplt__dataset_schema(dataset), 1) - sqrt(3)) < 1e-15);
    fplt_dataset_destroy(dataset);
}

static void declared_bounds_scale(void **state)
{
    (void)state;
    fplt_dataset *dataset =
        read_by("header: no\ncolumns:\n  a: {type: number, bounds: 10..30, missing: 20}\n"
                "  b: {type: number, bounds: 0..5, centre: 1, scale: 2, missing: 1}\n"
                "  c: {type: category, levels: [u, v], missing: u, other: u}\n"
                "  y: {type: label, bounds: -4..2, missing: 0}\n",
                "x.csv", "10,5,u,-9\n99,0,v,1\n");
    fplt_transform transform;
    fplt_error error;
    fplt_transform_settings by = {.standardise = "schema"};
    assert_ok(fplt_transform_fit(dataset, &by, &transform, &error), error);
    assert_ok(fplt_transform_apply(&transform, dataset, &error), error);
    const double expected[] = {-1, 2, 1, 0, 1, -0.5, 0, 1}, labels[] = {-4, 1};
    assert_memory_equal(fplt_dataset_all(dataset).dense, expected, sizeof expected);
    assert_memory_equal(fplt_dataset_all(dataset).label, labels, sizeof labels);
    assert_int_equal(fplt_dataset_task(dataset), FPLT_TASK_REGRESSION);
    fplt_transform_clear(&transform);
    const fplt_schema *schema = fplt__dataset_schema(dataset);
    assert_true(fabs(fplt__schema_radius(schema, 1) - sqrt(1 + 4 + 1)) < 1e-15);
    assert_true(fabs(fplt__schema_radius(schema, 0) - sqrt(900 + 25 + 1)) < 1e-12);
    fplt_dataset_destroy(dataset);
}

/* Rows that a schema scales are no longer than the radius that noise is computed for, not by a rounding error. */
static void declared_rows_are_shortened(void **state)
{
    (void)state;
    static const double radii[] = {1, 0.3, 1.7};
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        fplt_dataset *dataset =
            read_by("header: no\ncolumns:\n  a: {type: number, bounds: 10..30, missing: 20}\n"
                    "  b: {type: number, bounds: 0..5, centre: 1, scale: 2, missing: 1}\n"
                    "  y: {type: label, bounds: -4..2, missing: 0}\n",
                    "x.csv", "10,5,1\n99,5,1\n30,4.7,1\n");
        fplt_transform transform;
        fplt_error error;
        fplt_transform_settings by = {.standardise = "schema", .radius = radii[i]};
        assert_ok(fplt_transform_fit(dataset, &by, &transform, &error), error);
        assert_ok(fplt_transform_apply(&transform, dataset, &error), error);
        const double *rows = fplt_dataset_all(dataset).dense;
        for (size_t r = 0; r < 3; r++) {
            double norm = sqrt(rows[2 * r] * rows[2 * r] + rows[2 * r + 1] * rows[2 * r + 1]);
            assert_true(norm <= radii[i] && norm > 0.999999 * radii[i]);
        }
        fplt_transform_clear(&transform);
        fplt_dataset_destroy(dataset);
    }
}

/* The digest is that of Python's hashlib.blake2b(text, digest_size=32). */
static void canonical_text(void **state)
{
    (void)state;
    static const char expected[] =
        "{\"format\":\"csv\",\"header\":true,\"columns\":{"
        "\"age\":{\"type\":\"number\",\"bounds\":\"20..90\",\"centre\":\"55\",\"scale\":\"35\","
        "\"missing\":\"55\"},"
        "\"pain\":{\"type\":\"category\",\"levels\":{\"none\":[\"0\"],\"some\":[\"1\",\"2\"]},"
        "\"missing\":\"none\",\"other\":\"some\"},"
        "\"smoke\":{\"type\":\"category\",\"levels\":{\"no\":[\"no\"],\"yes\":[\"yes\"],"
        "\"ex\":[\"ex\"]},\"base\":\"no\",\"missing\":\"no\",\"other\":\"neutral-row\"},"
        "\"sick\":{\"type\":\"label\",\"classes\":{\"no\":[\"0\"],\"yes\":[\"1\",\"2\",\"3\"]},"
        "\"missing\":\"no\",\"other\":\"neutral-row\"},"
        "\"place\":{\"type\":\"site\",\"names\":{\"north\":[\"north\"],\"south\":[\"south\"]}},"
        "\"who\":{\"type\":\"ignore\"}}}";
    fplt_schema *schema = parse(patients);
    assert_string_equal(fplt__schema_text(schema), expected);
    assert_string_equal(fplt__schema_digest(schema),
                        "5b94ba85a3c6da8bcd2a2152596acb761a61cdce1e918be9cbe2b3a2c0f9d19a");
    fplt_schema *again = parse(expected);
    assert_string_equal(fplt__schema_text(again), expected);
    assert_string_equal(fplt__schema_digest(again), fplt__schema_digest(schema));
    fplt_schema_destroy(again);
    fplt_schema_destroy(schema);
    schema = parse(sparse);
    again = parse(fplt__schema_text(schema));
    assert_string_equal(fplt__schema_text(again), fplt__schema_text(schema));
    fplt_schema_destroy(again);
    fplt_schema_destroy(schema);
    schema = parse("columns: {\"a \\\"b\\\", \\n\\u00e4\": {type: number, bounds: .1..1e300},"
                   " y: {type: label, bounds: 0...5}}");
    again = parse(fplt__schema_text(schema));
    assert_string_equal(fplt__schema_feature(again, 0, NULL, NULL, NULL, NULL), "a \"b\", \nä");
    assert_string_equal(fplt__schema_text(again), fplt__schema_text(schema));
    fplt_schema_destroy(again);
    fplt_schema_destroy(schema);
}

static void wrong_schemas(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *part;
    } cases[] = {
        {"", "s.yaml: ", "no columns"},
        {"colums:\n  a: ignore\n", "s.yaml", "columns"},
        {"columns:\n  a: numbr\n", "s.yaml:2: columns.a", "did you mean 'number'?"},
        {"columns:\n  a: number\n", "s.yaml:2: columns.a", "needs bounds"},
        {"columns:\n  a: {type: number, bonds: 0..1}\n", "s.yaml:2", "did you mean 'bounds'?"},
        {"columns:\n  a: {type: number, bounds: 1..0}\n", "s.yaml:2", "must be the smaller"},
        {"columns:\n  a: {type: number, bounds: 0-1}\n", "s.yaml:2", "two numbers such as"},
        {"columns:\n  a: {type: number, bounds: 0..inf}\n", "s.yaml:2", "two numbers such as"},
        {"columns:\n  a: {type: number, bounds: 0..1, missing: 2}\n", "s.yaml:2", "not within"},
        {"columns:\n  a: {type: number, bounds: 0..1, scale: 0}\n", "s.yaml:2", "above 0"},
        {"columns:\n  a: {type: number, bounds: 0..1, levels: [a]}\n", "s.yaml:2", "no meaning"},
        {"columns:\n  a: {type: category, levels: []}\n", "s.yaml:2", "at least 1"},
        {"columns:\n  a: {type: category, levels: [x, x]}\n", "s.yaml:2", "'x' is there twice"},
        {"columns:\n  a: {type: category, levels: [1, 1.0]}\n", "s.yaml:2", "'1.0' is there"},
        {"columns:\n  a: {type: category, levels: [x], other: y}\n", "s.yaml:2", "'y'"},
        {"columns:\n  a: {type: category, levels: [refused]}\n", "s.yaml:2", "kept for"},
        {"columns:\n  a: {type: label}\n", "s.yaml:2", "either classes or bounds"},
        {"columns:\n  a: {type: label, classes: [x]}\n", "s.yaml:2", "at least 2"},
        {"columns:\n  a: {type: weight, bounds: -1..1}\n", "s.yaml:2", "at 0 or above it"},
        {"columns:\n  a: {type: weight, bounds: 0..0}\n", "s.yaml:2", ""},
        {"columns:\n  a: {type: time, bounds: 0..1}\n", "s.yaml:2", "above 0"},
        {"columns:\n  a: {type: person, most: 0}\n", "s.yaml:2", "at least 1"},
        {"columns:\n  a: {type: person, most: 1, other: ann}\n", "s.yaml:2",
         "neutral-row or refused"},
        {"columns:\n  a: {type: label, bounds: 0..1}\n  b: {type: label, bounds: 0..1}\n",
         "s.yaml:3", "second column of type label"},
        {"columns:\n  a: {type: time, bounds: 1..2}\n", "s.yaml", "none of type event"},
        {"columns:\n  a: ignore\n", "s.yaml", "no features"},
        {"format: libsvm\nfeatures: 3\n", "s.yaml", "needs entries"},
        {"features: 3\ncolumns:\n  a: ignore\n", "s.yaml", "format: libsvm"},
        {"header: perhaps\ncolumns:\n  a: ignore\n", "s.yaml:1", "yes or no"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_schema *schema;
        fplt_error error;
        fplt_status status =
            fplt__schema_parse(cases[i].text, strlen(cases[i].text), "s.yaml", &schema, &error);
        if (status != FPLT_BAD_DATA || strncmp(error.text, cases[i].where, strlen(cases[i].where)))
            fail_msg("%s: '%s' does not begin with %s", cases[i].text, error.text, cases[i].where);
        assert_contains(error.text, cases[i].part);
        assert_null(schema);
    }
}

static void wrong_files(void **state)
{
    (void)state;
    static const char strict[] = "columns:\n  a: {type: number, bounds: 0..1}\n"
                                 "  c: {type: category, levels: [u, v]}\n"
                                 "  y: {type: label, classes: [n, p]}\n"
                                 "  s: {type: site, names: [e, w]}\n";
    static const char *const rows[][2] = {
        {",u,n,e", "x.csv:3: column 'a': the value is missing"},
        {"b,u,n,e", "x.csv:3: column 'a': 'b' is not a finite number"},
        {"1,z,n,e", "x.csv:3: column 'c': 'z' is not declared"},
        {"1,,n,e", "x.csv:3: column 'c': the value is missing"},
        {"1,u,q,e", "x.csv:3: column 'y': 'q' is not declared"},
        {"1,u,n,", "x.csv:3: column 's': the site is missing"},
        {"1,u,n,x", "x.csv:3: column 's': the schema declares no site 'x'"},
        {"1,u,n", "x.csv:3: 3 fields"},
        {"0,u,p,e", "x.csv: the site 'w', which the schema declares, has no rows"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128];
        snprintf(text, sizeof text, "a,c,y,s\n1,u,n,e\n%s\n", rows[i][0]);
        refuse_by(strict, "x.csv", text, rows[i][1], "");
    }
    refuse_by(strict, "x.csv", "a,c,z,s\n1,u,n,e\n", "x.csv:1: there is no column 'y'", "'z'?");
    refuse_by(strict, "x.csv", "a,c,y,s,m\n1,u,n,e,1\n", "x.csv:1: the schema does not declare",
              "'m'");
    fplt_schema *schema = parse(strict);
    fplt_error error;
    assert_int_equal(fplt__schema_accepts_all(schema, &error), FPLT_UNSUPPORTED);
    assert_contains(error.text, "'a'");
    fplt_schema_destroy(schema);
    schema = parse(patients);
    assert_ok(fplt__schema_accepts_all(schema, &error), error);
    /* a model looks at other data: no label, unknown sites, more columns */
    fplt_read_settings read = {.schema = schema, .leave_out = 1, .label = "none"};
    fplt_dataset *dataset =
        read_text_as("x.csv", "more,age,pain,smoke,place\n1,30,0,no,west\n2,40,1,ex,north\n",
                     &read);
    assert_int_equal(fplt_dataset_agents(dataset), 2);
    assert_string_equal(fplt_dataset_agent_name(dataset, 0), "west");
    fplt_dataset_destroy(dataset);
    fplt_schema_destroy(schema);
}

static void drafts_read_their_own_file(void **state)
{
    (void)state;
    static const char data[] = "label,site,a b,\"c\"\"d\",word,empty,n\n"
                               "yes,1,1.5,u,x,,-0.001\nno,2,?,v w,y,,1e6\nno,2,7,nought,x,,3\n";
    struct folder folder;
    fplt_error error;
    folder_make(&folder);
    const char *path = folder_file(&folder, "x.csv");
    write_text(path, data);
    char *text;
    fplt_read_settings read = fplt_read_defaults();
    assert_ok(fplt__schema_draft(&path, 1, &read, &text, &error), error);
    fplt_dataset *dataset = read_by(text, "x.csv", data);
    assert_int_equal(fplt_dataset_rows(dataset), 3);
    assert_int_equal(fplt_dataset_features(dataset), 1 + 3 + 2 + 1);
    fplt_rows all = fplt_dataset_all(dataset);
    assert_true(value_at(&all, 0, 0) == 1.5 && value_at(&all, 1, 6) == 1e6);
    assert_ok(fplt__schema_accepts_all(fplt__dataset_schema(dataset), &error), error);
    fplt_dataset_destroy(dataset);
    fplt_free(text);
    write_text(path, "1 1:0.5 4:-2\n-1 2:1\n");
    read.format = "libsvm";
    assert_ok(fplt__schema_draft(&path, 1, &read, &text, &error), error);
    dataset = read_by(text, "x", "1 1:0.5 4:-2\n-1 2:1\n");
    assert_int_equal(fplt_dataset_features(dataset), 4);
    fplt_dataset_destroy(dataset);
    fplt_free(text);
    unlink(path);
    rmdir(folder.path);
}

/* Many levels are kept sparse. */
static void many_levels(void **state)
{
    (void)state;
    char text[8192] =
        "columns:\n  y: {type: label, classes: [0, 1]}\n  c: {type: category, levels: [";
    for (int i = 0; i < 600; i++)
        sprintf(text + strlen(text), "%sl%d", i ? ", " : "", i);
    strcat(text, "]}\n");
    fplt_dataset *dataset = read_by(text, "x.csv", "y,c\n0,l599\n1,l7\n");
    fplt_rows all = fplt_dataset_all(dataset);
    assert_null(all.dense);
    assert_true(value_at(&all, 0, 599) == 1 && value_at(&all, 1, 7) == 1);
    assert_int_equal(all.start[2], 2);
    fplt_dataset_destroy(dataset);
}

static fplt_status attempt(void *context)
{
    fplt_schema *schema;
    fplt_dataset *dataset;
    static const char data[] = "who,place,age,pain,sick,smoke\na,south,30,0,0,no\n"
                               "b,north,3,2.0,3,ex\n";
    (void)context;
    fplt_status status = fplt__schema_parse(patients, strlen(patients), "s.yaml", &schema, NULL);
    if (status)
        return status;
    fplt_read_settings read = {.schema = schema};
    status = fplt__dataset_read_memory("x.csv", data, strlen(data), &read, &dataset, NULL);
    fplt_schema_destroy(schema);
    fplt_dataset_destroy(dataset);
    return status;
}

static void failed_allocations(void **state)
{
    (void)state;
    survives_failed_allocations(attempt, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_what_is_declared),
        cmocka_unit_test(one_record_changes_one_row),
        cmocka_unit_test(beside_the_features),
        cmocka_unit_test(rows_beyond_those_of_a_person_are_neutral),
        cmocka_unit_test(libsvm_entries),
        cmocka_unit_test(declared_bounds_scale),
        cmocka_unit_test(declared_rows_are_shortened),
        cmocka_unit_test(canonical_text),
        cmocka_unit_test(wrong_schemas),
        cmocka_unit_test(wrong_files),
        cmocka_unit_test(drafts_read_their_own_file),
        cmocka_unit_test(many_levels),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
