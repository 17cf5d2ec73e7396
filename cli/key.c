/* fedplt key: keys that sign certificates. */
#include "fedplt/key.h"

#include "cli.h"

static fplt_status run_create(cli_call *cli, fplt_error *error)
{
    const char *name = cli->arguments[0];
    fplt_key key;
    cli->running = 1;
    fplt_status status = fplt_key_create(name, &key, error);
    if (status)
        return status;
    printf("%s.key  signs: keep it secret\n%s.pub  checks: give it to those who verify\n", name,
           name);
    fplt_key_clear(&key);
    return FPLT_OK;
}

const cli_command cli_key[] = {
    {.name = "key create",
     .summary = "make a key that signs certificates",
     .arguments = "NAME",
     .about = "Writes an Ed25519 pair: NAME.key, which train --sign uses and only its owner may "
              "read, and NAME.pub, which privacy verify --trust asks for. Files that are there are "
              "never replaced. A signature shows that the holder of the key stands behind a "
              "certificate, not that the run was as the certificate says.",
     .examples = "fedplt key create hospital",
     .least = 1,
     .most = 1,
     .run = run_create},
    {.name = NULL},
};
