/* Settings: what is taken, what is refused, and with which sentence. */
#include "problems.h"

#include <float.h>
#include <limits.h>
#include <locale.h>

#include "base/random.h"
#include "base/settings.h"
#include "failing.h"
#include "base/text.h"

#define INF HUGE_VAL

static const fplt_setting table[] = {
    {"rho", FPLT_REAL, FPLT_AUTO | FPLT_ABOVE, "auto", 0, INF, NULL, "penalty", 0.1, 10},
    {"share", FPLT_REAL, FPLT_ABOVE, "1", 0, 1, NULL, "share of agents", 0, 0},
    {"momentum", FPLT_REAL, FPLT_BELOW, "0.5", 0, 1, NULL, "momentum", 0, 0},
    {"free", FPLT_REAL, 0, NULL, -INF, INF, NULL, "any number", 0, 0},
    {"ceiling", FPLT_REAL, 0, NULL, -INF, 3, NULL, "at most three", 0, 0},
    {"negative", FPLT_REAL, FPLT_BELOW, NULL, -INF, 0, NULL, "below zero", 0, 0},
    {"epochs", FPLT_INTEGER, 0, "5", 1, INF, NULL, "local epochs", 0, 0},
    {"threads", FPLT_INTEGER, FPLT_AUTO, "auto", 1, 1024, NULL, "threads", 0, 0},
    {"verbose", FPLT_SWITCH, 0, "no", 0, 0, NULL, "say more", 0, 0},
    {"solver", FPLT_CHOICE, 0, "gradient", 0, 0, "gradient|sgd|newton", "local solver", 0, 0},
    {"output", FPLT_TEXT, 0, NULL, 0, 0, NULL, "file", 0, 0},
    {"privacy.epsilon", FPLT_REAL, FPLT_ABOVE, NULL, 0, INF, NULL, "budget", 0, 0},
    {"seeds", FPLT_INTEGER, FPLT_LIST, "1,2", 0, INF, NULL, "seeds", 0, 0},
    {"solvers", FPLT_CHOICE, FPLT_LIST, NULL, 0, 0, "gradient|sgd", "solvers", 0, 0},
    {"names", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "names", 0, 0},
    {"with", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL, "own settings", 0, 0},
    FPLT_SETTINGS_END,
};

static const fplt_setting second[] = {
    {"epochs", FPLT_TEXT, 0, "never", 0, 0, NULL, "hidden by the first table", 0, 0},
    {"data", FPLT_TEXT, FPLT_REQUIRED, NULL, 0, 0, NULL, "where the rows are", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_settings *make(void)
{
    fplt_error error;
    fplt_settings *settings;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_settings_add(settings, "training", table, &error), error);
    assert_ok(fplt_settings_add(settings, "data", second, &error), error);
    return settings;
}

static void accepted(fplt_settings *settings, const char *name, const char *value)
{
    fplt_error error;
    assert_ok(fplt_settings_set(settings, name, value, "test", &error), error);
    assert_string_equal(fplt_settings_text(settings, name), value);
}

/* The sentence begins with the origin and names the field, the value and what is legal. */
static void refused(fplt_settings *settings, const char *name, const char *value,
                    const char *what_is_legal)
{
    fplt_error error;
    const char *before = fplt_settings_text(settings, name);
    assert_int_equal(fplt_settings_set(settings, name, value, "file.yaml:12", &error),
                     FPLT_BAD_VALUE);
    assert_int_equal(error.status, FPLT_BAD_VALUE);
    char start[200];
    snprintf(start, sizeof start, "file.yaml:12: %s is '%s', but it must be %s", name, value,
             what_is_legal);
    assert_string_equal(error.text, start);
    assert_ptr_equal(fplt_settings_text(settings, name), before);
}

static void numbers_and_ranges(void **state)
{
    (void)state;
    fplt_settings *s = make();
    assert_true(fplt_settings_is_auto(s, "rho"));
    assert_true(isnan(fplt_settings_real(s, "rho")));
    accepted(s, "rho", "2.5e-3");
    assert_false(fplt_settings_is_auto(s, "rho"));
    assert_true(fplt_settings_real(s, "rho") == 2.5e-3);
    accepted(s, "rho", "auto");
    refused(s, "rho", "0", "a number above 0, or auto");
    refused(s, "rho", "automatic", "a number above 0, or auto");
    accepted(s, "share", "1");
    refused(s, "share", "0", "a number above 0 and at most 1");
    refused(s, "share", "1.0001", "a number above 0 and at most 1; 1.0001 % is 0.010001");
    refused(s, "share", "auto", "a number above 0 and at most 1");
    accepted(s, "momentum", "0");
    refused(s, "momentum", "1", "a number of at least 0 and below 1");
    refused(s, "momentum", "nan", "a number of at least 0 and below 1");
    accepted(s, "free", "-1e308");
    refused(s, "free", "1e309", "a number");
    refused(s, "free", "-inf", "a number");
    accepted(s, "ceiling", "-7");
    refused(s, "ceiling", "3.5", "a number of at most 3");
    refused(s, "negative", "0", "a number below 0");
    accepted(s, "epochs", "1");
    refused(s, "epochs", "0", "a whole number of at least 1");
    refused(s, "epochs", "2.5", "a whole number of at least 1");
    accepted(s, "threads", "1024");
    assert_int_equal(fplt_settings_integer(s, "threads"), 1024);
    refused(s, "threads", "1025", "a whole number from 1 to 1024, or auto");
    fplt_settings_destroy(s);
    fplt_settings_destroy(NULL);
}

static void switches_choices_text(void **state)
{
    (void)state;
    fplt_settings *s = make();
    const char *const words[2][3] = {{"no", "false", "off"}, {"yes", "true", "on"}};
    assert_false(fplt_settings_switch(s, "verbose"));
    for (int i = 0; i < 6; i++) {
        accepted(s, "verbose", words[i % 2][i / 2]);
        assert_int_equal(fplt_settings_switch(s, "verbose"), i % 2);
    }
    refused(s, "verbose", "maybe", "yes or no");
    refused(s, "verbose", "1", "yes or no");
    refused(s, "verbose", "", "yes or no");
    accepted(s, "solver", "newton");
    refused(s, "solver", "newto", "one of gradient, sgd, newton");
    refused(s, "solver", "gradient|sgd", "one of gradient, sgd, newton");
    refused(s, "solver", "", "one of gradient, sgd, newton");
    accepted(s, "output", "any, thing = at all");
    accepted(s, "output", "");
    fplt_settings_destroy(s);
}

static void lists_and_pairs(void **state)
{
    (void)state;
    fplt_settings *s = make();
    const char *several = "a whole number of at least 0 (several are separated by commas)";
    accepted(s, "seeds", "7");
    accepted(s, "seeds", "3,4,5");
    refused(s, "seeds", "", several);
    refused(s, "seeds", "3,,4", several);
    refused(s, "seeds", "3,", several);
    refused(s, "seeds", ",3", several);
    refused(s, "seeds", "3, 4", several);
    refused(s, "seeds", "3,-1", several);
    accepted(s, "solvers", "sgd,gradient");
    refused(s, "solvers", "sgd,newton", "one of gradient, sgd (several are separated by commas)");
    accepted(s, "names", "anna,berta,");
    accepted(s, "with", "rho=1");
    accepted(s, "with", "rho=1,gamma=a=b,empty=");
    accepted(s, "with", "a\\,b\\=c=d\\\\");
    refused(s, "with", "", "key=value pairs; for example yes=1,no=-1");
    refused(s, "with", "rho", "key=value pairs; for example yes=1,no=-1");
    refused(s, "with", "=1", "key=value pairs; for example yes=1,no=-1");
    refused(s, "with", "rho=1,", "key=value pairs; for example yes=1,no=-1");
    refused(s, "with", "rho=1,gamma", "key=value pairs; for example yes=1,no=-1");
    refused(s, "with", "rho\\=1", "key=value pairs; for example yes=1,no=-1");
    fplt_settings_destroy(s);
}

static void taking_lists_apart(void **state)
{
    (void)state;
    char item[8], key[8], value[8];
    const char *rest = "a,b\\,c,,d\\\\,e\\";
    const char *const items[] = {"a", "b,c", "", "d\\", "e\\"};
    for (int i = 0; i < 5; i++) {
        assert_true(*rest);
        rest = fplt__list_next(rest, item, sizeof item);
        assert_string_equal(item, items[i]);
    }
    assert_string_equal(rest, "");
    rest = "rho=1,a\\=b\\,c=d=e,gamma,toolongakey=toolongavalue";
    const char *const pairs[4][2] = {
        {"rho", "1"}, {"a=b,c", "d=e"}, {"gamma", ""}, {"toolong", "toolong"}};
    for (int i = 0; i < 4; i++) {
        rest = fplt__pairs_next(rest, key, sizeof key, value, sizeof value);
        assert_string_equal(key, pairs[i][0]);
        assert_string_equal(value, pairs[i][1]);
    }
    assert_string_equal(rest, "");
    assert_string_equal(fplt__list_next("abc", NULL, 0), "");
}

static void unknown_names(void **state)
{
    (void)state;
    fplt_settings *s = make();
    static const char *const cases[][2] = {{"epocs", "epochs"},
                                           {"rhp", "rho"},
                                           {"thraeds", "threads"},
                                           {"solver ", "solver"},
                                           {"Epochs", "epochs"},
                                           {"privacy.epsilom", "privacy.epsilon"},
                                           {"privacyepsilon", "privacy.epsilon"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_error error;
        char expected[200];
        assert_string_equal(fplt__settings_nearest(s, cases[i][0]), cases[i][1]);
        assert_int_equal(fplt_settings_set(s, cases[i][0], "1", "--x", &error), FPLT_BAD_VALUE);
        snprintf(expected, sizeof expected, "--x: there is no setting '%s'; did you mean '%s'?",
                 cases[i][0], cases[i][1]);
        assert_string_equal(error.text, expected);
    }
    fplt_error error;
    assert_null(fplt__settings_nearest(s, "quetzalcoatlus"));
    assert_int_equal(fplt_settings_set(s, "quetzalcoatlus", "1", "--x", &error), FPLT_BAD_VALUE);
    assert_string_equal(error.text, "--x: there is no setting 'quetzalcoatlus'");
    assert_null(fplt__settings_find(s, "quetzalcoatlus"));
    assert_null(fplt_settings_text(s, "quetzalcoatlus"));
    assert_true(isnan(fplt_settings_real(s, "quetzalcoatlus")));
    assert_int_equal(fplt_settings_integer(s, "quetzalcoatlus"), 0);
    assert_false(fplt_settings_switch(s, "quetzalcoatlus"));
    assert_false(fplt_settings_given(s, "quetzalcoatlus"));
    assert_false(fplt_settings_is_auto(s, "quetzalcoatlus"));
    assert_string_equal(fplt__settings_origin(s, "quetzalcoatlus"), "default");
    misreads_meant += 7;
    assert_int_equal(fplt__settings_misread(), misreads_meant);
    fplt_settings_destroy(s);
}

static void given_and_default_and_required(void **state)
{
    (void)state;
    fplt_settings *s = make();
    fplt_error error;
    assert_int_equal(fplt_settings_integer(s, "epochs"), 5); /* the first table won */
    assert_false(fplt_settings_given(s, "epochs"));
    assert_string_equal(fplt__settings_origin(s, "epochs"), "default");
    assert_null(fplt_settings_text(s, "output"));
    assert_true(isnan(fplt_settings_real(s, "free")));
    assert_ok(fplt_settings_set(s, "epochs", "5", "--epochs", &error), error);
    assert_true(fplt_settings_given(s, "epochs"));
    assert_string_equal(fplt__settings_origin(s, "epochs"), "--epochs");
    assert_ok(fplt_settings_set(s, "epochs", "6", "--again", &error), error);
    assert_int_equal(fplt_settings_integer(s, "epochs"), 6);
    assert_string_equal(fplt__settings_origin(s, "epochs"), "--again");
    assert_int_equal(fplt__settings_complete(s, &error), FPLT_BAD_VALUE);
    assert_string_equal(error.text, "data must be given: where the rows are");
    accepted(s, "data", "x.csv");
    assert_ok(fplt__settings_complete(s, &error), error);
    fplt_settings_destroy(s);
}

static void rows_in_order(void **state)
{
    (void)state;
    fplt_settings *s = make();
    const char *group;
    size_t count = 0;
    for (; table[count].name; count++) {
        assert_ptr_equal(fplt_settings_row(s, count, &group), &table[count]);
        assert_string_equal(group, "training");
        assert_ptr_equal(fplt__settings_find(s, table[count].name), &table[count]);
    }
    assert_ptr_equal(fplt_settings_row(s, count, &group), &second[1]);
    assert_string_equal(group, "data");
    assert_null(fplt_settings_row(s, count + 1, NULL));
    fplt_settings_destroy(s);
}

static void strict_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},      {"-0.5", -0.5}, {"+3", 3},       {".5", 0.5},   {"5.", 5},
                {"1e3", 1000}, {"1E-2", 0.01}, {"007.50", 7.5}, {"1e-400", 0}, {"0.1", 0.1}};
    const char *const bad[] = {"",      " 1",    "1 ",    "1x",  "0x10", "inf", "-inf", "nan",
                               "1e400", "1,5",   "1e",    "e5",  ".",    "-",   "+-1",  "1_000",
                               "--1",   "1.2.3", "0X1p3", "1\n", "one",  "1e5f"};
    double real;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(fplt__parse_real(good[i].text, &real), FPLT_OK);
        assert_true(real == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!fplt__parse_real(bad[i], &real))
            fail_msg("'%s' was taken as %g", bad[i], real);
    long long integer;
    assert_int_equal(fplt__parse_integer("-9223372036854775808", &integer), FPLT_OK);
    assert_true(integer == INT64_MIN);
    assert_int_equal(fplt__parse_integer("+0012", &integer), FPLT_OK);
    assert_int_equal(integer, 12);
    const char *const bad_integers[] = {
        "", " 1", "1 ", "1.0", "1e3", "0x1", "-", "1 2", "9223372036854775808"};
    for (size_t i = 0; i < sizeof bad_integers / sizeof *bad_integers; i++)
        assert_int_equal(fplt__parse_integer(bad_integers[i], &integer), FPLT_BAD_VALUE);
}

/* Random doubles written and read back are the same. */
static void numbers_survive_writing(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double x, read;
        memcpy(&x, &bits, sizeof x);
        char text[40];
        snprintf(text, sizeof text, "%.17g", x);
        assert_int_equal(fplt__parse_real(text, &read), isfinite(x) ? FPLT_OK : FPLT_BAD_VALUE);
        if (isfinite(x))
            assert_true(read == x);
    }
}

static void numbers_are_taken_as_numbers(void **state)
{
    (void)state;
    static const double reals[] = {0.1,  1e-5,      2,       -0.0,     1e15,    1e16,
                                   1e22, 0x1p-1074, DBL_MAX, -DBL_MAX, 1.0 / 3, 0x1p53};
    fplt_settings *s = make();
    fplt_error error;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        assert_ok(fplt_settings_set_real(s, "free", reals[i], "test", &error), error);
        double read = fplt_settings_real(s, "free");
        assert_memory_equal(&read, &reals[i], sizeof read);
    }
    fplt_stream stream = fplt_stream_make(12, 0, FPLT_FOR_TEST, 0, 0, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = fplt__stream_bits(&stream);
        double x, read;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        assert_ok(fplt_settings_set_real(s, "free", x, "test", &error), error);
        read = fplt_settings_real(s, "free");
        assert_memory_equal(&read, &x, sizeof read);
    }
    assert_ok(fplt_settings_set_real(s, "output", 0.1, "test", &error), error);
    assert_string_equal(fplt_settings_text(s, "output"), "0.1");
    assert_ok(fplt_settings_set_integer(s, "epochs", 9007199254740993, "test", &error), error);
    assert_true(fplt_settings_integer(s, "epochs") == 9007199254740993);
    assert_ok(fplt_settings_set_integer(s, "free", LLONG_MIN, "test", &error), error);
    assert_true(fplt_settings_real(s, "free") == -0x1p63);
    assert_ok(fplt_settings_set_integer(s, "seeds", 7, "test", &error), error);
    assert_string_equal(fplt_settings_text(s, "seeds"), "7");
    assert_ok(fplt_settings_set_switch(s, "verbose", 2, "here", &error), error);
    assert_int_equal(fplt_settings_switch(s, "verbose"), 1);
    assert_string_equal(fplt__settings_origin(s, "verbose"), "here");
    assert_ok(fplt_settings_set_switch(s, "verbose", 0, "test", &error), error);
    assert_int_equal(fplt_settings_switch(s, "verbose"), 0);
    fplt_settings_destroy(s);
}

static void says(const fplt_error *error, fplt_status status, const char *sentence)
{
    assert_int_equal(status, FPLT_BAD_VALUE);
    assert_string_equal(error->text, sentence);
}

static void numbers_that_are_not_legal(void **state)
{
    (void)state;
    fplt_settings *s = make();
    fplt_error e;
    assert_ok(fplt_settings_set_real(s, "rho", 3, "test", &e), e);
    says(&e, fplt_settings_set_real(s, "rho", NAN, "x", &e),
         "x: rho is 'nan', but it must be a number above 0, or auto");
    says(&e, fplt_settings_set_real(s, "rho", INF, "x", &e),
         "x: rho is 'inf', but it must be a number above 0, or auto");
    says(&e, fplt_settings_set_real(s, "rho", 0, "x", &e),
         "x: rho is '0.0', but it must be a number above 0, or auto");
    says(&e, fplt_settings_set_real(s, "epochs", 5, "x", &e),
         "x: epochs is '5.0', but it must be a whole number of at least 1; write 5");
    says(&e, fplt_settings_set_integer(s, "epochs", 0, "x", &e),
         "x: epochs is '0', but it must be a whole number of at least 1");
    says(&e, fplt_settings_set_integer(s, "verbose", 1, "x", &e),
         "x: verbose is '1', but it must be yes or no");
    says(&e, fplt_settings_set_switch(s, "rho", 1, "x", &e),
         "x: rho is 'yes', but it must be a number above 0, or auto");
    says(&e, fplt_settings_set_integer(s, "momentu", 1, "x", &e),
         "x: there is no setting 'momentu'; did you mean 'momentum'?");
    assert_true(fplt_settings_real(s, "rho") == 3);
    assert_false(fplt_settings_given(s, "epochs"));
    fplt_settings_destroy(s);
}

static void a_locale_changes_nothing(void **state)
{
    (void)state;
    const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; i < 4 && !found; i++)
        found = setlocale(LC_NUMERIC, locales[i]);
    if (!found)
        return; /* nothing to try it with */
    double real;
    assert_int_equal(fplt__parse_real("0.5", &real), FPLT_OK);
    assert_true(real == 0.5);
    assert_int_equal(fplt__parse_real("0,5", &real), FPLT_BAD_VALUE);
    fplt_settings *s = make();
    fplt_error error;
    assert_ok(fplt_settings_set_real(s, "rho", 0.5, "test", &error), error);
    assert_string_equal(fplt_settings_text(s, "rho"), "0.5");
    fplt_settings_destroy(s);
    setlocale(LC_NUMERIC, "C");
}

static void memory(void **state)
{
    (void)state;
    fplt_settings *s;
    survives_failing_allocations(
        {
            if (!(status = fplt_settings_create(&s, NULL))) {
                if (!(status = fplt_settings_add(s, "training", table, NULL)) &&
                    !(status = fplt_settings_set(s, "rho", "1", "test", NULL)))
                    status = fplt_settings_set(s, "rho", "2", "test", NULL);
                fplt_settings_destroy(s);
            }
        },
        6);
}

static const fplt_setting needing[] = {
    {"rule", FPLT_CHOICE, 0, "all", 0, 0, "all|fixed|trace", "who", 0, 0},
    {"active", FPLT_INTEGER, FPLT_AUTO, NULL, 1, INF, NULL, "how many", 0, 0,
     .needs = "rule=fixed|trace"},
    {"file", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "data", 0, 0},
    {"label", FPLT_TEXT, 0, NULL, 0, 0, NULL, "column", 0, 0, .needs = "file"},
    {"rows", FPLT_INTEGER, 0, "5", 1, INF, NULL, "to make", 0, 0, .needs = "!file"},
    {"loud", FPLT_SWITCH, 0, "no", 0, 0, NULL, "say it", 0, 0},
    {"both", FPLT_TEXT, 0, NULL, 0, 0, NULL, "two", 0, 0, .needs = "file,rule=trace;loud=yes"},
    {"far", FPLT_TEXT, 0, NULL, 0, 0, NULL, "of another table", 0, 0, .needs = "elsewhere=1"},
    {"other", FPLT_TEXT, 0, NULL, 0, 0, NULL, "not all", 0, 0, .needs = "rule!=all|trace"},
    {"given", FPLT_TEXT, 0, NULL, 0, 0, NULL, "said", 0, 0, .needs = "+rows,rule=fixed"},
    {"kept", FPLT_TEXT, 0, NULL, 0, 0, NULL, "not said", 0, 0, .needs = "file,-rows"},
    {"listed", FPLT_TEXT, 0, NULL, 0, 0, NULL, "among", 0, 0, .needs = "!file,file=a|b"},
    FPLT_SETTINGS_END,
};

/* Pairs of name and value; "|" between them begins a new layer. The sentence, or "" if all have effect. */
static const char *effect_of(const char *const *pairs)
{
    static fplt_error error;
    fplt_settings *settings;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_settings_add(settings, "needing", needing, &error), error);
    error.text[0] = 0;
    for (; *pairs; pairs++) {
        if (strcmp(*pairs, "|") == 0) {
            fplt__settings_override(settings);
            continue;
        }
        assert_ok(fplt_settings_set(settings, pairs[0], pairs[1], "here", &error), error);
        pairs++;
    }
    fplt_status status = fplt__settings_effective(settings, &error);
    assert_int_equal(status, error.text[0] ? FPLT_BAD_VALUE : FPLT_OK);
    fplt_settings_destroy(settings);
    return error.text;
}

static void settings_without_effect(void **state)
{
    (void)state;
    static const struct {
        const char *pairs[8], *says; /* NULL: all have effect */
    } cases[] = {
        {{NULL}, NULL},
        {{"active", "3", NULL},
         "here: active has no effect without rule fixed or trace, but rule is all; leave it out"},
        {{"active", "auto", NULL}, NULL},
        {{"active", "3", "rule", "trace", NULL}, NULL},
        {{"label", "b", NULL},
         "here: label has no effect without file: give file too, or leave label out"},
        {{"label", "b", "file", "x", NULL}, NULL},
        {{"rows", "3", NULL}, NULL},
        {{"rows", "3", "file", "x", NULL},
         "here: rows has no effect beside file (here); leave one of them out"},
        {{"both", "1", "file", "x", NULL}, "without loud yes, but loud is no"},
        {{"both", "1", "loud", "on", NULL}, "without file, or rule trace"},
        {{"both", "1", "loud", "on", "rule", "trace", NULL}, NULL},
        {{"far", "1", NULL}, NULL},
        {{"other", "1", NULL},
         "without rule other than all or trace, but rule is all; leave it out"},
        {{"other", "1", "rule", "trace", NULL}, "rule is trace"},
        {{"other", "1", "rule", "fixed", NULL}, NULL},
        {{"given", "1", NULL}, "without rows, or rule fixed: give rows too, or leave given out"},
        {{"given", "1", "rows", "5", NULL}, NULL},
        {{"given", "1", "rule", "fixed", NULL}, NULL},
        {{"kept", "1", NULL}, NULL},
        {{"kept", "1", "rows", "5", NULL}, "without file: give file too, or leave kept out"},
        {{"listed", "1", NULL}, NULL},
        {{"listed", "1", "file", "c,b", NULL}, NULL},
        {{"listed", "1", "file", "c,d", NULL}, "listed has no effect"},
        /* what a later layer makes useless is no mistake; what comes later or at once is */
        {{"rows", "3", "|", "file", "x", NULL}, NULL},
        {{"file", "x", "|", "rows", "3", NULL}, "rows has no effect beside file"},
        {{"active", "3", "rule", "fixed", "|", "rule", "all", NULL}, NULL},
        {{"active", "3", "|", "file", "x", NULL}, "without rule fixed or trace"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = effect_of(cases[i].pairs);
        if (cases[i].says)
            assert_contains(said, cases[i].says);
        else
            assert_string_equal(said, "");
    }
}

static void settings_without_effect_for_one_user(void **state)
{
    (void)state;
    static const fplt__setting_need there[] = {
        {"@first", "loud=yes", NULL},
        {"free", "", NULL},
        {"never", NULL, "another says it"},
        {"elsewhere", NULL, "no table has it"},
        {NULL, NULL, NULL},
    };
    static const fplt_setting some[] = {
        {"free", FPLT_TEXT, 0, NULL, 0, 0, NULL, "free", 0, 0},
        {"bound", FPLT_TEXT, 0, NULL, 0, 0, NULL, "bound", 0, 0},
        FPLT_SETTINGS_END,
    };
    static const fplt_setting others[] = {
        {"never", FPLT_TEXT, 0, NULL, 0, 0, NULL, "never", 0, 0},
        {"loud", FPLT_SWITCH, 0, "no", 0, 0, NULL, "say it", 0, 0},
        FPLT_SETTINGS_END,
    };
    static const struct {
        const char *name, *says;
    } cases[] = {
        {"free", NULL},
        {"bound", "here: bound has no effect without loud yes, but loud is no; leave it out"},
        {"never", "here: never has no effect in fedplt there: another says it"},
    };
    for (size_t i = 0; i < 6; i++) {
        fplt_error error;
        fplt_settings *s;
        const char *says = i < 3 ? cases[i].says : NULL; /* in an earlier layer all pass */
        assert_ok(fplt_settings_create(&s, &error), error);
        assert_ok(fplt_settings_add(s, "first", some, &error), error);
        assert_ok(fplt_settings_add(s, "second", others, &error), error);
        assert_ok(fplt_settings_set(s, cases[i % 3].name, "x", "here", &error), error);
        if (i >= 3)
            fplt__settings_override(s);
        assert_ok(fplt__settings_effective(s, &error), error);
        assert_int_equal(fplt__settings_effective_in(s, "there", there, &error),
                         says ? FPLT_BAD_VALUE : FPLT_OK);
        if (says)
            assert_string_equal(error.text, says);
        /* where nothing serves another, none does */
        says = cases[i % 3].says;
        assert_int_equal(fplt__settings_effective_alone(s, "there", there, &error),
                         says ? FPLT_BAD_VALUE : FPLT_OK);
        if (says)
            assert_string_equal(error.text, says);
        fplt_settings_destroy(s);
    }
}

/* What a later layer decides is not held against an earlier one, where nothing serves another either. */
static void what_is_overridden_passes_for_one_user(void **state)
{
    (void)state;
    static const fplt__setting_need there[] = {{"fine", "loud=yes", NULL}, {NULL, NULL, NULL}};
    static const fplt_setting some[] = {
        {"fine", FPLT_TEXT, 0, NULL, 0, 0, NULL, "fine", 0, 0},
        {"loud", FPLT_SWITCH, 0, "yes", 0, 0, NULL, "say it", 0, 0},
        FPLT_SETTINGS_END,
    };
    fplt_error error;
    fplt_settings *s;
    assert_ok(fplt_settings_create(&s, &error), error);
    assert_ok(fplt_settings_add(s, "some", some, &error), error);
    assert_ok(fplt_settings_set(s, "fine", "x", "here", &error), error);
    fplt__settings_override(s);
    assert_ok(fplt_settings_set(s, "loud", "no", "there", &error), error);
    assert_ok(fplt__settings_effective_alone(s, "there", there, &error), error);
    assert_ok(fplt_settings_set(s, "fine", "x", "here", &error), error);
    assert_int_equal(fplt__settings_effective_alone(s, "there", there, &error), FPLT_BAD_VALUE);
    fplt_settings_destroy(s);
}

/* What another has given. */
static void settings_beside_those_of_another(void **state)
{
    (void)state;
    static const fplt__setting_need there[] = {{"held", "!plan", NULL}, {NULL, NULL, NULL}};
    static const fplt_setting some[] = {
        {"plan", FPLT_TEXT, 0, NULL, 0, 0, NULL, "plan", 0, 0},
        {"free", FPLT_TEXT, 0, NULL, 0, 0, NULL, "free", 0, 0},
        {"bound", FPLT_TEXT, 0, NULL, 0, 0, NULL, "bound", 0, 0, .needs = "free;!plan,bound=no"},
        {"held", FPLT_TEXT, 0, NULL, 0, 0, NULL, "held", 0, 0},
        FPLT_SETTINGS_END,
    };
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        {"plan", "x", NULL},
        {"free", "x", NULL},
        {"bound", "no", NULL},
        {"bound", "x", "here: bound has no effect beside the other's plan; leave it out"},
        {"held", "x", "here: held has no effect beside the other's plan; leave it out"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fplt_error error;
        fplt_settings *s;
        assert_ok(fplt_settings_create(&s, &error), error);
        assert_ok(fplt_settings_add(s, "some", some, &error), error);
        assert_ok(fplt_settings_set(s, cases[i].name, cases[i].value, "here", &error), error);
        assert_int_equal(fplt__settings_effective_beside(s, there, "plan", "the other's plan",
                                                         &error),
                         cases[i].says ? FPLT_BAD_VALUE : FPLT_OK);
        if (cases[i].says)
            assert_string_equal(error.text, cases[i].says);
        fplt_settings_destroy(s);
    }
}

static void settings_need_facts(void **state)
{
    (void)state;
    static const fplt_setting some[] = {
        {"fine", FPLT_SWITCH, 0, "no", 0, 0, NULL, "fine", 0, 0,
         .needs = "the task=one|two;the file!=empty"},
        FPLT_SETTINGS_END,
    };
    fplt_error error;
    fplt_settings *s;
    unsigned long misread = fplt__settings_misread();
    assert_ok(fplt_settings_create(&s, &error), error);
    assert_ok(fplt_settings_add(s, "some", some, &error), error);
    assert_ok(fplt_settings_set(s, "fine", "yes", "here", &error), error);
    assert_ok(fplt__settings_effective(s, &error), error); /* nothing is known yet */
    assert_ok(fplt__settings_learn(s, "the task", "two", &error), error);
    assert_ok(fplt__settings_effective(s, &error), error);
    assert_ok(fplt__settings_learn(s, "the file", "empty", &error), error);
    assert_int_equal(fplt__settings_effective(s, &error), FPLT_BAD_VALUE);
    assert_string_equal(error.text, "here: fine has no effect without the file other than empty, "
                                    "but the file is empty; leave it out");
    assert_ok(fplt__settings_learn(s, "the file", "full", &error), error);
    assert_ok(fplt__settings_effective(s, &error), error);
    assert_ok(fplt__settings_learn(s, "the task", "three", &error), error);
    assert_int_equal(fplt__settings_effective(s, &error), FPLT_BAD_VALUE);
    assert_string_equal(error.text, "here: fine has no effect without the task one or two, but the "
                                    "task is three; leave it out");
    assert_int_equal(fplt__settings_misread(), misread);
    fplt_settings_destroy(s);
}

static void lists_add_up_within_a_layer(void **state)
{
    (void)state;
    fplt_error error;
    fplt_settings *s = make();
    assert_ok(fplt__settings_append(s, "names", "a", "file", &error), error);
    assert_ok(fplt__settings_append(s, "names", "b\\,c", "file", &error), error);
    assert_string_equal(fplt_settings_text(s, "names"), "a,b\\,c");
    fplt__settings_override(s);
    assert_ok(fplt__settings_append(s, "names", "d", "flag", &error), error);
    assert_ok(fplt__settings_append(s, "names", "e,f", "flag", &error), error);
    assert_string_equal(fplt_settings_text(s, "names"), "d,e,f");
    assert_ok(fplt__settings_append(s, "with", "a=1", "flag", &error), error);
    assert_ok(fplt__settings_append(s, "with", "b=2", "flag", &error), error);
    assert_string_equal(fplt_settings_text(s, "with"), "a=1,b=2");
    assert_int_equal(fplt__settings_append(s, "seeds", "x", "flag", &error), FPLT_BAD_VALUE);
    assert_contains(error.text, "flag: seeds is 'x'");
    assert_ok(fplt__settings_append(s, "epochs", "3", "flag", &error), error);
    assert_ok(fplt__settings_append(s, "epochs", "4", "flag", &error), error);
    assert_int_equal(fplt_settings_integer(s, "epochs"), 4);
    fplt_settings_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_ranges),
        cmocka_unit_test(switches_choices_text),
        cmocka_unit_test(lists_and_pairs),
        cmocka_unit_test(taking_lists_apart),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(given_and_default_and_required),
        cmocka_unit_test(rows_in_order),
        cmocka_unit_test(strict_numbers),
        cmocka_unit_test(numbers_survive_writing),
        cmocka_unit_test(numbers_are_taken_as_numbers),
        cmocka_unit_test(numbers_that_are_not_legal),
        cmocka_unit_test(a_locale_changes_nothing),
        cmocka_unit_test(settings_without_effect),
        cmocka_unit_test(settings_without_effect_for_one_user),
        cmocka_unit_test(what_is_overridden_passes_for_one_user),
        cmocka_unit_test(settings_beside_those_of_another),
        cmocka_unit_test(settings_need_facts),
        cmocka_unit_test(lists_add_up_within_a_layer),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
