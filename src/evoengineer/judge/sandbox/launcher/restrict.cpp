// Limits and privileges of the process that becomes the command.
#include "spec.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static void limit(int what, uint64_t value, const char* name, uint64_t grace = 0) {
    struct rlimit now;
    check(getrlimit(__rlimit_resource_t(what), &now) == 0, "getrlimit", name);
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value) value = now.rlim_max;  // ours may be lower already
    struct rlimit wanted{value - grace, value};
    check(setrlimit(__rlimit_resource_t(what), &wanted) == 0, "setrlimit", name);
}

void limit_resources(const Spec& spec) {
    // One byte, not none: with 0 a core_pattern that is a pipe still starts the host's crash handler.
    limit(RLIMIT_CORE, 1, "core");
    limit(RLIMIT_MSGQUEUE, 0, "msgqueue");
    if (!spec.gpu) limit(RLIMIT_MEMLOCK, 1 << 20, "memlock");  // a driver may lock what it transfers
    if (spec.memory_bytes) limit(RLIMIT_DATA, spec.memory_bytes, "data");
    if (spec.file_bytes) limit(RLIMIT_FSIZE, spec.file_bytes, "fsize");
    if (spec.open_files) limit(RLIMIT_NOFILE, spec.open_files, "nofile");
    if (spec.cpu_ms) limit(RLIMIT_CPU, spec.cpu_ms / 1000 + 2, "cpu", 1);  // the supervisor is more exact
    // In a user namespace of its own the count starts at nothing; elsewhere it would include our user's others.
    if (spec.tasks && spec.namespaces) limit(RLIMIT_NPROC, spec.tasks + 1, "nproc");
}

void drop_privileges() {
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    // Without these two a process of user 0 would get capabilities back at exec. They need CAP_SETPCAP, which
    // everybody has in a user namespace of his own, and nobody without privileges needs to take them away.
    unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED;
    bool may = prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) == 0;
    for (int cap = 0; may && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    check(may || geteuid() != 0, "drop capabilities");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    check(syscall(SYS_capset, &header, none) == 0, "capset");
}

static void close_from_to(unsigned first, unsigned last) {
    if (syscall(SYS_close_range, first, last, 0) == 0) return;
    check(errno == ENOSYS, "close_range");  // Linux before 5.9
    unsigned most = unsigned(sysconf(_SC_OPEN_MAX));
    for (unsigned fd = first; fd <= last && fd < most; fd++) close(int(fd));
}

static int ascending(const void* a, const void* b) { return *static_cast<const int*>(a) - *static_cast<const int*>(b); }

// Close everything but these, and 0 to 2.
void keep_only(const int* fds, int count) {
    int sorted[kMaxEntries + 8];
    for (int i = 0; i < count; i++) sorted[i] = fds[i];
    qsort(sorted, size_t(count), sizeof(int), ascending);
    unsigned from = 3;
    for (int i = 0; i < count; i++) {
        if (sorted[i] < int(from)) continue;
        if (unsigned(sorted[i]) > from) close_from_to(from, unsigned(sorted[i]) - 1);
        from = unsigned(sorted[i]) + 1;
    }
    close_from_to(from, UINT_MAX);
}
