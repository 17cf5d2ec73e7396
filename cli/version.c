/* fedplt version: what was built in. */
#include <sodium.h>
#include <yaml.h>

#include "cli.h"
#include "sandbox.h"
#include "data/dataset_access.h"
#include "objective/objective_access.h"

static const fplt_setting table[] = {
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    FPLT_SETTINGS_END,
};

static fplt_status declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "output", table, error);
}

static void list_kernels(char *text, size_t size)
{
    const char *name;
    size_t used = 0;
    int available;
    for (size_t i = 0; (name = fplt__kernel_list(i, NULL, &available)) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s%s", i ? ", " : "", name,
                                 available ? "" : " (not on this machine)");
}

/* Tables that are not text, and the libraries that read them. */
static void list_doors(char *text, size_t size)
{
    const char *name, *about, *version;
    size_t used = 0;
    for (size_t i = 0; (name = fplt__door_list(i, &about, &version)) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s (%s)", i ? ", " : "", name,
                                 version ? version : "not built in");
}

static fplt_status run_version(cli_call *cli, fplt_error *error)
{
    char kernels[256] = "", doors[512] = "";
    list_kernels(kernels, sizeof kernels);
    list_doors(doors, sizeof doors);
    const struct {
        const char *name, *value;
    } rows[] = {
        {"fedplt", fplt_version()},
#if defined(__clang__)
        {"compiler", "clang " __clang_version__},
#else
        {"compiler", "gcc " __VERSION__},
#endif
        {"kernels", kernels},
        {"mpi", cli_ranks_version()},
        {"sandbox", cli_sandbox_version()},
        {"sources", doors},
        {"jansson", jansson_version_str()},
        {"libsodium", sodium_version_string()},
        {"libyaml", yaml_get_version_string()},
    };
    size_t count = sizeof rows / sizeof *rows;
    if (fplt_settings_switch(cli->settings, "json")) {
        json_t *object = json_object();
        for (size_t i = 0; i < count; i++)
            json_object_set_new(object, rows[i].name, json_string(rows[i].value));
        return cli_print_json(object, error);
    }
    for (size_t i = 0; i < count; i++)
        printf("%-10s %s\n", rows[i].name, rows[i].value);
    return FPLT_OK;
}

const cli_command cli_version[] = {
    {.name = "version",
     .summary = "version, compiler, kernels and libraries",
     .arguments = "",
     .about = "Prints the version of the program and what it was built with and runs on.",
     .examples = "fedplt version\nfedplt version --json",
     .declare = declare,
     .run = run_version},
    {.name = NULL},
};
