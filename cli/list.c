/* fedplt list: what there is, from the registries. */
#include <string.h>

#include "cli.h"
#include "base/text.h"
#include "data/dataset_access.h"
#include "objective/objective_access.h"
#include "participation/participation.h"
#include "prox/prox_access.h"
#include "report/report.h"
#include "fedplt/algorithm.h"

static const fplt_setting table[] = {
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "output", table, error);
}

static const char *algorithm_name(size_t index, const char **help)
{
    const fplt_algorithm *algorithm = fplt_algorithm_list(index);
    if (algorithm && help)
        *help = algorithm->reference;
    return algorithm ? algorithm->name : NULL;
}

static const char *solver_name(size_t index, const char **help)
{
    const fplt_solver *solver = fplt_solver_list(index);
    if (solver && help)
        *help = solver->help;
    return solver ? solver->name : NULL;
}

static const char *kernel_name(size_t index, const char **help)
{
    int available = 1;
    const char *name = fplt__kernel_list(index, help, &available);
    if (!available && help)
        *help = "not on this machine";
    return name;
}

static const char *command_name(size_t index, const char **help)
{
    const cli_command *command = cli_command_at(index);
    if (command && help)
        *help = command->summary;
    return command ? command->name : NULL;
}

typedef const char *(*lister)(size_t index, const char **help);

static const struct family {
    const char *name, *about;
    lister list;
} families[] = {
    {"commands", "what the program can do (fedplt COMMAND --help)", command_name},
    {"algorithms", "federated algorithms (--algorithm)", algorithm_name},
    {"solvers", "local training (--solver)", solver_name},
    {"losses", "loss of a record (--loss)", fplt__loss_name},
    {"regularisers", "smooth regulariser (--regulariser)", fplt__regulariser_name},
    {"prox", "common cost h (--h)", fplt__prox_list},
    {"participation", "who is active in a round (--participation)", fplt__participation_list},
    {"generators", "synthetic data (--generator)", fplt__generator_list},
    {"partitions", "division of rows among agents (--partition)", fplt__partition_list},
    {"formats", "data files (--format)", fplt__format_list},
    {"kernels", "arithmetic (--kernel)", kernel_name},
};

enum { FAMILIES = sizeof families / sizeof *families };

static const char *family_name(size_t index, const char **help)
{
    if (index >= FAMILIES)
        return NULL;
    if (help)
        *help = families[index].about;
    return families[index].name;
}

/* A count of vectors that may grow with the dimension n: a matrix is n vectors, a triangle n/2. */
struct count {
    unsigned halves, rest; /* halves n/2 + rest */
};

enum { PROBE = 1000 };

/* From the counts at the dimensions PROBE and 2 PROBE. */
static struct count count_of(unsigned at_probe, unsigned at_twice)
{
    unsigned halves = (at_twice - at_probe) * 2 / PROBE;
    return (struct count){halves, at_probe - halves * PROBE / 2};
}

/* "2", "n/2 + 1", "n + 3" */
static void print_count(struct count count, char *text, size_t size)
{
    char factor[16] = "";
    if (!count.halves) {
        snprintf(text, size, "%u", count.rest);
        return;
    }
    if (count.halves > 2)
        snprintf(factor, sizeof factor, "%u", count.halves % 2 ? count.halves : count.halves / 2);
    int used = snprintf(text, size, "%sn%s", factor, count.halves % 2 ? "/2" : "");
    if (count.rest)
        snprintf(text + used, size - (size_t)used, " + %u", count.rest);
}

/* "2N + 1" */
static void vectors(struct count agent, struct count coordinator, char *text, size_t size)
{
    char own[40] = "", common[40];
    print_count(agent, own, sizeof own);
    print_count(coordinator, common, sizeof common);
    int none = !agent.halves && !agent.rest, one = !agent.halves && agent.rest == 1;
    if (none)
        snprintf(text, size, "%s", common);
    else
        snprintf(text, size, "%s%s%sN%s%s", agent.halves ? "(" : "", one ? "" : own,
                 agent.halves ? ")" : "", strcmp(common, "0") ? " + " : "",
                 strcmp(common, "0") ? common : "");
}

static void sent(const fplt_shape *shape, unsigned *up, unsigned *down)
{
    *up = shape->mirrored;
    *down = 0;
    for (unsigned e = 0; e < shape->exchanges; e++) {
        *up += shape->exchange[e].up;
        *down += shape->exchange[e].down;
    }
}

static void add_counts(fplt_table *out, const fplt_algorithm *algorithm)
{
    double parameter[FPLT_MAX_PARAMETERS] = {0};
    char text[128], ups[sizeof text + 2];
    unsigned up[2], down[2];
    fplt_shape shape[2];
    fplt_algorithm_defaults(algorithm, parameter);
    for (unsigned i = 0; i < 2; i++) {
        shape[i] = fplt_algorithm_shape(algorithm, parameter, (i + 1) * PROBE);
        sent(&shape[i], &up[i], &down[i]);
    }
    unsigned paper = algorithm->paper.agent, common = algorithm->paper.coordinator;
    if (paper + common)
        vectors(count_of(paper, paper), count_of(common, common), text, sizeof text);
    fplt__table_text(out, paper + common ? text : NULL);
    vectors(count_of(shape[0].kept, shape[1].kept),
            count_of(shape[0].vectors + shape[0].mirrored, shape[1].vectors + shape[1].mirrored),
            text, sizeof text);
    fplt__table_text(out, text);
    print_count(count_of(up[0], up[1]), text, sizeof text);
    snprintf(ups, sizeof ups, up[0] == up[1] ? "%s" : "(%s)", text);
    if (shape->finish_down && algorithm->allows & FPLT_ALLOWS_PARTIAL)
        snprintf(text, sizeof text, "%.40s/%u (%.40s/%u) in %u", ups, *down, ups,
                 *down + shape->finish_down, shape->exchanges);
    else
        snprintf(text, sizeof text, "%.40s/%u in %u", ups, *down, shape->exchanges);
    fplt__table_text(out, text);
}

static const char *solvers_of(const fplt_algorithm *algorithm)
{
    unsigned allows = algorithm->allows;
    if (allows & FPLT_ALLOWS_MINIMISER)
        return "any";
    if (allows & FPLT_TRAINS_NOTHING)
        return "none";
    return allows & FPLT_ALLOWS_ACCELERATED ? "(S)GD, accelerated" : "(S)GD";
}

/* Prints and releases the table. */
static fplt_status deliver(const char *family, fplt_table *members, int json, fplt_error *error)
{
    fplt_status status = json ? cli_print_json(json_pack("{s:s, s:o}", "family", family, "members",
                                                         cli_json_table(members)),
                                               error)
                              : cli_print_table(members, error);
    fplt_table_destroy(members);
    return status;
}

static fplt_status list_algorithms(int json, fplt_error *error)
{
    static const char *const columns[] = {"name",    "stored (paper)", "stored (kept)", "up/down",
                                          "solvers", "epochs",         "partial",       "privacy",
                                          "h",       "problems"};
    const fplt_algorithm *algorithm;
    fplt_table *out;
    fplt_status status = fplt__table_create(columns, sizeof columns / sizeof *columns, &out, error);
    if (status)
        return status;
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++) {
        unsigned allows = algorithm->allows;
        fplt__table_text(out, algorithm->name);
        add_counts(out, algorithm);
        fplt__table_text(out, solvers_of(algorithm));
        fplt__table_text(out, algorithm->paper.epochs);
        fplt__table_text(out, allows & FPLT_ALLOWS_PARTIAL ? "yes" : "no");
        fplt__table_text(out, allows & FPLT_ALLOWS_PRIVACY ? "yes" : "no");
        fplt__table_text(out, allows & FPLT_ALLOWS_COMPOSITE ? "yes" : "no");
        fplt__table_text(out, algorithm->paper.problems);
    }
    status = deliver("algorithms", out, json, error);
    if (status || json)
        return status;
    puts("\nstored: n-vectors, as the paper's Table I counts them, and as kept between rounds by N "
         "agents\nand the coordinator. up/down: n-vectors an active agent sends and receives a "
         "round (in brackets\nwhen only some are active), in so many exchanges. privacy: a claim "
         "for "
         "noisy local training.\n");
    for (size_t i = 0; (algorithm = fplt_algorithm_list(i)); i++)
        printf("%-16s %s\n", algorithm->name, algorithm->reference);
    return FPLT_OK;
}

static fplt_status list_family(const struct family *family, int json, fplt_error *error)
{
    static const char *const columns[] = {"name", "what"};
    const char *name, *help = "";
    fplt_table *out;
    if (family->list == algorithm_name)
        return list_algorithms(json, error);
    if (family->list == command_name && json)
        return cli_print_json(
            json_pack("{s:s, s:o}", "family", family->name, "members", cli_json_commands()), error);
    fplt_status status = fplt__table_create(columns, 2, &out, error);
    if (status)
        return status;
    for (size_t i = 0; (name = family->list(i, &help)); i++) {
        fplt__table_text(out, name);
        fplt__table_text(out, help);
    }
    return deliver(family->name, out, json, error);
}

static fplt_status list_all(int json, fplt_error *error)
{
    json_t *object = json ? json_object() : NULL;
    for (size_t i = 0; i < FAMILIES; i++) {
        const char *name;
        json_t *names = json ? json_array() : NULL;
        if (!json)
            printf("%-14s", families[i].name);
        for (size_t k = 0; (name = families[i].list(k, NULL)); k++) {
            if (json)
                json_array_append_new(names, json_string(name));
            else
                printf("%s%s", k ? ", " : " ", name);
        }
        if (json)
            json_object_set_new(object, families[i].name, names);
        else
            puts("");
    }
    return json ? cli_print_json(object, error) : FPLT_OK;
}

static fplt_status run_list(cli_call *cli, fplt_error *error)
{
    int json = fplt_settings_switch(cli->settings, "json");
    if (!cli->argument_count)
        return list_all(json, error);
    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp(families[i].name, cli->arguments[0]) == 0)
            return list_family(&families[i], json, error);
    return fplt__unknown_name("family", cli->arguments[0], family_name, error);
}

const cli_command cli_list[] = {
    {.name = "list",
     .summary = "algorithms, losses, solvers and everything else there is",
     .arguments = "[FAMILY]",
     .about =
         "Lists one family (commands, algorithms, solvers, losses, regularisers, prox, "
         "participation, "
         "generators, partitions, formats, kernels) with a line about each member; without an "
         "argument the names of all. The algorithms come with the columns of the paper's Table "
         "I and with the vectors really stored and sent. `fedplt list commands --json` has every "
         "command "
         "with its texts, settings and defaults.",
     .examples = "fedplt list\nfedplt list algorithms\nfedplt list solvers --json",
     .most = 1,
     .declare = declare,
     .run = run_list},
    {.name = NULL},
};
