/* A folder holds one run whole, whenever a process is killed, and nobody else's files are lost. */
#include "testing.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "fedplt/memory.h"

static const char *const owned[] = {"old.json", NULL};
static char top[64], out[80];

static int make_top(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "/tmp/fedplt-folder-XXXXXX");
    if (!mkdtemp(top))
        return -1;
    snprintf(out, sizeof out, "%s/out", top);
    return mkdir(out, 0750);
}

static int remove_top(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", top);
    return system(command);
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[256];
    fplt_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(fplt__file_save(path, 0666, text, strlen(text), &error), error);
}

/* Empty where it is not there. */
static const char *get(const char *name)
{
    static char found[64];
    char path[256], *text;
    size_t length;
    snprintf(path, sizeof path, "%s/%s", out, name);
    found[0] = 0;
    if (fplt__file_read(path, 63, &text, &length, NULL))
        return found;
    memcpy(found, text, length + 1);
    fplt_free(text);
    return found;
}

static size_t count(const char *folder)
{
    size_t found = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry = readdir(open); entry; entry = readdir(open))
        found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(open);
    return found;
}

static void write_run(const char *first, const char *second, const char *text)
{
    fplt__folder *folder;
    fplt_error error;
    assert_ok(fplt__folder_begin(out, owned, &folder, &error), error);
    put(fplt__folder_place(folder), first, text);
    put(fplt__folder_place(folder), second, text);
    assert_ok(fplt__folder_commit(folder, &error), error);
}

static void a_run_takes_the_place_of_another(void **state)
{
    (void)state;
    struct stat about;
    put(out, "old.json", "before manifests");
    put(out, "mine", "kept");
    char inner[128];
    snprintf(inner, sizeof inner, "%s/inner", out);
    assert_int_equal(mkdir(inner, 0777), 0);
    write_run("a", "b", "1");
    assert_string_equal(get("old.json"), "");
    assert_string_equal(get("mine"), "kept");
    assert_string_equal(get("manifest.txt"), "a\nb\nmanifest.txt\n");
    write_run("b", "c", "2");
    assert_string_equal(get("a"), "");
    assert_string_equal(get("b"), "2");
    assert_string_equal(get("mine"), "kept");
    assert_int_equal(access(inner, F_OK), 0);
    assert_int_equal(count(out), 5);
    assert_int_equal(count(top), 1);
    assert_int_equal(stat(out, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0750);
}

static void nothing_happens_before_the_end(void **state)
{
    (void)state;
    fplt__folder *folder;
    fplt_error error;
    write_run("a", "b", "1");
    assert_ok(fplt__folder_begin(out, owned, &folder, &error), error);
    put(fplt__folder_place(folder), "a", "2");
    assert_string_equal(get("a"), "1");
    fplt__folder_abort(folder);
    assert_string_equal(get("a"), "1");
    assert_int_equal(count(top), 1);
}

static void the_working_directory_stays(void **state)
{
    (void)state;
    char before[256];
    assert_non_null(getcwd(before, sizeof before));
    write_run("a", "b", "1");
    put(out, "mine", "kept");
    assert_int_equal(chdir(out), 0);
    write_run("b", "c", "2");
    assert_int_equal(access("c", F_OK), 0);
    assert_int_equal(chdir(before), 0);
    assert_string_equal(get("a"), "");
    assert_string_equal(get("mine"), "kept");
    assert_int_equal(count(top), 1);
}

/* Runs one after the other with odd files a, b and even ones b, c, until it is killed. */
static void write_for_ever(void)
{
    for (unsigned i = 1;; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        write_run(i % 2 ? "a" : "b", i % 2 ? "b" : "c", text);
    }
}

static void killed_at_any_time(void **state)
{
    (void)state;
    write_run("a", "b", "1");
    put(out, "mine", "kept");
    for (int trial = 0; trial < 40; trial++) {
        int how;
        pid_t child = fork();
        if (child == 0)
            write_for_ever();
        struct timespec wait = {0, 1000000 + (trial * 7919 % 64) * 50021};
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &how, 0), child);
        int odd = atoi(get("b")) % 2;
        char b[64];
        snprintf(b, sizeof b, "%s", get("b"));
        assert_string_equal(get(odd ? "a" : "c"), b);
        assert_string_equal(get(odd ? "c" : "a"), "");
        write_run("a", "b", "1"); /* tidies */
        assert_string_equal(get("mine"), "kept");
        assert_int_equal(count(out), 4);
        assert_int_equal(count(top), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_takes_the_place_of_another, make_top, remove_top),
        cmocka_unit_test_setup_teardown(nothing_happens_before_the_end, make_top, remove_top),
        cmocka_unit_test_setup_teardown(the_working_directory_stays, make_top, remove_top),
        cmocka_unit_test_setup_teardown(killed_at_any_time, make_top, remove_top),
    };
    return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
