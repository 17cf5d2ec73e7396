/* Files of keys: what stands in them, who may read them, and that they are never replaced. */
#include "testing.h"

#include <sodium.h>
#include <sys/stat.h>

#include "fedplt/key.h"
#include "temporary.h"

/* The file is its word, the bytes in hexadecimal and the end of the line. */
static void file_says(const char *path, const char *word, const unsigned char *bytes, size_t count)
{
    char wanted[300], got[300];
    size_t length = (size_t)snprintf(wanted, sizeof wanted, "%s", word);
    sodium_bin2hex(wanted + length, sizeof wanted - length, bytes, count);
    strcat(wanted, "\n");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(got, 1, sizeof got - 1, file);
    got[size] = 0;
    fclose(file);
    assert_string_equal(got, wanted);
}

static void a_pair_is_written_and_read(void **state)
{
    (void)state;
    fplt_error error;
    fplt_key made, secret, visible;
    char path[2][300];
    struct stat about;
    temporary file = temporary_file("", 0);
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s%s", file.path, i ? ".pub" : ".key");
    assert_ok(fplt_key_create(file.path, &made, &error), error);
    file_says(path[0], "fedplt-secret-key ", made.secret, FPLT_KEY_SECRET);
    file_says(path[1], "fedplt-public-key ", made.visible, FPLT_KEY_PUBLIC);
    assert_int_equal(stat(path[0], &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_ok(fplt_key_read(path[0], &secret, &error), error);
    assert_ok(fplt_key_read(path[1], &visible, &error), error);
    assert_true(made.can_sign && secret.can_sign && !visible.can_sign);
    assert_memory_equal(secret.secret, made.secret, FPLT_KEY_SECRET);
    assert_memory_equal(secret.visible, made.visible, FPLT_KEY_PUBLIC);
    assert_memory_equal(visible.visible, made.visible, FPLT_KEY_PUBLIC);
    assert_int_equal(fplt_key_create(file.path, &secret, &error), FPLT_IO);
    file_says(path[0], "fedplt-secret-key ", made.secret, FPLT_KEY_SECRET);
    assert_int_equal(chmod(path[0], 0644), 0);
    assert_int_not_equal(fplt_key_read(path[0], &secret, &error), FPLT_OK);
    unlink(path[0]);
    unlink(path[1]);
    unlink(file.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_is_written_and_read),
    };
    return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
