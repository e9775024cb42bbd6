// The sandbox's launcher: starts one command with the protection that its arguments list, and stays as its
// supervisor. `launching.py` writes the arguments; spec.h says what they mean.
#include "spec.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

pid_t clone_inside(const Spec& spec) {
    unsigned long flags = SIGCHLD;
    if (spec.namespaces) {
        flags |= CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
        if (!spec.network) flags |= CLONE_NEWNET;
        if (spec.root) flags |= CLONE_NEWNS;
    }
    return pid_t(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, 0));
}

// The supervisor was killed, and there is no process namespace that would end with us.
void end_with_descendants(int) {
    kill_descendants();
    _exit(125);
}

void silence() {
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        if (null >= 0) dup2(null, fd);
        else close(fd);
    if (null > 2) close(null);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && !strcmp(argv[1], "--probe")) return 0;  // the harmless program of a trial run
    Spec spec = parse(argc, argv);
    fcntl(spec.report, F_SETFD, FD_CLOEXEC);
    setsid();  // no terminal, and the judge's Ctrl-C is the judge's affair
    if (geteuid() == 0) setgroups(0, nullptr);
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    sigprocmask(SIG_BLOCK, &asked, nullptr);

    check(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");

    int messages[2];
    check(pipe2(messages, O_CLOEXEC) == 0, "pipe");
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    pid_t init = clone_inside(spec);
    if (init == 0) {
        message_fd = messages[1];
        if (!spec.namespaces) signal(SIGTERM, end_with_descendants);
        sigprocmask(SIG_UNBLOCK, &asked, nullptr);
        check(prctl(PR_SET_PDEATHSIG, spec.namespaces ? SIGKILL : SIGTERM, 0, 0, 0) == 0, "pdeathsig");
        close(messages[0]);
        close(spec.report);
        if (spec.namespaces) map_ids(uid, gid);
        setsid();
        _exit(run_inside(spec));
    }
    if (init < 0) {
        char line[64];
        int n = snprintf(line, sizeof line, "failed %d clone\n", errno);
        return write(spec.report, line, size_t(n)) == n ? 1 : 125;
    }
    close(messages[1]);
    // Whoever reads the other ends must see the command's end, not ours.
    int keep[] = {spec.report, messages[0]};
    keep_only(keep, 2);
    silence();
    return supervise(spec, init, messages[0]);
}
