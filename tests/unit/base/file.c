/* Files appear whole or not at all. */
#include "testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
    assert_ok(fplt__file_read(path, 1 << 20, &text, &got, &error), error);
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
    assert_ok(fplt__file_save(path, 0666, "old", 3, &error), error);
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
    assert_int_equal(fplt__file_read(folder, 100, &text, &length, &error), FPLT_IO);
    assert_contains(error.text, "this is a folder");
    assert_int_equal(fplt__file_read("/there/is/none", 100, &text, &length, &error), FPLT_IO);
    assert_contains(error.text, "cannot open");
    assert_ok(fplt__file_save(path, 0666, "0123456789", 10, &error), error);
    assert_ok(fplt__file_read(path, 10, &text, &length, &error), error);
    fplt__free(text);
    assert_int_equal(fplt__file_read(path, 9, &text, &length, &error), FPLT_IO);
    assert_contains(error.text, "10 bytes, but at most 9 bytes are read");
    assert_null(text);
    /* endless, and without a size beforehand */
    assert_int_equal(fplt__file_read("/dev/zero", 100000, &text, &length, &error), FPLT_IO);
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
    assert_ok(fplt__file_read(name, 1 << 20, &text, &length, &error), error);
    pthread_join(thread, NULL);
    assert_int_equal(length, 10000);
    fplt__free(text);
    close(ends[0]);
}

static mode_t mode_of(const char *name)
{
    struct stat about;
    assert_int_equal(lstat(name, &about), 0);
    return about.st_mode;
}

static void links_and_modes_stay(void **state)
{
    (void)state;
    char link[160];
    fplt_error error;
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("some.txt", link), 0); /* leads nowhere yet */
    assert_ok(fplt__file_save(link, 0666, "one", 3, &error), error);
    assert_holds("one", 3);
    assert_int_equal(chmod(path, 0640), 0);
    assert_ok(fplt__file_save(link, 0666, "two", 3, &error), error);
    assert_holds("two", 3);
    assert_true(S_ISLNK(mode_of(link)));
    assert_int_equal(mode_of(path) & 07777, 0640);
    assert_true(fplt__file_same(link, path));
    unlink(link);
    assert_int_equal(symlink("link", link), 0);
    assert_int_equal(fplt__file_save(link, 0666, "x", 1, &error), FPLT_IO);
    assert_contains(error.text, "without an end");
    unlink(link);
    assert_int_equal(entries(), 1);
}

static void devices_and_pipes_are_not_replaced(void **state)
{
    (void)state;
    fplt_error error;
    assert_int_equal(mkfifo(path, 0600), 0);
    int handle = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(handle >= 0);
    assert_ok(fplt__file_save(path, 0666, "through", 7, &error), error);
    char got[8] = "";
    assert_int_equal(read(handle, got, 7), 7);
    assert_string_equal(got, "through");
    close(handle);
    assert_true(S_ISFIFO(mode_of(path)));
    assert_ok(fplt__file_save("/dev/null", 0666, "away", 4, &error), error);
    assert_true(S_ISCHR(mode_of("/dev/null")));
    assert_int_equal(fplt__file_save(folder, 0666, "x", 1, &error), FPLT_IO);
    assert_contains(error.text, "this is a folder");
}

/* What a killed process leaves goes with the next file; what another process writes stays. */
static void leftovers_are_removed(void **state)
{
    (void)state;
    char other[192];
    fplt_error error;
    fplt__file *file;
    pid_t child = fork();
    if (child == 0) {
        if (fplt__file_open(path, 0666, &file, NULL) || fplt__file_write(file, "half", 4, NULL))
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
    assert_int_equal(entries(), 1);
    snprintf(other, sizeof other, "%s.note.tmp", path);
    assert_int_equal(close(open(other, O_CREAT | O_WRONLY, 0600)), 0);
    fplt__file *alive;
    assert_ok(fplt__file_open(path, 0666, &alive, &error), error);
    assert_ok(fplt__file_save(path, 0666, "whole", 5, &error), error);
    assert_holds("whole", 5);
    assert_int_equal(entries(), 3); /* the file, the note, the one that is being written */
    assert_ok(fplt__file_commit(alive, &error), error);
    assert_holds("", 0);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(entries(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_replaced_only_by_commit, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(sizes_around_the_buffer, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(failures_have_sentences, make_folder, remove_folder),
        cmocka_unit_test(pipes_can_be_read),
        cmocka_unit_test_setup_teardown(links_and_modes_stay, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(devices_and_pipes_are_not_replaced, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(leftovers_are_removed, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
