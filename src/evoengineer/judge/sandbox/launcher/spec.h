// What the launcher was asked to do, read from its arguments, and how it reports.
//
// Every layer that is asked for must succeed: a failure ends the start with its stage and errno, so that
// nothing ever runs with less protection than its caller believes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

constexpr int kMaxEntries = 256;

struct List {
    const char* items[kMaxEntries];
    int count = 0;
};

struct Spec {
    pid_t parent = 0;  // the judge: when it goes, everything goes
    int report = -1;   // where the supervisor writes how it ended

    bool namespaces = false, network = false, root = false, proc = false, landlock = false, seccomp = false;

    List readable, writable, devices, links, targets, environment;
    int keep[kMaxEntries];
    int keep_count = 0;
    const char* directory = "/";

    uint64_t memory_bytes = 0, file_bytes = 0, disk_bytes = 0;
    uint64_t wall_ms = 0, cpu_ms = 0, tasks = 0, open_files = 0;
    bool programs = false;  // may start other programs and processes
    bool gpu = false;       // talks to a driver through ioctl

    char** command = nullptr;
};

Spec parse(int argc, char** argv);

// One message on the pipe from the processes inside to the supervisor.
struct Message {
    enum Kind : int32_t { kFailure = 1, kStatus = 2 };
    int32_t kind;
    int32_t value;     // errno, or the wait status
    char stage[240];   // what failed, with its object
};

// Set once per process; `fail` writes to it and ends the process.
extern int message_fd;
[[noreturn]] void fail(const char* stage, const char* object = "");
void check(bool good, const char* stage, const char* object = "");

// The parts, each in a file of its own.
void map_ids(uid_t uid, gid_t gid);                      // root.cpp
void enter_private_root(const Spec& spec);               // root.cpp
void limit_resources(const Spec& spec);                  // restrict.cpp
void drop_privileges();                                  // restrict.cpp
void keep_only(const int* fds, int count);               // restrict.cpp
int landlock_version();                                  // landlock.cpp
void restrict_files(const Spec& spec);                   // landlock.cpp
int install_filter(const Spec& spec, pid_t self);        // filter.cpp: the listener, or -1
int supervise(const Spec& spec, pid_t init, int messages);  // supervise.cpp
void kill_descendants();                                 // supervise.cpp
int run_inside(const Spec& spec);                        // inside.cpp
