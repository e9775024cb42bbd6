// Landlock: file rules, TCP and scopes, as far as this kernel's version knows them. Needs no mounts and no
// privileges, and holds even where namespaces are forbidden.
#include "spec.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kCreate = 444, kAddRule = 445, kRestrict = 446;  // the same numbers on every architecture

enum Right : uint64_t {
    kExecute = 1 << 0, kWrite = 1 << 1, kRead = 1 << 2, kReadDir = 1 << 3, kRemoveDir = 1 << 4,
    kRemove = 1 << 5, kMakeChar = 1 << 6, kMakeDir = 1 << 7, kMakeFile = 1 << 8, kMakeSocket = 1 << 9,
    kMakeFifo = 1 << 10, kMakeBlock = 1 << 11, kMakeLink = 1 << 12, kRefer = 1 << 13, kTruncate = 1 << 14,
    kIoctl = 1 << 15,
};
constexpr uint64_t kForFiles = kExecute | kWrite | kRead | kTruncate | kIoctl;
constexpr uint64_t kReadable = kExecute | kRead | kReadDir;
constexpr uint64_t kWritable = kWrite | kRead | kReadDir | kRemoveDir | kRemove | kMakeDir | kMakeFile | kMakeFifo |
                               kMakeLink | kRefer | kTruncate;
constexpr uint64_t kDevice = kRead | kWrite | kIoctl;

struct Ruleset {
    uint64_t files, network, scopes;
};
struct __attribute__((packed)) PathRule {
    uint64_t allowed;
    int32_t parent;
};

uint64_t known_rights(int version) {
    if (version >= 5) return (kIoctl << 1) - 1;
    if (version >= 3) return (kTruncate << 1) - 1;
    return version == 2 ? (kRefer << 1) - 1 : (kMakeLink << 1) - 1;
}

void allow(int ruleset, const char* path, uint64_t rights, uint64_t known) {
    int fd = open(path, O_PATH | O_CLOEXEC);
    check(fd >= 0, "landlock: open", path);
    struct stat info;
    check(fstat(fd, &info) == 0, "landlock: stat", path);
    if (!S_ISDIR(info.st_mode)) rights &= kForFiles;
    PathRule rule{rights & known, fd};
    check(syscall(kAddRule, ruleset, 1, &rule, 0) == 0, "landlock: allow", path);
    close(fd);
}

}  // namespace

int landlock_version() { return int(syscall(kCreate, nullptr, 0, 1)); }

void restrict_files(const Spec& spec) {
    int version = landlock_version();
    check(version >= 1, "landlock");
    uint64_t known = known_rights(version);
    Ruleset rules{known, 0, 0};
    size_t size = 8;
    if (version >= 4) size = 16, rules.network = spec.network ? 0 : 3;  // bind and connect over TCP
    if (version >= 6) size = 24, rules.scopes = 3;                      // abstract sockets, signals
    int ruleset = int(syscall(kCreate, &rules, size, 0));
    check(ruleset >= 0, "landlock: create");
    for (int i = 0; i < spec.readable.count; i++) allow(ruleset, spec.readable.items[i], kReadable, known);
    for (int i = 0; i < spec.writable.count; i++) allow(ruleset, spec.writable.items[i], kWritable, known);
    for (int i = 0; i < spec.devices.count; i++) allow(ruleset, spec.devices.items[i], kDevice, known);
    if (spec.root && spec.proc) allow(ruleset, "/proc", kRead | kReadDir, known);
    check(syscall(kRestrict, ruleset, 0) == 0, "landlock: restrict");
    close(ruleset);
}
