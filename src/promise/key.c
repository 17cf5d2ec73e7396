/* Key files: one line, a word that says what it is and the key in hexadecimal digits. */
#include "promise/key.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static const char secret_word[] = "fedplt-secret-key ", public_word[] = "fedplt-public-key ";

enum { LONGEST_PATH = 4096, LONGEST_FILE = 4096 };

static fplt_status start(fplt_error *error)
{
    return sodium_init() < 0
               ? fplt_error_set(error, FPLT_FAILED, "libsodium could not be initialised")
               : FPLT_OK;
}

static fplt_status write_key(const char *path, unsigned mode, const char *word,
                             const unsigned char *bytes, size_t count, fplt_error *error)
{
    char text[sizeof secret_word + 2 * FPLT_KEY_SECRET + 2];
    size_t length = strlen(word);
    memcpy(text, word, length);
    sodium_bin2hex(text + length, sizeof text - length, bytes, count);
    length += 2 * count;
    text[length++] = '\n';
    fplt_status status = fplt__file_save(path, mode, text, length, error);
    sodium_memzero(text, sizeof text);
    return status;
}

fplt_status fplt_key_create(const char *name, fplt_key *key, fplt_error *error)
{
    char paths[2][LONGEST_PATH];
    fplt_status status = start(error);
    if (status)
        return status;
    for (int i = 0; i < 2; i++) {
        int length = snprintf(paths[i], LONGEST_PATH, "%s%s", name, i ? ".pub" : ".key");
        if (length >= LONGEST_PATH)
            return fplt_error_set(error, FPLT_BAD_VALUE, "the name of the key is too long");
        if (access(paths[i], F_OK) == 0)
            return fplt_error_set(error, FPLT_IO,
                                  "%s: this file is there already; a key is never replaced: take "
                                  "another name",
                                  paths[i]);
    }
    crypto_sign_keypair(key->visible, key->secret);
    key->can_sign = 1;
    if ((status = write_key(paths[0], 0600, secret_word, key->secret, FPLT_KEY_SECRET, error)))
        return status;
    status = write_key(paths[1], 0666, public_word, key->visible, FPLT_KEY_PUBLIC, error);
    if (status)
        unlink(paths[0]);
    return status;
}

/* The digits behind the word, and a line's end. */
static int parse(const char *text, const char *word, unsigned char *bytes, size_t count)
{
    size_t length = strlen(word), found;
    const char *end;
    if (strncmp(text, word, length) != 0 ||
        sodium_hex2bin(bytes, count, text + length, 2 * count, NULL, &found, &end) != 0)
        return 0;
    return found == count && end == text + length + 2 * count && (!*end || strcmp(end, "\n") == 0);
}

static fplt_status check_mode(const char *path, fplt_error *error)
{
    struct stat found;
    if (stat(path, &found) || !(found.st_mode & 077))
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_DATA,
                          "%s: others can use this secret key (mode %03o); make it yours alone "
                          "with chmod 600",
                          path, (unsigned)found.st_mode & 0777);
}

fplt_status fplt_key_read(const char *path, fplt_key *key, fplt_error *error)
{
    char *text;
    size_t length;
    fplt_status status = start(error);
    memset(key, 0, sizeof *key);
    if (status || (status = fplt__file_read(path, LONGEST_FILE, &text, &length, error)))
        return status;
    if (parse(text, secret_word, key->secret, FPLT_KEY_SECRET)) {
        crypto_sign_ed25519_sk_to_pk(key->visible, key->secret);
        key->can_sign = 1;
        status = check_mode(path, error);
    } else if (!parse(text, public_word, key->visible, FPLT_KEY_PUBLIC)) {
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s: this is no key: it must be one line as fedplt key create "
                                "writes it",
                                path);
    }
    sodium_memzero(text, length);
    fplt__free(text);
    if (status)
        fplt_key_clear(key);
    return status;
}

fplt_status fplt__key_of_folder(const char *folder, fplt_key *key, fplt_error *error)
{
    char name[LONGEST_PATH], path[LONGEST_PATH + 8];
    if (snprintf(name, sizeof name, "%s/signing", folder) >= LONGEST_PATH)
        return fplt_error_set(error, FPLT_BAD_VALUE, "the name of the folder is too long");
    snprintf(path, sizeof path, "%s.key", name);
    return access(path, F_OK) == 0 ? fplt_key_read(path, key, error)
                                   : fplt_key_create(name, key, error);
}

void fplt_key_clear(fplt_key *key)
{
    sodium_memzero(key, sizeof *key);
}
