// A private root directory: a tmpfs that holds read-only binds of what the policy lists, and nothing else.
//
// Paths are the same inside and outside. The old root is detached before anything foreign runs.
#include "spec.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

namespace {

constexpr char kOld[] = "/.old";
constexpr uint64_t kReadOnly = 1, kNoSuid = 2, kNoDev = 4;  // MOUNT_ATTR_…
constexpr unsigned kRecursive = 0x8000;                     // AT_RECURSIVE

struct Attributes {  // struct mount_attr, which older headers lack
    uint64_t set, clear, propagation, userns_fd;
};

void write_file(const char* path, const char* text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    check(fd >= 0, "open", path);
    check(write(fd, text, strlen(text)) == ssize_t(strlen(text)), "write", path);
    close(fd);
}

// mkdir -p for everything above the last component. What exists may lie in a read-only bind.
void make_parents(const char* path) {
    char partial[4096];
    errno = ENAMETOOLONG;
    check(strlen(path) < sizeof partial, "path", path);
    strcpy(partial, path);
    for (char* at = strchr(partial + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        if (mkdir(partial, 0755) && errno != EEXIST) {
            struct stat info;
            int saved = errno;
            bool there = stat(partial, &info) == 0;
            errno = saved;
            check(there, "mkdir", partial);
        }
        *at = '/';
    }
}

void bind(const char* path, uint64_t attributes) {
    char source[4096 + sizeof kOld];
    snprintf(source, sizeof source, "%s%s", kOld, path);
    struct stat info, there;
    check(stat(source, &info) == 0, "find", path);
    make_parents(path);
    if (stat(path, &there)) {
        if (S_ISDIR(info.st_mode)) {
            check(mkdir(path, 0755) == 0, "mkdir", path);
        } else {
            int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
            check(fd >= 0, "create", path);
            close(fd);
        }
    }
    check(mount(source, path, nullptr, MS_BIND | MS_REC, nullptr) == 0, "bind", path);
    Attributes change{attributes, 0, 0, 0};
    check(syscall(SYS_mount_setattr, AT_FDCWD, path, kRecursive, &change, sizeof change) == 0, "protect", path);
}

}  // namespace

// Whoever we are outside, inside we are nobody: one user and one group, no others.
void map_ids(uid_t uid, gid_t gid) {
    char line[64];
    write_file("/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "65534 %u 1\n", uid);
    write_file("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "65534 %u 1\n", gid);
    write_file("/proc/self/gid_map", line);
}

void enter_private_root(const Spec& spec) {
    check(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "mount private", "/");
    const char* place = access("/tmp", F_OK) ? "/proc" : "/tmp";  // any directory will do
    check(mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755") == 0, "mount tmpfs", place);
    check(chdir(place) == 0, "chdir", place);
    check(mkdir(kOld + 1, 0700) == 0, "mkdir", kOld);
    check(syscall(SYS_pivot_root, ".", kOld + 1) == 0, "pivot_root");
    check(chdir("/") == 0, "chdir", "/");

    if (spec.proc) {
        check(mkdir("/proc", 0755) == 0, "mkdir", "/proc");
        // Read-only: its sys/ would let a process with root's user id write kernel settings.
        unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
        // Processes only, no kernel tables; a GPU's driver library looks at those. Before Linux 5.8: everything.
        const char* subset = spec.gpu ? nullptr : "subset=pid";
        bool mounted = mount("proc", "/proc", "proc", flags, subset) == 0;
        if (!mounted && errno == EINVAL) mounted = mount("proc", "/proc", "proc", flags, nullptr) == 0;
        check(mounted, "mount proc");
    }
    for (int i = 0; i < spec.readable.count; i++)
        bind(spec.readable.items[i], kReadOnly | kNoSuid | kNoDev);
    for (int i = 0; i < spec.writable.count; i++) bind(spec.writable.items[i], kNoSuid | kNoDev);
    for (int i = 0; i < spec.devices.count; i++) bind(spec.devices.items[i], kNoSuid);
    for (int i = 0; i < spec.links.count; i++) {
        struct stat info;
        if (lstat(spec.links.items[i], &info) == 0) continue;  // visible already through a bind
        make_parents(spec.links.items[i]);
        check(symlink(spec.targets.items[i], spec.links.items[i]) == 0, "symlink", spec.links.items[i]);
    }
    check(umount2(kOld, MNT_DETACH) == 0, "umount", kOld);
    check(rmdir(kOld) == 0, "rmdir", kOld);
    Attributes change{kReadOnly, 0, 0, 0};
    check(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &change, sizeof change) == 0, "protect", "/");
}
