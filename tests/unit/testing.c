/* cmocka 1.1 writes a skipped case as `not ok N # SKIP name`. TAP wants `ok N - name # SKIP reason`:
 * a child process reads what the tests write and says it so, and goes on when the tests crash. */
#include "testing.h"

#include <strings.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#endif

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

/* Whether cases are drawn, and the seed. */
static int draws_cases(uint64_t *seed)
{
#ifdef SLOW
    static uint64_t drawn;
    const char *words = getenv("FEDPLT_TESTS");
    if (words && strcmp(words, "all") == 0)
        return 0;
    if (!drawn) {
        drawn = words && *words ? strtoull(words, NULL, 10) : (uint64_t)time(NULL);
        print_message("# one case in five by FEDPLT_TESTS=%llu\n", (unsigned long long)drawn);
    }
    *seed = drawn;
    return 1;
#else
    (void)seed;
    return 0;
#endif
}

int testing_takes(uint64_t index)
{
    uint64_t seed;
    if (!draws_cases(&seed))
        return 1;
    uint64_t bits = seed + (index + 1) * UINT64_C(0x9E3779B97F4A7C15); /* as in SplitMix64 */
    bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
    return (bits ^ bits >> 31) % 5 == 0;
}

size_t testing_length(size_t length)
{
    uint64_t seed;
    return draws_cases(&seed) ? (length + 4) / 5 : length;
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
