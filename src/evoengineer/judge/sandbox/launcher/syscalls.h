// Names of system calls that some architecture or some C library's headers do not have: absent ones are -1
// and are left out of the filter, so that they are refused.
#pragma once
#include <sys/syscall.h>

// Old calls that newer architectures never had.
#ifndef SYS_open
#define SYS_open -1
#define SYS_creat -1
#define SYS_stat -1
#define SYS_lstat -1
#define SYS_access -1
#define SYS_readlink -1
#define SYS_getdents -1
#define SYS_dup2 -1
#define SYS_pipe -1
#define SYS_poll -1
#define SYS_select -1
#define SYS_epoll_create -1
#define SYS_epoll_wait -1
#define SYS_eventfd -1
#define SYS_signalfd -1
#define SYS_fork -1
#define SYS_vfork -1
#define SYS_mkdir -1
#define SYS_rmdir -1
#define SYS_unlink -1
#define SYS_rename -1
#define SYS_symlink -1
#define SYS_chmod -1
#define SYS_utime -1
#define SYS_utimes -1
#define SYS_futimesat -1
#define SYS_time -1
#define SYS_alarm -1
#define SYS_pause -1
#define SYS_getpgrp -1
#endif
#ifndef SYS_arch_prctl
#define SYS_arch_prctl -1
#endif
#ifndef SYS_renameat
#define SYS_renameat -1
#endif
#ifndef SYS_newfstatat
#define SYS_newfstatat -1
#endif
#ifndef SYS_getrlimit
#define SYS_getrlimit -1
#define SYS_setrlimit -1
#endif

// New calls have the same number everywhere.
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif
constexpr int kLastKnownCall = 462;  // later ones "do not exist": C libraries then use what they used before
