// The supervisor: outside the sandbox, single-threaded, watching time, memory, processes and disk.
//
// It ends everything when a limit is passed, when it is asked to (SIGTERM), or when the judge is gone, and
// writes one line about how it ended. If it is killed itself, the kernel kills the init inside, and with it the rest.
#include "spec.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace {

constexpr int kIntervalMs = 20;
constexpr int kMaxTree = 4096;

struct Usage {
    uint64_t resident_bytes, cpu_ms, written_bytes, tasks;
};

uint64_t now_ms() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return uint64_t(t.tv_sec) * 1000 + uint64_t(t.tv_nsec) / 1000000;
}

ssize_t slurp(char* buffer, size_t size, const char* format, int a, int b = 0) {
    char path[96];
    snprintf(path, sizeof path, format, a, b);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = read(fd, buffer, size - 1);
    close(fd);
    if (n >= 0) buffer[n] = 0;
    return n;
}

// Append the children of a process; those of each of its threads are listed apart.
void add_children(pid_t pid, pid_t* tree, int& count) {
    char path[64], buffer[16384];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR* threads = opendir(path);
    if (!threads) return;
    while (dirent* entry = readdir(threads)) {
        int thread = atoi(entry->d_name);
        if (thread <= 0 || slurp(buffer, sizeof buffer, "/proc/%d/task/%d/children", pid, thread) <= 0) continue;
        for (char *at = buffer, *end; count < kMaxTree; at = end) {
            long child = strtol(at, &end, 10);
            if (end == at) break;
            tree[count++] = pid_t(child);
        }
    }
    closedir(threads);
}

void add_process(Usage& usage, pid_t pid, bool init) {
    static const uint64_t tick_ms = 1000 / uint64_t(sysconf(_SC_CLK_TCK)), page = uint64_t(sysconf(_SC_PAGESIZE));
    char buffer[1024];
    if (slurp(buffer, sizeof buffer, "/proc/%d/stat", pid) <= 0) return;
    char* after_name = strrchr(buffer, ')');
    if (!after_name) return;
    unsigned long user = 0, system = 0, threads = 0;
    long children_user = 0, children_system = 0, resident = 0;
    if (sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %lu %*d %*u %*u %ld",
               &user, &system, &children_user, &children_system, &threads, &resident) != 6)
        return;
    usage.cpu_ms += tick_ms * (user + system + uint64_t(children_user) + uint64_t(children_system));
    if (init) return;  // ours: it counts for the time of those that it reaped only
    usage.resident_bytes += uint64_t(resident) * page;
    usage.tasks += threads;
    if (slurp(buffer, sizeof buffer, "/proc/%d/io", pid) > 0)
        if (char* written = strstr(buffer, "\nwrite_bytes: ")) usage.written_bytes += strtoull(written + 14, nullptr, 10);
}

// Of the init's descendants. Orphans belong to the init, so nobody gets lost. Stops counting where there are too
// many already: going through ten thousand threads would take so long that they become twenty.
Usage measure(pid_t init, uint64_t most_tasks) {
    static pid_t tree[kMaxTree];
    Usage usage{};
    int count = 0;
    tree[count++] = init;
    for (int i = 0; i < count && (!most_tasks || usage.tasks <= most_tasks); i++) {
        add_process(usage, tree[i], i == 0);
        if (!most_tasks || usage.tasks <= most_tasks) add_children(tree[i], tree, count);
    }
    return usage;
}

const char* exceeded(const Spec& spec, const Usage& usage) {
    if (spec.memory_bytes && usage.resident_bytes > spec.memory_bytes) return "memory";
    if (spec.tasks && usage.tasks > spec.tasks) return "processes";
    if (spec.cpu_ms && usage.cpu_ms > spec.cpu_ms) return "cpu";
    if (spec.disk_bytes && usage.written_bytes > spec.disk_bytes) return "disk";
    return nullptr;
}

long long microseconds(const timeval& t) { return t.tv_sec * 1000000LL + t.tv_usec; }

void report(const Spec& spec, const char* format, const char* text, long long a, long long b = 0, long long c = 0) {
    char line[512];
    int n = snprintf(line, sizeof line, format, text, a, b, c);
    if (write(spec.report, line, size_t(n)) < 0) _exit(125);  // nobody is there to hear it
}

}  // namespace

// Without a process namespace, whose init takes everybody along, orphans become children of ours: kill until none is
// left.
void kill_descendants() {
    static pid_t tree[kMaxTree];
    for (;;) {
        int count = 0;
        add_children(getpid(), tree, count);
        for (int i = 0; i < count; i++) {
            add_children(tree[i], tree, count);
            kill(tree[i], SIGKILL);
        }
        pid_t gone;
        while ((gone = waitpid(-1, nullptr, WNOHANG | __WALL)) > 0) {}
        if (gone < 0 && errno == ECHILD) return;
        usleep(500);
    }
}

int supervise(const Spec& spec, pid_t init, int messages) {
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    int signals = signalfd(-1, &asked, SFD_CLOEXEC);  // blocked since main
    int judge = int(syscall(SYS_pidfd_open, spec.parent, 0));
    int inside = int(syscall(SYS_pidfd_open, init, 0));
    check(signals >= 0 && inside >= 0, "pidfd_open");
    bool orphaned = judge < 0 || getppid() != spec.parent;

    const uint64_t start = now_ms();
    const char* limit = orphaned ? "orphaned" : "none";
    uint64_t peak = 0;
    while (!orphaned) {
        uint64_t elapsed = now_ms() - start;
        int wait = kIntervalMs;
        if (spec.wall_ms) {
            if (elapsed >= spec.wall_ms) {
                limit = "wall";
                break;
            }
            if (spec.wall_ms - elapsed < uint64_t(wait)) wait = int(spec.wall_ms - elapsed);
        }
        pollfd events[] = {{inside, POLLIN, 0}, {signals, POLLIN, 0}, {judge, POLLIN, 0}};
        int ready = poll(events, 3, wait);
        if (ready < 0 && errno != EINTR) fail("poll");
        if (ready > 0) {
            if (events[0].revents) break;
            limit = events[1].revents ? "killed" : "orphaned";
            break;
        }
        Usage usage = measure(init, spec.tasks);
        if (usage.resident_bytes > peak) peak = usage.resident_bytes;
        if (const char* which = exceeded(spec, usage)) {
            limit = which;
            break;
        }
    }
    bool stopped = strcmp(limit, "none") != 0;
    Usage last = stopped ? measure(init, spec.tasks) : Usage{};  // the kernel does not account for those that die with their init
    if (stopped) kill(init, SIGKILL);
    int status = 0;
    rusage used{};
    while (wait4(init, &status, 0, &used) < 0 && errno == EINTR) {}
    if (!spec.namespaces) kill_descendants();

    Message message;
    bool ended = false;
    while (read(messages, &message, sizeof message) == ssize_t(sizeof message)) {
        if (message.kind == Message::kFailure) {
            report(spec, "failed %2$lld %1$s\n", message.stage, message.value);
            return 1;
        }
        status = message.value, ended = true;
    }
    // Killed from outside: as if the command itself had been.
    if (!ended && !WIFSIGNALED(status)) status = SIGKILL;
    long long cpu_us = microseconds(used.ru_utime) + microseconds(used.ru_stime);
    if ((long long)last.cpu_ms * 1000 > cpu_us) cpu_us = (long long)last.cpu_ms * 1000;
    if (uint64_t(used.ru_maxrss) * 1024 > peak) peak = uint64_t(used.ru_maxrss) * 1024;
    if (!stopped && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) limit = "cpu";
    if (!stopped && WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) limit = "disk";
    report(spec, "ended %s %lld %lld %lld\n", limit, status, cpu_us, (long long)peak);
    return 0;
}
