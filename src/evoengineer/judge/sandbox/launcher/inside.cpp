// What runs inside the sandbox before and beside the command.
//
// The first process is the init of its process namespace: it sets the place up, starts the command, adopts
// and reaps orphans, tells the supervisor how the command ended, and leaves, whereupon the kernel kills whatever
// else still runs in there. The command cannot signal, trace or read it.
#include "spec.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr uint32_t kContinue = 1;  // SECCOMP_USER_NOTIF_FLAG_CONTINUE

union Control {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

void send_descriptor(int channel, int fd) {
    char byte = 0;
    iovec data{&byte, 1};
    Control control{};
    msghdr message{};
    message.msg_iov = &data, message.msg_iovlen = 1;
    message.msg_control = control.bytes, message.msg_controllen = sizeof control.bytes;
    control.header.cmsg_level = SOL_SOCKET, control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    check(sendmsg(channel, &message, 0) == 1, "send listener");
}

int receive_descriptor(int channel) {
    char byte;
    iovec data{&byte, 1};
    Control control{};
    msghdr message{};
    message.msg_iov = &data, message.msg_iovlen = 1;
    message.msg_control = control.bytes, message.msg_controllen = sizeof control.bytes;
    if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1) return -1;  // the command failed to start
    int fd = -1;
    if (cmsghdr* header = CMSG_FIRSTHDR(&message)) memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

// Let the first execve pass, then close the listener: the kernel refuses all that follow.
void admit_command(int channel) {
    int listener = receive_descriptor(channel);
    close(channel);
    if (listener < 0) return;
    pollfd waiting{listener, POLLIN, 0};
    while (poll(&waiting, 1, -1) < 0 && errno == EINTR) {}
    seccomp_notif request;
    memset(&request, 0, sizeof request);
    if ((waiting.revents & POLLIN) && ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0) {
        seccomp_notif_resp answer{request.id, 0, 0, kContinue};
        check(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0, "admit the command");
    }
    close(listener);
}

[[noreturn]] void become_command(const Spec& spec, int channel) {
    check(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0, "pdeathsig");
    signal(SIGTERM, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    int keep[kMaxEntries + 2];
    int count = 0;
    for (int i = 0; i < spec.keep_count; i++) {
        keep[count++] = spec.keep[i];
        check(fcntl(spec.keep[i], F_SETFD, 0) == 0, "pass file descriptor");
    }
    keep[count++] = message_fd, keep[count++] = channel;  // both close at exec
    keep_only(keep, count);
    umask(022);
    check(chdir(spec.directory) == 0, "chdir", spec.directory);

    const char* environment[kMaxEntries + 1] = {};
    memcpy(environment, spec.environment.items, sizeof(char*) * size_t(spec.environment.count));
    environment[spec.environment.count] = nullptr;

    limit_resources(spec);
    drop_privileges();
    if (spec.landlock) restrict_files(spec);
    if (spec.seccomp) {
        int listener = install_filter(spec, getpid());
        if (listener >= 0) {
            send_descriptor(channel, listener);
            close(listener);
        }
    }
    execve(spec.command[0], spec.command, const_cast<char**>(environment));
    fail("exec", spec.command[0]);
}

}  // namespace

// Where memory runs out all the same, the kernel is to take one of these, not the judge.
static void volunteer_for_oom() {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "1000", 4) < 0) errno = 0;  // a precaution only
    close(fd);
}

int run_inside(const Spec& spec) {
    volunteer_for_oom();
    if (spec.root) enter_private_root(spec);
    int channel[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) == 0, "socketpair");
    check(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");  // for where there is no namespace
    pid_t command = fork();
    check(command >= 0, "fork");
    if (command == 0) become_command(spec, channel[1]);

    // From here on the command may run: keep nothing that it could want, and nothing it could get at.
    check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
    int keep[] = {message_fd, channel[0]};
    keep_only(keep, 2);
    for (int fd = 0; fd < 3; fd++) close(fd);
    drop_privileges();
    if (spec.seccomp && !spec.programs) admit_command(channel[0]);

    int status = 0;
    for (;;) {
        int each;
        pid_t gone = waitpid(-1, &each, __WALL);
        if (gone == command) {
            status = each;
            break;
        }
        if (gone < 0 && errno != EINTR) fail("wait");
    }
    Message message{Message::kStatus, status, {}};
    return write(message_fd, &message, sizeof message) == ssize_t(sizeof message) ? 0 : 1;
}
