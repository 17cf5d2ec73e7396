/* Files appear whole or not at all. */
#include "testing.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

static char folder[64], path[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fedplt-file-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/some.txt", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static size_t entries(void)
{
    size_t count = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry = readdir(open); entry; entry = readdir(open))
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

static void assert_holds(const char *expected, size_t length)
{
    char *text;
    size_t got;
    fplt_error error;
    assert_ok(fplt_file_read(path, 1 << 20, &text, &got, &error), error);
    assert_int_equal(got, length);
    assert_memory_equal(text, expected, length);
    assert_int_equal(text[length], 0);
    fplt__free(text);
}

static void a_file_is_replaced_only_by_commit(void **state)
{
    (void)state;
    fplt_error error;
    fplt__file *file;
    assert_ok(fplt_file_save(path, 0666, "old", 3, &error), error);
    assert_ok(fplt__file_open(path, 0600, &file, &error), error);
    assert_ok(fplt__file_write(file, "new", 3, &error), error);
    assert_holds("old", 3);
    assert_int_equal(entries(), 2);
    fplt__file_abort(file);
    assert_holds("old", 3);
    assert_int_equal(entries(), 1);
    assert_ok(fplt__file_open(path, 0600, &file, &error), error);
    assert_ok(fplt__file_write(file, "new", 3, &error), error);
    assert_ok(fplt__file_write(file, "er", 2, &error), error);
    assert_ok(fplt__file_commit(file, &error), error);
    assert_holds("newer", 5);
    assert_int_equal(entries(), 1);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    fplt__file_abort(NULL);
}

static void sizes_around_the_buffer(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200000};
    char *bytes = malloc(400000);
    assert_non_null(bytes);
    for (size_t i = 0; i < 400000; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            fplt_error error;
            fplt__file *file;
            assert_ok(fplt__file_open(path, 0666, &file, &error), error);
            assert_ok(fplt__file_write(file, bytes, sizes[i], &error), error);
            assert_ok(fplt__file_write(file, bytes + sizes[i], sizes[j], &error), error);
            assert_ok(fplt__file_commit(file, &error), error);
            assert_holds(bytes, sizes[i] + sizes[j]);
        }
    free(bytes);
}

static void failures_have_sentences(void **state)
{
    (void)state;
    fplt_error error;
    fplt__file *file;
    char *text;
    size_t length;
    assert_int_equal(fplt__file_open("/there/is/no/folder", 0666, &file, &error), FPLT_IO);
    assert_contains(error.text, "/there/is/no/folder: cannot write here: No such file");
    assert_int_equal(fplt_file_read(folder, 100, &text, &length, &error), FPLT_IO);
    assert_contains(error.text, "this is a folder");
    assert_int_equal(fplt_file_read("/there/is/none", 100, &text, &length, &error), FPLT_IO);
    assert_contains(error.text, "cannot open");
    assert_ok(fplt_file_save(path, 0666, "0123456789", 10, &error), error);
    assert_ok(fplt_file_read(path, 10, &text, &length, &error), error);
    fplt__free(text);
    assert_int_equal(fplt_file_read(path, 9, &text, &length, &error), FPLT_IO);
    assert_contains(error.text, "10 bytes, but at most 9 bytes are read");
    assert_null(text);
    /* endless, and without a size beforehand */
    assert_int_equal(fplt_file_read("/dev/zero", 100000, &text, &length, &error), FPLT_IO);
    assert_contains(error.text, "longer than 100000 bytes");
}

static void *pour(void *argument)
{
    int handle = *(int *)argument;
    for (int i = 0; i < 1000; i++)
        if (write(handle, "0123456789", 10) != 10)
            break;
    close(handle);
    return NULL;
}

static void pipes_can_be_read(void **state)
{
    (void)state;
    int ends[2];
    char name[64], *text;
    size_t length;
    fplt_error error;
    pthread_t thread;
    assert_int_equal(pipe(ends), 0);
    pthread_create(&thread, NULL, pour, &ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_ok(fplt_file_read(name, 1 << 20, &text, &length, &error), error);
    pthread_join(thread, NULL);
    assert_int_equal(length, 10000);
    fplt__free(text);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_replaced_only_by_commit, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(sizes_around_the_buffer, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(failures_have_sentences, make_folder, remove_folder),
        cmocka_unit_test(pipes_can_be_read),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
