/* What an agent was told while a run forms, on disk: after a restart between two steps of the facts it is not told again. The
 * file columns.txt (the dictionary) or prepared.txt (what fills missing values, and the rows of classes) has the proposal's
 * hash in its first line and the text after it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/file.h"
#include "federation/agent/agent.h"
#include "wire/dictionary.h"

static void name_file(const char *folder, const char *what, char path[4200])
{
    snprintf(path, 4200, "%s/%s.txt", folder, what);
}

fplt_status fplt__kept_save(const char *folder, const char *what, const fplt__digest *proposal,
                            const char *kept, fplt_error *error)
{
    char path[4200], hash[FPLT__HEX];
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    name_file(folder, what, path);
    fplt__hex(proposal, sizeof *proposal, hash);
    fplt__buffer_add(&text, hash);
    fplt__buffer_add(&text, "\n");
    fplt__buffer_add(&text, kept);
    fplt_status status =
        text.status ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for names of columns")
                    : fplt__file_save(path, 0600, text.text, text.length, error);
    fplt__buffer_clear(&text);
    return status;
}

fplt_status fplt__kept_load(const char *folder, const char *what, const fplt__digest *proposal,
                            char **kept, fplt_error *error)
{
    char path[4200], hash[FPLT__HEX], *text = NULL;
    size_t size = 0;
    *kept = NULL;
    name_file(folder, what, path);
    if (access(path, F_OK))
        return FPLT_OK;
    fplt_status status =
        fplt__file_read(path, FPLT__DICTIONARY_MAX_TEXT + FPLT__HEX, &text, &size, error);
    if (status)
        return status;
    fplt__hex(proposal, sizeof *proposal, hash);
    if (size >= FPLT__HEX && memcmp(text, hash, FPLT__HEX - 1) == 0 &&
        text[FPLT__HEX - 1] == '\n') {
        *kept = fplt__strdup(text + FPLT__HEX);
        if (!*kept)
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for names of columns");
    }
    fplt_free(text);
    return status;
}
