/* The column `needs`, over every row of every table a training can have: what it names exists, a setting
 * is taken where its needs are met and refused where one is not, and a help that speaks of another
 * setting's value has the need. */
#include "training.h"
#include "base/settings.h"
#include "solver/solver.h"
#include "fedplt/algorithm.h"

enum { LONG = 1024 };

static const char *which(void *algorithm, const char *name)
{
    return strcmp(name, "algorithm") == 0 ? algorithm : NULL;
}

static fplt_settings *settings_of(const char *algorithm)
{
    fplt_error error;
    fplt_settings *settings;
    assert_ok(fplt_settings_create(&settings, &error), error);
    assert_ok(fplt_trainer_declare(settings, 0, which, (void *)algorithm, &error), error);
    return settings;
}

/* Some legal value. */
static void sample(const fplt_setting *row, char *value, size_t size)
{
    const char *choice = row->choices;
    if (choice && strncmp(choice, "auto|", 5) == 0) /* auto is no wish */
        choice += 5;
    if (row->kind == FPLT_CHOICE)
        snprintf(value, size, "%.*s", (int)strcspn(choice, "|"), choice);
    else if (row->kind == FPLT_SWITCH)
        snprintf(value, size, "yes");
    else if (row->kind == FPLT_TEXT)
        snprintf(value, size, row->flags & FPLT_PAIRS ? "a=1" : "text");
    else if (row->kind == FPLT_REAL && row->high < 1.5)
        snprintf(value, size, "%g", row->high / 2);
    else
        snprintf(value, size, "%g", row->low > 1 ? row->low : 1);
}

static void give(fplt_settings *settings, const char *name, const char *value)
{
    fplt_error error;
    assert_ok(fplt_settings_set(settings, name, value, "here", &error), error);
}

/* The name at the start of a term, behind a sign; the sign of "rounds!=0" is no part of it. */
static size_t name_length(const char *start)
{
    return strcspn(start, "!=,;|");
}

/* Meets one term, "solver=sgd|svrg", "rounds!=0" or "data"; "!data" is met by doing nothing. */
static void meet(fplt_settings *settings, const char *term)
{
    char name[LONG], value[LONG];
    size_t length = name_length(term);
    if (*term == '!')
        return;
    snprintf(name, sizeof name, "%.*s", (int)length, term);
    const fplt_setting *row = fplt__settings_find(settings, name);
    if (!row)
        fail_msg("there is no setting %s", name);
    if (term[length] == '=')
        snprintf(value, sizeof value, "%.*s", (int)strcspn(term + length + 1, "|,;"),
                 term + length + 1);
    else
        sample(row, value, sizeof value);
    give(settings, name, value);
}

static int names(const char *term, const char *choice, size_t size)
{
    const char *value = term + strcspn(term, "=,;");
    for (; *value == '=' || *value == '|'; value += 1 + strcspn(value + 1, "|,;"))
        if (strcspn(value + 1, "|,;") == size && strncmp(value + 1, choice, size) == 0)
            return 1;
    return 0;
}

/* "!data" by giving it, "solver=sgd|svrg" by another choice, "rounds!=0" by 0; "data" is violated by doing
 * nothing. */
static void violate(fplt_settings *settings, const char *term)
{
    char name[LONG], value[LONG];
    const char *start = term + (*term == '!');
    size_t length = name_length(start);
    snprintf(name, sizeof name, "%.*s", (int)length, start);
    const fplt_setting *row = fplt__settings_find(settings, name);
    sample(row, value, sizeof value);
    if (start[length] == '!') {
        const char *first = start + length + 2;
        snprintf(value, sizeof value, "%.*s", (int)strcspn(first, "|,;"), first);
        give(settings, name, value);
        return;
    }
    for (const char *choice = row->choices; choice && *choice && start[length] == '=';) {
        size_t size = strcspn(choice, "|");
        if (!names(term, choice, size))
            snprintf(value, sizeof value, "%.*s", (int)size, choice);
        choice += size + (choice[size] == '|');
    }
    if (*term == '!' || start[length] == '=')
        give(settings, name, value);
}

/* A term about the list that `compare` has in place of one algorithm: it asks nothing here. */
static int is_of_compare(const char *term)
{
    static const char name[] = "algorithms";
    term += *term == '!';
    return strncmp(term, name, strlen(name)) == 0 && name_length(term) == strlen(name);
}

/* Every value a clause names is legal, in every term. */
static void check_words(const char *algorithm, const fplt_setting *row)
{
    for (const char *term = row->needs; *term;) {
        int sign = *term == '!';
        size_t name = (size_t)sign + name_length(term + sign);
        const char *value = term + name + (term[name] == '!');
        if (is_of_compare(term)) {
            term += strcspn(term, ",;");
            term += *term != 0;
            continue;
        }
        while (*value == '=' || *value == '|') {
            char one[2 * LONG];
            size_t length = strcspn(value + 1, "|,;");
            fplt_settings *settings = settings_of(algorithm);
            snprintf(one, sizeof one, "%.*s=%.*s", (int)name, term, (int)length, value + 1);
            meet(settings, one);
            fplt_settings_destroy(settings);
            value += length + 1;
        }
        fplt_settings *settings = settings_of(algorithm);
        char bare[LONG];
        snprintf(bare, sizeof bare, "%.*s", (int)name - sign, term + sign);
        assert_non_null(fplt__settings_find(settings, bare));
        fplt_settings_destroy(settings);
        term = *value ? value + 1 : value;
    }
}

/* Meets the first term of each clause but clause number `but`, which is violated, and checks. */
static size_t check_clauses(const char *algorithm, const fplt_setting *row, size_t but)
{
    fplt_error error = {FPLT_OK, ""};
    fplt_settings *settings = settings_of(algorithm);
    char value[LONG];
    size_t clauses = 0;
    sample(row, value, sizeof value);
    for (const char *clause = row->needs; clause; clauses++) {
        if (is_of_compare(clause))
            but += clauses == but; /* the clause behind it, or none */
        else if (clauses == but)
            violate(settings, clause);
        else
            meet(settings, clause);
        clause = strchr(clause, ';');
        clause = clause ? clause + 1 : NULL;
    }
    give(settings, row->name, value);
    /* what is met may need something in turn: then only this row's sentence counts */
    fplt_status status = fplt__settings_effective(settings, &error);
    char begins[LONG];
    snprintf(begins, sizeof begins, "here: %s has no effect ", row->name);
    int refused = status && strncmp(error.text, begins, strlen(begins)) == 0;
    if (but < clauses ? !status : refused)
        fail_msg("%s, clause %zu: %s", row->name, but, status ? error.text : "accepted");
    fplt_settings_destroy(settings);
    return clauses;
}

static void every_need_is_asked_for(void **state)
{
    (void)state;
    const fplt_algorithm *algorithm;
    size_t checked = 0;
    for (size_t a = 0; (algorithm = fplt_algorithm_list(a)); a++) {
        fplt_settings *settings = settings_of(algorithm->name);
        const fplt_setting *row;
        for (size_t i = 0; (row = fplt_settings_row(settings, i, NULL)); i++) {
            if (!row->needs || strcmp(row->name, "epochs") == 0 || strcmp(row->name, "gamma") == 0)
                continue;
            check_words(algorithm->name, row);
            size_t clauses = check_clauses(algorithm->name, row, SIZE_MAX);
            for (size_t but = 0; but < clauses; but++)
                check_clauses(algorithm->name, row, but);
            checked++;
        }
        fplt_settings_destroy(settings);
    }
    assert_true(checked > 100);
}

/* The traits of the registries decide about epochs and gamma. */
static void local_training_needs_an_algorithm_that_trains(void **state)
{
    (void)state;
    const fplt_algorithm *algorithm;
    const fplt_solver *solver;
    for (size_t a = 0; (algorithm = fplt_algorithm_list(a)); a++)
        for (size_t s = 0; (solver = fplt_solver_list(s)); s++) {
            fplt_settings *settings = settings_of(algorithm->name);
            int trains = !(algorithm->allows & FPLT_TRAINS_NOTHING);
            give(settings, "algorithm", algorithm->name);
            give(settings, "solver", solver->name);
            give(settings, "epochs", "3");
            assert_int_equal(fplt__settings_effective(settings, NULL) == FPLT_OK, trains);
            give(settings, "gamma", "0.1");
            assert_int_equal(fplt__settings_effective(settings, NULL) == FPLT_OK,
                             trains && fplt__solver_has_step(solver));
            give(settings, "gamma", "auto");
            assert_int_equal(fplt__settings_effective(settings, NULL) == FPLT_OK, trains);
            fplt_settings_destroy(settings);
        }
}

/* Whether a help begins with a value that another setting can have: "bernoulli: ...", "newton, lbfgs:". */
static int speaks_of(const fplt_settings *settings, const fplt_setting *row)
{
    size_t length = strcspn(row->help, ":, ;");
    const fplt_setting *other;
    if (row->help[length] != ':' && row->help[length] != ',')
        return 0;
    for (size_t i = 0; (other = fplt_settings_row(settings, i, NULL)); i++)
        for (const char *choice = other->choices; choice && other != row;) {
            size_t size = strcspn(choice, "|");
            if (size == length && strncmp(choice, row->help, size) == 0)
                return 1;
            choice = choice[size] ? choice + size + 1 : NULL;
        }
    return 0;
}

static void help_and_need_agree(void **state)
{
    (void)state;
    size_t found = 0;
    const fplt_setting *row;
    fplt_settings *settings = settings_of("fed-plt");
    for (size_t i = 0; (row = fplt_settings_row(settings, i, NULL)); i++) {
        int speaks = speaks_of(settings, row) || strstr(row->help, " solvers: ");
        found += speaks;
        if (speaks && !row->needs)
            fail_msg("%s needs something by its help: %s", row->name, row->help);
    }
    assert_true(found > 12);
    fplt_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_need_is_asked_for),
        cmocka_unit_test(local_training_needs_an_algorithm_that_trains),
        cmocka_unit_test(help_and_need_agree),
    };
    return cmocka_run_group_tests_name("needs", tests, NULL, NULL);
}
