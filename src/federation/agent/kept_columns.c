/* The columns that were settled while a run forms, on disk: an agent that is restarted between two steps of the facts is
 * not told them again. The file columns.txt has the proposal's hash in its first line and the dictionary after it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "fedplt/file.h"
#include "federation/agent/agent.h"
#include "wire/dictionary.h"

static void name_file(const char *folder, char path[4200])
{
    snprintf(path, 4200, "%s/columns.txt", folder);
}

fplt_status fplt__kept_columns_save(const char *folder, const fplt__digest *proposal,
                                    const char *dictionary, fplt_error *error)
{
    char path[4200], hash[FPLT__HEX];
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    name_file(folder, path);
    fplt__hex(proposal, sizeof *proposal, hash);
    fplt__buffer_add(&text, hash);
    fplt__buffer_add(&text, "\n");
    fplt__buffer_add(&text, dictionary);
    fplt_status status =
        text.status ? fplt_error_set(error, FPLT_NO_MEMORY, "no memory for names of columns")
                    : fplt_file_save(path, 0600, text.text, text.length, error);
    fplt__buffer_clear(&text);
    return status;
}

fplt_status fplt__kept_columns_load(const char *folder, const fplt__digest *proposal,
                                    char **dictionary, fplt_error *error)
{
    char path[4200], hash[FPLT__HEX], *text = NULL;
    size_t size = 0;
    *dictionary = NULL;
    name_file(folder, path);
    if (access(path, F_OK))
        return FPLT_OK;
    fplt_status status =
        fplt_file_read(path, FPLT__DICTIONARY_MAX_TEXT + FPLT__HEX, &text, &size, error);
    if (status)
        return status;
    fplt__hex(proposal, sizeof *proposal, hash);
    if (size >= FPLT__HEX && memcmp(text, hash, FPLT__HEX - 1) == 0 &&
        text[FPLT__HEX - 1] == '\n') {
        *dictionary = fplt__strdup(text + FPLT__HEX);
        if (!*dictionary)
            status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for names of columns");
    }
    fplt_free(text);
    return status;
}
