/* Makes, under the filter of cli/sandbox.c, the calls that it refuses and those that it must leave. Speaks TAP. */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../cli/sandbox.h"

enum { CASES = 25 };
static int number, failures;

static void report(int holds, const char *label)
{
    printf("%sok %d - %s (%s)\n", holds ? "" : "not ", ++number, label, strerror(errno));
    failures += !holds;
}

static int starts_program(void)
{
    char name[] = "true", *words[] = {name, NULL};
    pid_t child;
    int status = 0, failed = posix_spawn(&child, "/bin/true", NULL, NULL, words, words + 1);
    errno = failed;
    return !failed && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* 0: the call succeeded and was undone. */
static int execute(void)
{
    char name[] = "true", *words[] = {name, NULL};
    execve("/bin/true", words, words + 1);
    return errno;
}

static int map(int protection)
{
    void *page = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return errno;
    munmap(page, 4096);
    return 0;
}

static int make_executable(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int failed = mprotect(page, 4096, PROT_READ | PROT_EXEC) ? errno : 0;
    munmap(page, 4096);
    return failed;
}

static int open_socket(int family)
{
    int made = socket(family, SOCK_DGRAM, 0);
    if (made < 0)
        return errno;
    close(made);
    return 0;
}

static void *execute_in_thread(void *result)
{
    *(int *)result = execute();
    return NULL;
}

static void try_refused(void)
{
    static const struct {
        const char *name;
        long call;
    } others[] = {{"unshare", SYS_unshare}, {"io_uring_setup", SYS_io_uring_setup},
                  {"bpf", SYS_bpf},         {"keyctl", SYS_keyctl},
                  {"setns", SYS_setns},     {"mount", SYS_mount},
                  {"kcmp", SYS_kcmp},       {"process_vm_readv", SYS_process_vm_readv}};
    report(execute() == EPERM, "execve is refused");
    report(!starts_program() && errno == EPERM, "posix_spawn is refused");
    report(fork() < 0 && errno == EPERM, "fork is refused");
    report(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS, "clone3 does not exist");
    report(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM, "ptrace is refused");
    report(map(PROT_READ | PROT_WRITE | PROT_EXEC) == EPERM,
           "memory is not writable and executable");
    report(make_executable() == EPERM, "written memory does not become executable");
    report(open_socket(AF_PACKET) == EAFNOSUPPORT, "packet sockets are refused");
    report(open_socket(38) == EAFNOSUPPORT, "sockets of the kernel's ciphers are refused");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        report(syscall(others[i].call, 0, 0, 0, 0, 0, 0) < 0 && errno == EPERM, others[i].name);
}

static void try_allowed(void)
{
    pthread_t thread;
    int result = 0;
    struct addrinfo *found = NULL;
    report(!pthread_create(&thread, NULL, execute_in_thread, &result) &&
               !pthread_join(thread, NULL),
           "threads are started");
    report(result == EPERM, "and have the filter");
    report(!open_socket(AF_UNIX) && !open_socket(AF_INET) && !open_socket(AF_NETLINK),
           "sockets of UNIX, internet and NETLINK are made");
    report(getaddrinfo("localhost", "7443", NULL, &found) == 0, "names are resolved");
    if (found)
        freeaddrinfo(found);
    report(dlopen("libz.so.1", RTLD_NOW) != NULL, "modules are loaded");
}

int main(void)
{
    fplt_error error = {FPLT_OK, ""};
    if (strcmp(cli_sandbox_version(), "not built in") == 0) {
        printf("1..0 # SKIP libseccomp is not built in, or a sanitizer is\n");
        return 0;
    }
    /* first, because a filter with a hole replaces this process by another program */
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%d\n", CASES);
    report(starts_program() && map(PROT_READ | PROT_WRITE | PROT_EXEC) == 0,
           "without the filter programs are started and memory is executable");
    report(cli_sandbox_enter("off", &error) == FPLT_OK && starts_program(),
           "off: nothing is refused");
    report(cli_sandbox_enter("on", &error) == FPLT_OK, "the kernel takes the filter");
    try_refused();
    try_allowed();
    return failures != 0 || number != CASES;
}
