/* The filter of system calls of coordinator and agent, by libseccomp.
 *
 * A list of refused calls, not of allowed ones: the process loads libraries that choose their calls themselves (libcurl,
 * name service modules, libpq, ODBC drivers), and an update of the C library must not stop a hospital's agent. The units of
 * systemd have a list of allowed calls around it, which cannot refuse execve: the manager starts the program with it. */
#include "sandbox.h"

#include "modules.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

const fplt_setting cli_sandbox_table[] = {
    {"sandbox", FPLT_CHOICE, 0, "auto", 0, 0, "auto|on|off",
     "refuse system calls that this process never needs (seccomp); auto: where it can be done", 0,
     0},
    FPLT_SETTINGS_END,
};

#if CLI_SECCOMP && !SANITIZED /* LeakSanitizer clones a process that traces this one */

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* By name, because the headers of an older kernel do not have all numbers. A name that libseccomp or the processor does not
 * know is left out. */
static const char *const refused[] = {
    /* other programs */
    "execve", "execveat", "fork", "vfork",
    /* other processes */
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd",
    "pidfd_open", "kcmp",
    /* system calls that this filter would not see */
    "io_uring_setup", "io_uring_enter", "io_uring_register", "seccomp",
    /* the kernel's own programs, modules, events, keys */
    "bpf", "perf_event_open", "userfaultfd", "init_module", "finit_module", "delete_module",
    "kexec_load", "kexec_file_load", "add_key", "request_key", "keyctl", "lookup_dcookie",
    /* namespaces, mounts, roots */
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount",
    "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at",
    "name_to_handle_at",
    /* users, rights, machine */
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid",
    "setfsgid", "capset", "personality", "sethostname", "setdomainname", "reboot", "swapon",
    "swapoff", "acct", "quotactl", "syslog", "vhangup", "iopl", "ioperm", "modify_ldt",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "mknod", "mknodat", "nfsservctl",
    "_sysctl", "sysfs", "uselib", "ustat"};

static int refuse(scmp_filter_ctx filter, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR)
        return 0;
    int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    return failed == -EDOM ? 0 : failed; /* not a call of this processor */
}

/* Threads are clones with CLONE_THREAD. The flags of clone3 are in memory, where a filter cannot see them: the C library
 * uses clone where clone3 does not exist. */
static int refuse_processes(scmp_filter_ctx filter)
{
    int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    return failed;
}

/* Modules are mapped readable and executable from files, which stays legal. */
static int refuse_written_code(scmp_filter_ctx filter)
{
    int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mmap), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC,
                                          PROT_WRITE | PROT_EXEC));
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mprotect), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC));
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(pkey_mprotect), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC));
    return failed;
}

/* Sockets of other families than UNIX, internet and NETLINK, which the C library asks for addresses of this machine. */
static int refuse_families(scmp_filter_ctx filter)
{
    int failed = 0;
    for (int family = 0; family < AF_NETLINK && !failed; family++)
        if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
            failed =
                seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                 SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, (scmp_datum_t)family));
    if (!failed)
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
    return failed;
}

static int load_filter(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return -ENOMEM;
    int failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary search */
    if (failed == -EOPNOTSUPP || failed == -EINVAL)                     /* libseccomp before 2.5 */
        failed = 0;
    for (size_t i = 0; i < sizeof refused / sizeof *refused && !failed; i++)
        failed = refuse(filter, refused[i]);
    if (!failed)
        failed = refuse_processes(filter);
    if (!failed)
        failed = refuse_written_code(filter);
    if (!failed)
        failed = refuse_families(filter);
    if (!failed)
        failed = seccomp_load(filter);
    seccomp_release(filter);
    return failed;
}

fplt_status cli_sandbox_enter(const char *word, fplt_error *error)
{
    if (strcmp(word, "off") == 0)
        return FPLT_OK;
    int failed = load_filter();
    if (!failed || strcmp(word, "auto") == 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_IO,
                          "sandbox: on, and the kernel refuses a filter of system calls (%s); a "
                          "kernel with CONFIG_SECCOMP_FILTER is needed, or --sandbox off",
                          strerror(-failed));
}

const char *cli_sandbox_version(void)
{
    static char text[32];
    const struct scmp_version *found = seccomp_version();
    snprintf(text, sizeof text, "%u.%u.%u", found->major, found->minor, found->micro);
    return text;
}

#else

#include <string.h>

fplt_status cli_sandbox_enter(const char *word, fplt_error *error)
{
    if (strcmp(word, "on") != 0)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_UNSUPPORTED,
                          "sandbox: on, and this program was built without a filter of system "
                          "calls; build it with libseccomp and without sanitizers, or say "
                          "--sandbox auto");
}

const char *cli_sandbox_version(void)
{
    return "not built in";
}

#endif
