// Hostile host code: each command tries one thing that a sandboxed program must not be able to do.
//
// Exit 0: the attempt failed, with what the system said on stdout. Exit 42: it worked.
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const int kWorked = 42;
extern char** environ;

static int outcome(bool worked, const char* what) {
    int error = errno;
    if (worked) printf("%s: WORKED\n", what);
    else printf("%s: %s\n", what, strerror(error));
    return worked ? kWorked : 0;
}

static int tcp(const char* port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(uint16_t(atoi(port)));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    return outcome(fd >= 0 && connect(fd, (sockaddr*)&to, sizeof to) == 0, "connect");
}

static int udp(const char* port) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(uint16_t(atoi(port)));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    return outcome(fd >= 0 && sendto(fd, "x", 1, 0, (sockaddr*)&to, sizeof to) == 1, "sendto");
}

static int unix_socket(const char* name, bool abstract) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    strncpy(to.sun_path + (abstract ? 1 : 0), name, sizeof to.sun_path - 2);
    socklen_t size = socklen_t(offsetof(sockaddr_un, sun_path) + strlen(name) + 1);
    return outcome(fd >= 0 && connect(fd, (sockaddr*)&to, size) == 0, "connect");
}

static int read_path(const char* path) {
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        DIR* d = opendir(path);
        if (!d) return outcome(false, "opendir");
        while (dirent* entry = readdir(d)) puts(entry->d_name);
        return kWorked;
    }
    char byte;
    int fd = open(path, O_RDONLY);
    return outcome(fd >= 0 && read(fd, &byte, 1) >= 0, "read");
}

static int write_path(const char* path) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    return outcome(fd >= 0, "open for writing");
}

static int fork_bomb(const char* limit) {
    int count = 0, wanted = atoi(limit);
    for (;;) {
        pid_t pid = fork();
        if (pid == 0) sleep(60), _exit(0);
        if (pid < 0) break;
        if (++count > 20000) return outcome(true, "fork");
    }
    printf("%d forks\n", count);
    return count > wanted ? kWorked : 0;
}

static void* idle(void*) { return sleep(60), nullptr; }
static int thread_bomb(const char* limit) {
    int count = 0, wanted = atoi(limit);
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    while (pthread_create(&thread, &small, idle, nullptr) == 0)
        if (++count > 20000) return outcome(true, "threads");
    printf("%d threads\n", count);
    return count > wanted ? kWorked : 0;
}

static int hog(int flags, const char* megabytes) {
    size_t wanted = size_t(atol(megabytes));
    for (size_t i = 0; i < wanted; i++) {
        void* at = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
        if (at == MAP_FAILED) return outcome(false, "mmap");
        memset(at, 1, 1 << 20);
    }
    return outcome(true, "memory");
}

static int fill_disk(const char* megabytes) {  // by files that have no name any more
    static char block[1 << 20];
    memset(block, 7, sizeof block);
    long wanted = atol(megabytes), written = 0;
    signal(SIGXFSZ, SIG_IGN);
    while (written < wanted) {
        int fd = open("hog", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0) return outcome(false, "open");
        unlink("hog");
        while (written < wanted && write(fd, block, sizeof block) == ssize_t(sizeof block)) written++;
        fsync(fd);
    }
    sleep(1);
    return outcome(true, "disk");
}

static int big_file(const char* megabytes) {
    static char block[1 << 20];
    FILE* file = fopen("big", "w");
    for (long i = 0; i < atol(megabytes); i++)
        if (fwrite(block, sizeof block, 1, file) != 1) return outcome(false, "write");
    return outcome(true, "write");
}

static int set_user_id() {  // a file that lends our user's rights to whoever starts it, outside
    int plain = open("plain", O_WRONLY | O_CREAT, 0755);
    if (plain < 0) return 1;
    bool worked = chmod("plain", 04755) == 0;
    worked = worked || fchmod(plain, 02755) == 0;
    worked = worked || fchmodat(AT_FDCWD, "plain", 04755, 0) == 0;
    worked = worked || open("made", O_WRONLY | O_CREAT, 04755) >= 0;
    worked = worked || open(".", O_WRONLY | O_TMPFILE, 04755) >= 0;
    return outcome(worked || creat("created", 04755) >= 0, "set-user-id");
}

static int daemonize(const char* marker) {  // survive by leaving session and parents behind
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            for (int fd = 0; fd < 3; fd++) close(fd);
            (void)marker;  // stays on our command line, where the test looks for it
            sleep(60);
        }
        _exit(0);
    }
    usleep(50000);
    return 0;
}

static int descriptors() {
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf("%d ", fd);
    printf("\n");
    return 0;
}

static int attach(const char* pid) {
    return outcome(ptrace(PTRACE_SEIZE, atoi(pid), 0, 0) == 0, "ptrace");
}

static int peek(const char* pid) {
    char to[8];
    iovec local{to, sizeof to}, remote{(void*)0x400000, sizeof to};
    ssize_t n = syscall(SYS_process_vm_readv, atoi(pid), &local, 1L, &remote, 1L, 0L);
    // EFAULT means that we were let in and hit an unmapped page.
    return outcome(n >= 0 || errno == EFAULT, "process_vm_readv");
}

static int read_environment_of(const char* pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    return read_path(path);
}

static int forbidden_calls() {
    struct { const char* name; long number; } calls[] = {
        {"io_uring_setup", 425}, {"bpf", SYS_bpf}, {"userfaultfd", SYS_userfaultfd}, {"keyctl", SYS_keyctl},
        {"add_key", SYS_add_key}, {"request_key", SYS_request_key}, {"mount", SYS_mount}, {"umount2", SYS_umount2},
        {"unshare", SYS_unshare}, {"setns", SYS_setns}, {"pivot_root", SYS_pivot_root}, {"chroot", SYS_chroot},
        {"perf_event_open", SYS_perf_event_open}, {"pidfd_open", 434}, {"pidfd_getfd", 438},
        {"open_by_handle_at", SYS_open_by_handle_at}, {"name_to_handle_at", SYS_name_to_handle_at},
        {"init_module", SYS_init_module}, {"finit_module", SYS_finit_module}, {"kexec_load", SYS_kexec_load},
        {"swapon", SYS_swapon}, {"memfd_create", SYS_memfd_create}, {"memfd_secret", 447}, {"shmget", SYS_shmget},
        {"msgget", SYS_msgget}, {"semget", SYS_semget}, {"mq_open", SYS_mq_open}, {"inotify_init1", SYS_inotify_init1},
        {"fanotify_init", SYS_fanotify_init}, {"quotactl", SYS_quotactl}, {"acct", SYS_acct}, {"kcmp", SYS_kcmp},
        {"personality", SYS_personality}, {"mknodat", SYS_mknodat}, {"vmsplice", SYS_vmsplice}, {"splice", SYS_splice},
        {"process_vm_writev", SYS_process_vm_writev}, {"ptrace", SYS_ptrace}, {"seccomp", SYS_seccomp},
        {"fsopen", 430}, {"open_tree", 428}, {"move_mount", 429}, {"mount_setattr", 442}, {"clone3", 435},
        {"rt_sigqueueinfo", SYS_rt_sigqueueinfo}, {"setuid", SYS_setuid}, {"setgroups", SYS_setgroups},
        {"capset", SYS_capset}, {"syslog", SYS_syslog}, {"sethostname", SYS_sethostname}, {"process_madvise", 440},
        {"settimeofday", SYS_settimeofday}, {"adjtimex", SYS_adjtimex}, {"socket", SYS_socket}, {"bind", SYS_bind},
        {"move_pages", SYS_move_pages}, {"migrate_pages", SYS_migrate_pages}, {"tkill", SYS_tkill},
    };
    int result = 0;
    for (auto& call : calls) {
        errno = 0;
        long got = syscall(call.number, -1L, -1L, -1L, -1L, -1L, -1L);
        if (got >= 0 || (errno != EPERM && errno != ENOSYS)) {
            printf("%s: %ld %s\n", call.name, got, strerror(errno));
            result = kWorked;
        }
    }
    return result;
}

static int new_process() {
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    bool forked = pid > 0;
    bool cloned = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) > 0;
    return outcome(forked || cloned, "fork");
}

static int new_program(const char* path) {
    char* arguments[] = {(char*)path, (char*)"worked", nullptr};
    execve(path, arguments, environ);
    int error = errno;
    int fd = open(path, O_RDONLY);
    syscall(SYS_execveat, fd, "", arguments, environ, AT_EMPTY_PATH);
    errno = error;
    return outcome(false, "execve");
}

static int terminal() {  // type into the terminal that we were given
    char key = 'x';
    bool worked = ioctl(0, TIOCSTI, &key) == 0;
    setsid();
    worked = worked || ioctl(0, TIOCSCTTY, 1) == 0;
    worked = worked || ioctl(0, TIOCSTI, &key) == 0;
    return outcome(worked || open("/dev/tty", O_RDWR) >= 0, "terminal");
}

static int other_instruction_set() {
#if defined(__x86_64__)
    long result = 20;  // getpid of the 32-bit system calls
    asm volatile("int $0x80" : "+a"(result)::"memory");
    return outcome(result > 0, "int 0x80");
#else
    raise(SIGSYS);
    return kWorked;
#endif
}

static int good(const char* path) {  // what an ordinary program does must work
    void* memory = malloc(64 << 20);
    memset(memory, 1, 64 << 20);
    pthread_t thread;
    FILE* file = fopen(path, "w");
    bool written = file && fputs("hello", file) >= 0 && fclose(file) == 0;
    bool threaded = pthread_create(&thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) == 0 &&
                    pthread_join(thread, nullptr) == 0;
    printf("pid %d uid %d\n", getpid(), getuid());
    return written && threaded ? 0 : 1;
}

int main(int argc, char** argv) {
    setvbuf(stdout, nullptr, _IONBF, 0);
    const char* what = argc > 1 ? argv[1] : "";
    const char* with = argc > 2 ? argv[2] : "";
    auto is = [&](const char* name) { return !strcmp(what, name); };
    if (is("tcp")) return tcp(with);
    if (is("udp")) return udp(with);
    if (is("unix")) return unix_socket(with, false);
    if (is("abstract")) return unix_socket(with, true);
    if (is("read")) return read_path(with);
    if (is("write")) return write_path(with);
    if (is("fork-bomb")) return fork_bomb(with);
    if (is("thread-bomb")) return thread_bomb(with);
    if (is("private-memory")) return hog(MAP_PRIVATE, with);
    if (is("shared-memory")) return hog(MAP_SHARED, with);
    if (is("disk")) return fill_disk(with);
    if (is("big-file")) return big_file(with);
    if (is("set-user-id")) return set_user_id();
    if (is("affinity")) {
        unsigned long first = 1;
        return outcome(syscall(SYS_sched_setaffinity, atoi(with), sizeof first, &first) == 0, "sched_setaffinity");
    }
    if (is("spin")) for (volatile int i = 0;; i = i + 1) {}
    if (is("sleep")) return int(sleep(60));
    if (is("daemon")) return daemonize(with);
    if (is("daemon-sleep")) return daemonize(with), int(sleep(60));
    if (is("descriptors")) return descriptors();
    if (is("environment")) { for (char** e = environ; *e; e++) puts(*e); return 0; }
    if (is("signal")) return outcome(kill(atoi(with), SIGURG) == 0, "kill");  // which is ignored by default
    if (is("ptrace")) return attach(with);
    if (is("peek")) return peek(with);
    if (is("environment-of")) return read_environment_of(with);
    if (is("calls")) return forbidden_calls();
    if (is("fork")) return new_process();
    if (is("exec")) return new_program(with);
    if (is("worked")) return kWorked;
    if (is("terminal")) return terminal();
    if (is("int80")) return other_instruction_set();
    if (is("dumpable")) return outcome(prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
    if (is("abort")) abort();
    if (is("crash")) raise(SIGSEGV);
    if (is("exit")) return atoi(with);
    if (is("print")) { for (;;) puts("ended none 0 0 0"); }
    if (is("write-fd")) return write(atoi(with), "passed", 6) == 6 ? 0 : 1;
    if (is("good")) return good(with);
    return 2;
}
