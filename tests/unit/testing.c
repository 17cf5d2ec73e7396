/* cmocka 1.1 writes a skipped case as `not ok N # SKIP name`. TAP wants `ok N - name # SKIP reason`:
 * a child process reads what the tests write and says it so, and goes on when the tests crash. */
#include "testing.h"

#include <strings.h>
#include <sys/wait.h>

#undef _cmocka_run_group_tests

static void rewrite(FILE *in)
{
    char line[4096], reason[4096] = "";
    while (fgets(line, sizeof line, in)) {
        unsigned number;
        int begin = 0;
        sscanf(line, "not ok %u # SKIP %n", &number, &begin);
        if (strncmp(line, "skipped: ", 9) == 0) {
            snprintf(reason, sizeof reason, "%s", line + 9);
        } else if (begin) {
            line[strcspn(line, "\n")] = 0;
            printf("ok %u - %s # SKIP %s", number, line + begin, *reason ? reason : "\n");
            *reason = 0;
        } else {
            fputs(line, stdout);
        }
        fflush(stdout);
    }
}

/* The process that rewrites; 0 where nothing is to be rewritten. */
static pid_t begin_rewriting(void)
{
    const char *output = getenv("CMOCKA_MESSAGE_OUTPUT");
    int ends[2];
    if (!output || strcasecmp(output, "TAP") != 0 || pipe(ends))
        return 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        rewrite(fdopen(ends[0], "r"));
        _exit(0);
    }
    if (child > 0)
        dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    return child > 0 ? child : 0;
}

int testing_run(const char *name, const struct CMUnitTest *tests, size_t count,
                CMFixtureFunction setup, CMFixtureFunction teardown)
{
    pid_t child = begin_rewriting();
    int failed = _cmocka_run_group_tests(name, tests, count, setup, teardown);
    if (child) {
        fflush(stdout);
        close(STDOUT_FILENO);
        waitpid(child, NULL, 0);
    }
    return failed;
}
