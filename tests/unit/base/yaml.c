/* YAML files as settings: what they mean, and the sentence for each mistake. */
#include "testing.h"

#include "base/settings.h"
#include "base/text.h"
#include "base/yaml.h"
#include "failing.h"
#include "temporary.h"

#define INF HUGE_VAL

static const fplt_setting table[] = {
    {"algorithm", FPLT_CHOICE, 0, "fed-plt", 0, 0, "fed-plt|led", "method", 0, 0},
    {"rounds", FPLT_INTEGER, 0, "100", 1, INF, NULL, "rounds", 0, 0},
    {"rho", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, INF, NULL, "penalty", 0, 0},
    {"verbose", FPLT_SWITCH, 0, "no", 0, 0, NULL, "say more", 0, 0},
    {"title", FPLT_TEXT, 0, NULL, 0, 0, NULL, "a title", 0, 0},
    {"seeds", FPLT_INTEGER, FPLT_LIST, "1", 0, INF, NULL, "seeds", 0, 0},
    {"names", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "names", 0, 0},
    {"with", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL, "own settings", 0, 0},
    {"levels", FPLT_TEXT, FPLT_PAIRS | FPLT_LIST, NULL, 0, 0, NULL, "lists by name", 0, 0},
    {"privacy.epsilon", FPLT_REAL, FPLT_ABOVE, NULL, 0, INF, NULL, "budget", 0, 0},
    {"privacy.delta", FPLT_REAL, 0, "1e-5", 0, 1, NULL, "the other", 0, 0},
    {"privacy.noise.tau", FPLT_REAL, 0, NULL, 0, INF, NULL, "noise", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting of_led[] = {
    {"beta", FPLT_REAL, 0, "1", 0, INF, NULL, "step", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_settings *make(void)
{
    fplt_error error;
    fplt_settings *settings;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_settings_add(settings, "training", table, &error), error);
    return settings;
}

static fplt_status apply(const char *text, size_t size, fplt_settings *settings, fplt_error *error)
{
    fplt_config *config;
    fplt_status status = fplt__config_parse("t.yaml", text, size, &config, error);
    if (!status)
        status = fplt_config_apply(config, settings, error);
    fplt_config_destroy(config);
    return status;
}

static fplt_settings *taken(const char *text)
{
    fplt_error error;
    fplt_settings *settings = make();
    assert_ok(apply(text, strlen(text), settings, &error), error);
    return settings;
}

static void gives(const char *text, const char *name, const char *value)
{
    fplt_settings *settings = taken(text);
    assert_true(fplt_settings_given(settings, name));
    assert_string_equal(fplt_settings_text(settings, name), value);
    fplt_settings_destroy(settings);
}

static void scalars(void **state)
{
    (void)state;
    gives("rounds: 12", "rounds", "12");
    gives("rounds: 12   # so many\n", "rounds", "12");
    gives("{rounds: 12, rho: auto}", "rho", "auto");
    gives("rho: 2.5e-3\n", "rho", "2.5e-3");
    gives("verbose: yes\n", "verbose", "yes");
    gives("title: 'it''s: \"so\"'\n", "title", "it's: \"so\"");
    gives("title: \"tab\\tand \\u00e9\"\n", "title", "tab\tand \xc3\xa9");
    gives("title: \"\"\n", "title", "");
    gives("title: 'null'\n", "title", "null");
    gives("title: two words, and a comma\n", "title", "two words, and a comma");
    gives("title: |\n  one\n  two\n", "title", "one\ntwo\n");
    gives("title: >-\n  one\n  two\n", "title", "one two");
    gives("rounds: \"7\"\n", "rounds", "7");
    gives("\xef\xbb\xbfrounds: 7\n", "rounds", "7");
    gives("rounds: 7\r\nrho: 1\r\n", "rho", "1");
    gives("---\nrounds: 7\n...\n", "rounds", "7");
    gives("? rounds\n: 7\n", "rounds", "7");
}

static void sections(void **state)
{
    (void)state;
    fplt_settings *s = taken("rounds: 3\n"
                             "privacy:\n"
                             "  epsilon: 2\n"
                             "  noise: {tau: 0.5}\n"
                             "privacy.delta: 1e-6\n");
    assert_true(fplt_settings_real(s, "privacy.epsilon") == 2);
    assert_true(fplt_settings_real(s, "privacy.noise.tau") == 0.5);
    assert_true(fplt_settings_real(s, "privacy.delta") == 1e-6);
    assert_string_equal(fplt__settings_origin(s, "privacy.epsilon"), "t.yaml:3");
    assert_string_equal(fplt__settings_origin(s, "privacy.noise.tau"), "t.yaml:4");
    assert_string_equal(fplt__settings_origin(s, "rounds"), "t.yaml:1");
    assert_string_equal(fplt__settings_origin(s, "rho"), "default");
    fplt_settings_destroy(s);
    gives("privacy:\n  noise.tau: 3\n", "privacy.noise.tau", "3");
    gives("privacy:\n  # epsilon: 2\nrho: 1\n", "rho", "1");
    gives("privacy: {}\nrho: 1\n", "rho", "1");
    gives("privacy: {noise: ~}\nrho: 1\n", "rho", "1");
}

static void lists_and_pairs(void **state)
{
    (void)state;
    gives("seeds: [1, 2, 3]\n", "seeds", "1,2,3");
    gives("seeds:\n- 4\n- 5\n", "seeds", "4,5");
    gives("seeds: 7\n", "seeds", "7");
    gives("seeds: 7,8\n", "seeds", "7,8");
    gives("names: ['a,b', c=d, 'e\\f', \"\"]\n", "names", "a\\,b,c\\=d,e\\\\f,");
    gives("names: []\n", "names", "");
    gives("with: {rho: 1, gamma: auto}\n", "with", "rho=1,gamma=auto");
    gives("with:\n  a,b: c=d\n  e.f: 'g\\h'\n  i:\n", "with", "a\\,b=c\\=d,e.f=g\\\\h,i=");
    gives("with: rho=1\n", "with", "rho=1");
    gives("levels: {sex: [f, 'm,x'], one: a}\n", "levels", "sex=f\\,m\\\\\\,x,one=a");
    char item[16], key[16], value[16];
    fplt_settings *s = taken("names: ['a,b', 'c\\']\nwith: {'x=,y': '1,=2'}\n");
    const char *rest = fplt__list_next(fplt_settings_text(s, "names"), item, sizeof item);
    assert_string_equal(item, "a,b");
    rest = fplt__list_next(rest, item, sizeof item);
    assert_string_equal(item, "c\\");
    assert_string_equal(rest, "");
    rest = fplt__pairs_next(fplt_settings_text(s, "with"), key, sizeof key, value, sizeof value);
    assert_string_equal(key, "x=,y");
    assert_string_equal(value, "1,=2");
    assert_string_equal(rest, "");
    fplt_settings_destroy(s);
    s = taken("with: {}\n");
    assert_false(fplt_settings_given(s, "with"));
    fplt_settings_destroy(s);
}

static void nothing_at_all(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "~", "{}", "null\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fplt_settings *s = taken(texts[i]);
        for (size_t k = 0; table[k].name; k++)
            assert_false(fplt_settings_given(s, table[k].name));
        fplt_settings_destroy(s);
    }
}

static void aliases(void **state)
{
    (void)state;
    gives("title: &t hello\nnames: [*t, *t]\n", "names", "hello,hello");
    gives("with: &w {a: 1}\ntitle: x\n", "with", "a=1");
}

static void refused_bytes(const char *text, size_t size, fplt_status expected, const char *sentence)
{
    fplt_error error;
    fplt_settings *settings = make();
    fplt_status status = apply(text, size, settings, &error);
    fplt_settings_destroy(settings);
    if (status != expected || strncmp(error.text, sentence, strlen(sentence)) != 0)
        fail_msg("'%.60s' gave %s '%s', expected '%s'", text, fplt_status_name(status),
                 status ? error.text : "", sentence);
}

static void refused(const char *text, fplt_status expected, const char *sentence)
{
    refused_bytes(text, strlen(text), expected, sentence);
}

static void values_that_are_not_legal(void **state)
{
    (void)state;
    refused("rounds: 3\nrho: -1\n", FPLT_BAD_VALUE,
            "t.yaml:2: rho is '-1', but it must be a number above 0, or auto");
    refused("rho: 0.5x", FPLT_BAD_VALUE, "t.yaml:1: rho is '0.5x'");
    refused("algorithm: led\nprivacy:\n  epsilom: 2\n", FPLT_BAD_VALUE,
            "t.yaml:3: there is no setting 'privacy.epsilom'; did you mean 'privacy.epsilon'?");
    refused("privcy: {epsilon: 2}\n", FPLT_BAD_VALUE,
            "t.yaml:1: there is no setting 'privcy.epsilon'; did you mean 'privacy.epsilon'?");
    refused("roundz: 2\n", FPLT_BAD_VALUE,
            "t.yaml:1: there is no setting 'roundz'; did you mean 'rounds'?");
    refused("section: {}\n", FPLT_BAD_VALUE, "t.yaml:1: there is no setting 'section'");
    refused("other:\n", FPLT_BAD_VALUE, "t.yaml:1: there is no setting 'other'");
    refused("priv:\n", FPLT_BAD_VALUE, "t.yaml:1: there is no setting 'priv'");
    refused("seedz: [1]\n", FPLT_BAD_VALUE, "t.yaml:1: there is no setting 'seedz'; did you mean");
    refused("rounds: [1, 2]\n", FPLT_BAD_VALUE,
            "t.yaml:1: rounds is a list, but it must be a whole number of at least 1");
    refused("\nrounds: {a: 1}\n", FPLT_BAD_VALUE,
            "t.yaml:2: rounds is a section, but it must be a whole number of at least 1");
    refused("seeds: {a: 1}\n", FPLT_BAD_VALUE, "t.yaml:1: seeds is a section, but it must be");
    refused("with: [a, b]\n", FPLT_BAD_VALUE,
            "t.yaml:1: with is a list, but it must be key=value pairs");
    refused("rho:\n", FPLT_BAD_VALUE,
            "t.yaml:1: rho has no value, but it must be a number above 0");
    refused("rho: ~\n", FPLT_BAD_VALUE, "t.yaml:1: rho has no value");
    refused("title: null\n", FPLT_BAD_VALUE, "t.yaml:1: title has no value");
    refused("seeds: []\n", FPLT_BAD_VALUE, "t.yaml:1: seeds is '', but it must be");
    refused("seeds: [1, x]\n", FPLT_BAD_VALUE, "t.yaml:1: seeds is '1,x', but it must be");
    refused("with:\n  a: 1\n  b: [2]\n", FPLT_BAD_VALUE,
            "t.yaml:3: with.b must be a single value, because with is a set of key=value pairs");
    refused("with:\n  a: {c: 2}\n", FPLT_BAD_VALUE, "t.yaml:2: with.a must be a single value");
    refused("<<: {a: 1}\n", FPLT_BAD_VALUE, "t.yaml:1: there is no setting '<<.a'");
}

static void files_of_another_form(void **state)
{
    (void)state;
    refused("rounds: 1\nrho: 2\nrounds: 3\n", FPLT_BAD_DATA,
            "t.yaml:3: 'rounds' is given twice, first in line 1");
    refused("privacy: {epsilon: 1}\nrho: 1\nprivacy: {delta: 1}\n", FPLT_BAD_DATA,
            "t.yaml:3: 'privacy' is given twice, first in line 1");
    refused("privacy.epsilon: 1\nprivacy:\n  epsilon: 1\n", FPLT_BAD_DATA,
            "t.yaml:3: 'privacy.epsilon' is given twice, first in line 1");
    refused("- rounds\n- 3\n", FPLT_BAD_DATA,
            "t.yaml:1: a file of settings consists of lines 'name: value'");
    refused("\nrounds 3\n", FPLT_BAD_DATA,
            "t.yaml:2: a file of settings consists of lines 'name: value'");
    refused("rounds: 3\n---\nrounds: 4\n", FPLT_BAD_DATA,
            "t.yaml:3: a second document begins, but a file of settings has one");
    refused("seeds: [1, [2]]\n", FPLT_BAD_DATA,
            "t.yaml:1: an item of a list must be a single value");
    refused("seeds:\n - 1\n - {a: 2}\n", FPLT_BAD_DATA, "t.yaml:3: an item of a list must be");
    refused("? [a, b]\n: 1\n", FPLT_BAD_DATA, "t.yaml:1: the name of a setting must be a single");
    refused("rho: 1\n'': 1\n", FPLT_BAD_DATA, "t.yaml:2: the name of a setting must be a single");
    refused("rho: 1\ntitle: \"a\\0b\"\n", FPLT_BAD_DATA,
            "t.yaml:2: a text contains the character NUL");
    refused("\"a\\0b\": 1\n", FPLT_BAD_DATA, "t.yaml:1: a text contains the character NUL");
    refused("names: [\"a\\0b\"]\n", FPLT_BAD_DATA, "t.yaml:1: a text contains the character NUL");
    refused("a: &x\n  b: *x\n", FPLT_BAD_DATA,
            "t.yaml:1: an alias inside this section leads back to it");
    refused("a: &x\n  b: {c: {d: *x}}\n", FPLT_BAD_DATA, "t.yaml:1: an alias inside this section");
    refused("a: &x [*x]\n", FPLT_BAD_DATA, "t.yaml:1: an item of a list must be");
    refused("&r {a: *r}\n", FPLT_BAD_DATA, "t.yaml:1: an alias inside this section");
    char deep[200] = "", deeper[220];
    for (int i = 0; i < 16; i++)
        strcat(deep, "{a: ");
    strcat(deep, "1}}}}}}}}}}}}}}}}");
    refused(deep, FPLT_BAD_VALUE, "t.yaml:1: there is no setting 'a.a.a");
    snprintf(deeper, sizeof deeper, "#\n{b: %s}", deep);
    refused(deeper, FPLT_BAD_DATA, "t.yaml:2: sections are nested more than 16 deep");
}

static void not_yaml(void **state)
{
    (void)state;
    refused("rho: 1\n\trounds: 2\n", FPLT_BAD_DATA,
            "t.yaml:2: the line begins with a tab, but YAML is indented with blanks");
    refused("privacy:\n\tepsilon: 2\n", FPLT_BAD_DATA, "t.yaml:2: the line begins with a tab");
    refused("privacy:\n  \tepsilon: 2\n", FPLT_BAD_DATA, "t.yaml:2: the line begins with a tab");
    refused("rho: 1\nseeds: [1, 2\nrounds: 3\n", FPLT_BAD_DATA, "t.yaml:3: this is not YAML: ");
    refused("title: \"open\n", FPLT_BAD_DATA, "t.yaml:2: this is not YAML: ");
    refused("rho: 1\n  rounds: 2\n", FPLT_BAD_DATA, "t.yaml:2: this is not YAML: ");
    refused("rho: *nobody\n", FPLT_BAD_DATA, "t.yaml:1: this is not YAML: found undefined alias");
    refused("rho: 1\n%x\n", FPLT_BAD_DATA, "t.yaml:");
    refused("rho: 1\n...\nrest: [\n", FPLT_BAD_DATA, "t.yaml:");
    refused("rho: 1\ntitle: \xff\xfe\n", FPLT_BAD_DATA, "t.yaml:2: this is not YAML: invalid");
    refused_bytes("rho: \0 1\n", 9, FPLT_BAD_DATA, "t.yaml:1: this is not YAML: control char");
}

/* Ten levels of ten aliases each. */
static void an_alias_bomb(void **state)
{
    (void)state;
    char text[2000] = "a0: &a0 {k: 'some text that is repeated very often'}\n";
    size_t used = strlen(text);
    for (int level = 1; level < 10; level++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "a%d: &a%d {", level, level);
        for (int i = 0; i < 10; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%sk%d: *a%d", i ? ", " : "",
                                     i, level - 1);
        used += (size_t)snprintf(text + used, sizeof text - used, "}\n");
    }
    fplt_error error;
    fplt_config *config;
    assert_int_equal(fplt__config_parse("t.yaml", text, used, &config, &error), FPLT_BAD_DATA);
    assert_contains(error.text, "with its aliases followed the file is larger than 16 MiB");
    assert_int_equal(strncmp(error.text, "t.yaml:", 7), 0);
    assert_null(config);
}

static void in_two_steps(void **state)
{
    (void)state;
    const char *text = "beta: 0.25\nalgorithm: led\nseeds: [4, 5]\nprivacy: {epsilon: 1}\nrho:\n";
    fplt_error error;
    fplt_config *config;
    size_t line = 0;
    assert_ok(fplt__config_parse("t.yaml", text, strlen(text) - 5, &config, &error), error);
    assert_string_equal(fplt_config_find(config, "algorithm", &line), "led");
    assert_int_equal(line, 2);
    assert_string_equal(fplt_config_find(config, "seeds", NULL), "4,5");
    assert_string_equal(fplt_config_find(config, "privacy.epsilon", &line), "1");
    assert_int_equal(line, 4);
    assert_null(fplt_config_find(config, "privacy", &line));
    assert_null(fplt_config_find(config, "gamma", NULL));
    fplt_settings *settings = make();
    assert_int_equal(fplt_config_apply(config, settings, &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "t.yaml:1: there is no setting 'beta'");
    assert_ok(fplt_settings_add(settings, "led", of_led, &error), error);
    assert_ok(fplt_config_apply(config, settings, &error), error);
    assert_true(fplt_settings_real(settings, "beta") == 0.25);
    assert_string_equal(fplt_settings_text(settings, "algorithm"), "led");
    fplt_settings_destroy(settings);
    fplt_config_destroy(config);
    fplt_config_destroy(NULL);
}

static fplt_status load_and_apply(fplt_settings *settings, const char *path, fplt_error *error)
{
    fplt_config *config;
    fplt_status status = fplt_config_load(path, &config, error);
    if (!status)
        status = fplt_config_apply(config, settings, error);
    fplt_config_destroy(config);
    return status;
}

static void files(void **state)
{
    (void)state;
    fplt_error error;
    fplt_settings *settings = make();
    temporary file = temporary_file("rounds: 9\nrho: x\n", 17);
    assert_int_equal(load_and_apply(settings, file.path, &error), FPLT_BAD_VALUE);
    char start[300];
    snprintf(start, sizeof start, "%s:2: rho is 'x', but it must be", file.path);
    assert_contains(error.text, start);
    assert_int_equal(fplt_settings_integer(settings, "rounds"), 9);
    unlink(file.path);

    assert_int_equal(load_and_apply(settings, "no/such.yaml", &error), FPLT_IO);
    assert_contains(error.text, "no/such.yaml: cannot be opened: No such file");
    assert_int_equal(load_and_apply(settings, "tests", &error), FPLT_IO);
    assert_contains(error.text, "tests: cannot be read");

    size_t size = (1 << 20) + 1;
    char *large = malloc(size);
    assert_non_null(large);
    memset(large, '#', size);
    large[9] = '\n';
    memcpy(large, "rounds: 8", 9);
    file = temporary_file(large, size);
    assert_int_equal(load_and_apply(settings, file.path, &error), FPLT_BAD_DATA);
    assert_contains(error.text, ":1: the file is larger than 1 MiB");
    unlink(file.path);
    file = temporary_file(large, size - 1);
    assert_ok(load_and_apply(settings, file.path, &error), error);
    assert_int_equal(fplt_settings_integer(settings, "rounds"), 8);
    unlink(file.path);
    free(large);
    fplt_settings_destroy(settings);
}

static void memory(void **state)
{
    (void)state;
    const char *text =
        "algorithm: led\nseeds: [1, 2]\nnames: []\nwith: {a: 1, b: 'some text here'}\n"
        "privacy: {epsilon: 1, noise: {tau: 2}}\n";
    fplt_settings *settings;
    survives_failing_allocations(
        {
            if (!(status = fplt_settings_create(&settings, NULL))) {
                if (!(status = fplt_settings_add(settings, "training", table, NULL)))
                    status = apply(text, strlen(text), settings, NULL);
                fplt_settings_destroy(settings);
            }
        },
        20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars),
        cmocka_unit_test(sections),
        cmocka_unit_test(lists_and_pairs),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(aliases),
        cmocka_unit_test(values_that_are_not_legal),
        cmocka_unit_test(files_of_another_form),
        cmocka_unit_test(not_yaml),
        cmocka_unit_test(an_alias_bomb),
        cmocka_unit_test(in_two_steps),
        cmocka_unit_test(files),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
