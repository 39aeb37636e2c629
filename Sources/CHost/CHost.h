// Why this shim: variadic calls (open, fcntl, prctl), macros and GNU extensions that Swift's Glibc module leaves out.
#ifndef IAMPASS_CHOST_H
#define IAMPASS_CHOST_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <grp.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline int iampass_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
static inline int iampass_openat(int folder, const char *path, int flags, mode_t mode) {
  return openat(folder, path, flags, mode);
}
static inline int iampass_duplicate_above(int descriptor, int least) {
  return fcntl(descriptor, F_DUPFD_CLOEXEC, least);
}
static inline int iampass_prctl(int option, unsigned long value) { return prctl(option, value, 0, 0, 0); }
static inline int iampass_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
static inline int iampass_pidfd_kill(int pidfd, int signal) {
  return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}
/// POSIX_SPAWN_SETSID and the file actions below are GNU extensions.
static inline short iampass_spawn_flags(void) {
  return POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
}
static inline int iampass_spawn_chdir(posix_spawn_file_actions_t *actions, const char *path) {
  return posix_spawn_file_actions_addchdir_np(actions, path);
}
static inline int iampass_spawn_closefrom(posix_spawn_file_actions_t *actions, int from) {
  return posix_spawn_file_actions_addclosefrom_np(actions, from);
}
static inline void iampass_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }
#endif
