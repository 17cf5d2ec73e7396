/* Every command, from the list in cli/meson.build. */
#include <string.h>

#include "cli.h"
#include "commands.h"

#define DECLARE(name) extern const cli_command cli_##name[];
CLI_COMMANDS(DECLARE)

#define LISTED(name) cli_##name,
static const cli_command *const files[] = {CLI_COMMANDS(LISTED)};

const cli_command *cli_command_at(size_t index)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (const cli_command *c = files[i]; c->name; c++)
            if (index-- == 0)
                return c;
    return NULL;
}

const cli_command *cli_command_find(const char *name)
{
    const cli_command *c;
    for (size_t i = 0; (c = cli_command_at(i)); i++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}
