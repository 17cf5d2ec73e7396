/* Processes that MPI started. MPI itself is in a module that is loaded when it is asked for, so that
 * every other call starts as quickly as without it. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "base/module.h"
#include "modules.h"
#include "fedplt/ranks.h"

static const fplt_ranks_module *module;

/* What the launchers of Open MPI and PMIx say of this process; NULL: nothing. */
static const char *said(const char *open_mpi, const char *pmix)
{
    const char *text = getenv(open_mpi);
    return text ? text : pmix ? getenv(pmix) : NULL;
}

void cli_ranks_hush(void)
{
    const char *number = said("OMPI_COMM_WORLD_RANK", "PMIX_RANK");
    if (number && atoi(number) > 0)
        cli_hush();
}

const char *cli_ranks_version(void)
{
    return *CLI_MPI ? "Open MPI " CLI_MPI : "not built in";
}

int cli_leads(const cli_call *cli)
{
    return !cli->ranks || cli->ranks->number == 0;
}

static fplt_status start(cli_call *cli, fplt_error *error)
{
    if (!*CLI_MPI)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "engine is mpi, but this fedplt was built without MPI: install "
                              "libopenmpi-dev and build it again");
    module = fplt__module_load("mpi", FPLT_RANKS_MODULE, 1, error);
    if (!module)
        return FPLT_UNSUPPORTED;
    if (module->size != sizeof *module)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "engine is mpi, but its module is of another fedplt");
    cli->ranks = module->begin();
    if (!cli->ranks)
        return fplt_error_set(error, FPLT_FAILED, "MPI could not be started");
    if (cli->ranks->number)
        cli_hush();
    return FPLT_OK;
}

fplt_status cli_ranks_begin(cli_call *cli, fplt_error *error)
{
    const char *count = said("OMPI_COMM_WORLD_SIZE", NULL);
    if (!cli->command->spreads)
        return FPLT_OK;
    if (strcmp(fplt_settings_text(cli->settings, "engine"), "mpi") == 0)
        return start(cli, error);
    if (count && atoi(count) > 1)
        return fplt_error_set(
            error, FPLT_BAD_VALUE,
            "mpirun started %s processes, but engine is threads, so that each would "
            "do the same: add --engine mpi",
            count);
    return FPLT_OK;
}

int cli_ranks_end(cli_call *cli, int exit_status)
{
    if (!cli->ranks)
        return exit_status;
    cli_signals_over(); /* where one has failed the others are sent a signal, though all is said */
    cli->ranks->share(cli->ranks->context, &exit_status, sizeof exit_status);
    module->end();
    return exit_status;
}
