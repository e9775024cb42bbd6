// The system call filter: an allow-list, with conditions on the arguments of a few calls.
//
// What is not listed fails with EPERM. A call from another instruction set kills the process. Refused among
// others: sockets other than pairs, io_uring, bpf, userfaultfd, keyrings, perf, mounts, namespaces, ptrace and
// other processes' memory, pidfds, System V and POSIX IPC, memfds, handles, modules, clocks, user ids.
//
// A policy without `programs` allows exactly one execve, the one that starts the command: it is reported to a
// listener, which lets it pass and goes away; the kernel refuses every later one.
#include "spec.h"
#include "syscalls.h"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the sandbox's system call filter knows x86-64 and arm64"
#endif

constexpr int kCommon[] = {
    // hot ones first
    SYS_read, SYS_write, SYS_futex, SYS_recvmsg, SYS_sendmsg, SYS_recvfrom, SYS_sendto, SYS_poll, SYS_ppoll,
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_close, SYS_fstat,
    SYS_newfstatat, SYS_stat, SYS_lstat, SYS_lseek, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev,
    // files
    SYS_preadv, SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_close_range, SYS_statx,
    SYS_statfs, SYS_fstatfs, SYS_access, SYS_faccessat, SYS_faccessat2, SYS_readlink, SYS_readlinkat,
    SYS_getdents, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_dup, SYS_dup2, SYS_dup3, SYS_pipe,
    SYS_pipe2, SYS_mkdir, SYS_mkdirat, SYS_rmdir, SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat,
    SYS_renameat2, SYS_symlink, SYS_symlinkat, SYS_truncate, SYS_ftruncate, SYS_fsync, SYS_fdatasync,
    SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat,
    SYS_flock, SYS_fadvise64, SYS_readahead, SYS_copy_file_range, SYS_sendfile, SYS_umask,
    // waiting, sockets that are open already
    SYS_select, SYS_pselect6, SYS_epoll_create, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_wait,
    SYS_epoll_pwait, SYS_eventfd, SYS_eventfd2, SYS_signalfd, SYS_signalfd4, SYS_timerfd_create,
    SYS_timerfd_settime, SYS_timerfd_gettime, SYS_shutdown, SYS_getsockopt, SYS_setsockopt, SYS_getsockname,
    SYS_getpeername,
    // memory
    SYS_mremap, SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2, SYS_munlock, SYS_membarrier, SYS_mseal,
    SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,
    // threads, signals to oneself, time
    SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_set_tid_address, SYS_set_robust_list,
    SYS_get_robust_list, SYS_rseq, SYS_futex_waitv, SYS_arch_prctl, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max,
    SYS_sched_get_priority_min, SYS_getpriority, SYS_getcpu, SYS_restart_syscall, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
    SYS_sigaltstack, SYS_pause, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep,
    SYS_gettimeofday, SYS_time,
    // who and where
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid,
    SYS_getresgid, SYS_getgroups, SYS_getpgrp, SYS_getpgid, SYS_getsid, SYS_setsid, SYS_setpgid, SYS_uname,
    SYS_sysinfo, SYS_times, SYS_getrusage, SYS_getrlimit, SYS_setrlimit, SYS_capget, SYS_getrandom,
    SYS_get_mempolicy,
};
// Signals at some later time: a candidate could go on with them after its call, sooner or later by the machine's load.
constexpr int kTimers[] = {SYS_alarm, SYS_setitimer, SYS_getitimer, SYS_timer_create, SYS_timer_settime,
                           SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete};
constexpr int kPrograms[] = {SYS_fork, SYS_vfork, SYS_execve, SYS_execveat};
constexpr int kSignals[] = {SYS_kill, SYS_tgkill, SYS_tkill};
constexpr int kGpu[] = {SYS_mbind, SYS_set_mempolicy, SYS_memfd_create, SYS_mlockall, SYS_munlockall};
constexpr int kNetwork[] = {SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_sendmmsg,
                            SYS_recvmmsg};

constexpr uint32_t kTerminal[] = {0x5412 /*TIOCSTI*/, 0x540E /*TIOCSCTTY*/, 0x541C /*TIOCLINUX*/, 0x541D /*TIOCCONS*/,
                                  0x5423 /*TIOCSETD*/};
constexpr uint32_t kHarmlessIoctl[] = {0x5401 /*TCGETS*/, 0x5413 /*TIOCGWINSZ*/, 0x541B /*FIONREAD*/,
                                       0x5421 /*FIONBIO*/, 0x5450 /*FIONCLEX*/, 0x5451 /*FIOCLEX*/};
// Names of threads and mappings, and questions. Not: dumpable, parent-death signal, reaper, ptracer.
constexpr uint32_t kHarmlessPrctl[] = {3, 15, 16, 21, 23, 38, 39, 41, 42, 0x53564d41 /*PR_SET_VMA*/};
constexpr uint32_t kHarmlessFcntl[] = {0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38 /*locks of open files*/,
                                       1030 /*F_DUPFD_CLOEXEC*/, 1031, 1032 /*pipe sizes*/, 1034 /*F_GET_SEALS*/};
constexpr uint32_t kNewNamespaces = 0x7E020000;
constexpr uint32_t kMakesFile = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
constexpr uint32_t kSetId = S_ISUID | S_ISGID;

class Program {
   public:
    Program() { load(offsetof(seccomp_data, arch)); }
    void add(uint16_t code, uint32_t k, uint8_t yes = 0, uint8_t no = 0) {
        errno = E2BIG;
        check(count_ < kMax, "filter");
        code_[count_++] = {code, yes, no, k};
    }
    void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, uint32_t(offset)); }
    void load_argument(int i) { load(offsetof(seccomp_data, args) + 8u * unsigned(i)); }  // low half
    void end(uint32_t action) { add(BPF_RET | BPF_K, action); }
    void unless_equal_skip(uint32_t value, uint8_t n) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n); }
    void when(int call, uint32_t action) {
        if (call < 0) return;
        unless_equal_skip(uint32_t(call), 1);
        end(action);
    }
    // A call whose low half of an argument must be among values.
    template <size_t N>
    void when_argument(int call, int argument, const uint32_t (&values)[N], uint32_t found, uint32_t otherwise) {
        unless_equal_skip(uint32_t(call), uint8_t(2 + 2 * N));
        load_argument(argument);
        for (uint32_t value : values) {
            unless_equal_skip(value, 1);
            end(found);
        }
        end(otherwise);
    }
    // A call whose argument must have none of these bits.
    void unless_bits(int call, int argument, uint32_t bits) {
        if (call < 0) return;
        unless_equal_skip(uint32_t(call), 4);
        load_argument(argument);
        add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
        end(SECCOMP_RET_ERRNO | EPERM);
        end(SECCOMP_RET_ALLOW);
    }
    // Opening: the mode counts only where a file is made.
    void unless_creating_with(int call, int flags, int mode, uint32_t bits) {
        if (call < 0) return;
        unless_equal_skip(uint32_t(call), 6);
        load_argument(flags);
        add(BPF_JMP | BPF_JSET | BPF_K, kMakesFile, 0, 3);
        load_argument(mode);
        add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
        end(SECCOMP_RET_ERRNO | EPERM);
        end(SECCOMP_RET_ALLOW);
    }
    sock_fprog finish() { return {uint16_t(count_), code_}; }

   private:
    static constexpr int kMax = 1024;
    sock_filter code_[kMax];
    int count_ = 0;
};

constexpr uint32_t refuse(int error) { return SECCOMP_RET_ERRNO | uint32_t(error); }
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;

void add_clone(Program& p, bool programs) {
    // A new process only where programs are allowed, a new namespace never.
    p.when(SYS_clone3, refuse(ENOSYS));  // its flags are behind a pointer; C libraries fall back on clone
    p.unless_equal_skip(SYS_clone, 5);
    p.load_argument(0);
    p.add(BPF_JMP | BPF_JSET | BPF_K, kNewNamespaces, 2, 0);
    if (programs) p.add(BPF_JMP | BPF_JA, 0);
    else p.add(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
    p.end(kAllow);
    p.end(refuse(EPERM));
}

// A set-user-id file in the scratch directory would be one outside, too, of whoever runs the judge.
void add_files(Program& p) {
    p.unless_creating_with(SYS_openat, 2, 3, kSetId);
    p.unless_creating_with(SYS_open, 1, 2, kSetId);
    p.unless_bits(SYS_creat, 1, kSetId);
    p.unless_bits(SYS_chmod, 1, kSetId);
    p.unless_bits(SYS_fchmod, 1, kSetId);
    p.unless_bits(SYS_fchmodat, 2, kSetId);
    p.when(SYS_openat2, refuse(ENOSYS));  // their arguments are behind a pointer, or
    p.when(SYS_fchmodat2, refuse(ENOSYS));  // newer than what C libraries rely on
}

void add_signals(Program& p, const Spec& spec, pid_t self) {
    if (spec.programs && spec.namespaces) {  // nobody but itself is in its process namespace
        for (int call : kSignals) p.when(call, kAllow);
        return;
    }
    const uint32_t own[] = {uint32_t(self)};
    p.when_argument(SYS_kill, 0, own, kAllow, refuse(EPERM));
    p.when_argument(SYS_tgkill, 0, own, kAllow, refuse(EPERM));
}

void add_affinity(Program& p, const Spec& spec, pid_t self) {
    const uint32_t own[] = {0, uint32_t(self)};
    if (spec.namespaces) p.when(SYS_sched_setaffinity, kAllow);
    else p.when_argument(SYS_sched_setaffinity, 0, own, kAllow, refuse(EPERM));
}

}  // namespace

int install_filter(const Spec& spec, pid_t self) {
    static Program p;
    p.unless_equal_skip(kArchitecture, 1);
    p.add(BPF_JMP | BPF_JA, 1);
    p.end(SECCOMP_RET_KILL_PROCESS);
    p.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    p.add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);  // the x32 instruction set
    p.end(SECCOMP_RET_KILL_PROCESS);
#endif
    add_files(p);
    for (int call : kCommon) p.when(call, kAllow);
    if (spec.programs)
        for (int call : kPrograms) p.when(call, kAllow);
    if (spec.programs || spec.gpu)
        for (int call : kTimers) p.when(call, kAllow);
    if (spec.gpu)
        for (int call : kGpu) p.when(call, kAllow);
    if (spec.network)
        for (int call : kNetwork) p.when(call, kAllow);
    add_clone(p, spec.programs);
    add_signals(p, spec, self);
    add_affinity(p, spec, self);
    const uint32_t unix_only[] = {AF_UNIX}, own_process[] = {0, uint32_t(self)};
    p.when_argument(SYS_socketpair, 0, unix_only, kAllow, refuse(EPERM));
    p.when_argument(SYS_prlimit64, 0, own_process, kAllow, refuse(EPERM));
    p.when_argument(SYS_prctl, 0, kHarmlessPrctl, kAllow, refuse(EPERM));
    p.when_argument(SYS_fcntl, 1, kHarmlessFcntl, kAllow, refuse(EPERM));
    if (spec.gpu) p.when_argument(SYS_ioctl, 1, kTerminal, refuse(EPERM), kAllow);
    else p.when_argument(SYS_ioctl, 1, kHarmlessIoctl, kAllow, refuse(ENOTTY));
    p.when(SYS_fallocate, refuse(EOPNOTSUPP));  // takes disk space that no count of written bytes sees
    if (!spec.programs) p.when(SYS_execve, SECCOMP_RET_USER_NOTIF);
    p.add(BPF_JMP | BPF_JGT | BPF_K, kLastKnownCall, 0, 1);
    p.end(refuse(ENOSYS));
    p.end(refuse(EPERM));

    sock_fprog program = p.finish();
    unsigned flags = spec.programs ? 0 : SECCOMP_FILTER_FLAG_NEW_LISTENER;
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    check(listener >= 0, "seccomp");
    return spec.programs ? -1 : int(listener);
}
