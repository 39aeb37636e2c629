// Why this shim: Swift's Glibc module leaves out variadic calls (open, fcntl, prctl), macros and GNU extensions.
#ifndef IAMPASS_CHOST_H
#define IAMPASS_CHOST_H
// This header does not define _GNU_SOURCE. glibc would then name fields differently than in Swift's Glibc module, and
// no file could import both. The few GNU extensions are declared by hand, from the Linux ABI.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <shadow.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <grp.h>
#include <spawn.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef O_PATH
#define O_PATH 010000000
#endif
// Linux's value everywhere but on Alpha, PA-RISC and SPARC.
#ifndef O_TMPFILE
#define O_TMPFILE (020000000 | O_DIRECTORY)
#endif
#ifndef POSIX_SPAWN_SETSID
#define POSIX_SPAWN_SETSID 0x80
#endif
#ifndef _GNU_SOURCE
extern int ppoll(struct pollfd *entries, nfds_t count, const struct timespec *timeout, const sigset_t *mask);
extern int setresuid(uid_t real, uid_t effective, uid_t saved);
extern int setresgid(gid_t real, gid_t effective, gid_t saved);
extern int getresuid(uid_t *real, uid_t *effective, uid_t *saved);
extern int getresgid(gid_t *real, gid_t *effective, gid_t *saved);
#endif

#ifndef _GNU_SOURCE
extern void *memmem(const void *bytes, size_t count, const void *key, size_t length);
#endif
static inline const void *iampass_find(const void *bytes, size_t count, const void *key, size_t length) {
  return memmem(bytes, count, key, length);
}

/// Whether the process has the rights of its user alone, who is not root: it was not begun with more (AT_SECURE,
/// getauxval(3)), and cannot become another.
static inline int iampass_is_users_own(void) {
  uid_t real, effective, saved;
  if (getauxval(AT_SECURE) != 0 || getresuid(&real, &effective, &saved) != 0) return 0;
  return effective != 0 && real == effective && saved == effective;
}
/// Makes the calling thread alone that user's, without further groups. The kernel's own calls: a signal's handler may use
/// them, and glibc's change all threads but those that have called pthread_exit(3).
static inline int iampass_thread_become(uid_t user, gid_t group) {
  if (syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, group, group, group) != 0) return -1;
  return (int)syscall(SYS_setresuid, user, user, user);
}
/// Sends a signal to one thread of this process (tgkill(2)).
static inline int iampass_signal_thread(pid_t thread, int signal) {
  return (int)syscall(SYS_tgkill, getpid(), thread, signal);
}
/// Whether the process ignores a signal. SIG_IGN is a macro, and sa_handler belongs to a union.
static inline int iampass_ignores(int signal) {
  struct sigaction now;
  return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}
static inline int iampass_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
/// Opens one part of a path by openat2(2), without following links. The structure is the kernel's `open_how`.
///
/// If a filter refuses openat2(2) (ENOSYS, EPERM), openat(2) does the same. systemd's RestrictSUIDSGID= refuses it,
/// since a filter cannot inspect the structure. A single part cannot lead outside its folder, O_NOFOLLOW refuses links,
/// and the name tells `..`.
///
/// @param flags must contain O_NOFOLLOW.
/// @param stays refuses a path that leads out of the folder.
static inline int iampass_open_beneath(int folder, const char *name, int flags, int stays) {
  // The flags are RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS and RESOLVE_BENEATH.
  struct { unsigned long long flags, mode, resolve; } how = {(unsigned)flags, 0, 0x02 | 0x04 | (stays ? 0x08 : 0)};
  int opened = (int)syscall(437, folder, name, &how, sizeof how);
  if (opened >= 0 || (errno != ENOSYS && errno != EPERM)) return opened;
  int is_part = *name && !strchr(name, '/') && (flags & O_NOFOLLOW);
  if (!is_part || (stays && strcmp(name, "..") == 0)) {
    errno = EXDEV;
    return -1;
  }
  return openat(folder, name, flags);
}
/// A new file of its owner alone for writing. Without a name (NULL) nothing is left of it if the process is killed; not
/// every file system has such files.
static inline int iampass_new_file(int folder, const char *name) {
  int flags = O_WRONLY | O_CLOEXEC | (name ? O_CREAT | O_EXCL | O_NOFOLLOW : O_TMPFILE);
  return openat(folder, name ? name : ".", flags, 0600);
}
/// write(2) without SIGXFSZ, which would kill the host if its caller set a low RLIMIT_FSIZE. The result is EFBIG
/// instead.
static inline ssize_t iampass_write(int descriptor, const void *bytes, size_t count) {
  sigset_t only, before, pending;
  sigemptyset(&only);
  sigaddset(&only, SIGXFSZ);
  sigemptyset(&pending);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &only, &before);
  ssize_t written = write(descriptor, bytes, count);
  int failure = errno;
  // The host's own SIGXFSZ may have been pending before.
  struct timespec none = {0, 0};
  if (written < 0 && failure == EFBIG && sigismember(&pending, SIGXFSZ) == 0) sigtimedwait(&only, NULL, &none);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = failure;
  return written;
}
/// Locks of open files (fcntl(2), F_OFD_SETLK and F_OFD_GETLK, which need _GNU_SOURCE). The second call only looks, so
/// that a look does not keep others from locking.
static inline int iampass_hold_whole(int descriptor) {
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(descriptor, 37, &whole);
}
/// 1: another open file holds the lock; 0: the file is not locked; -1: unknown.
static inline int iampass_is_held(int descriptor) {
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(descriptor, 36, &whole) != 0) return -1;
  return whole.l_type == F_UNLCK ? 0 : 1;
}
static inline int iampass_duplicate_above(int descriptor, int least) {
  return fcntl(descriptor, F_DUPFD_CLOEXEC, least);
}
static inline int iampass_prctl(int option, unsigned long value) { return prctl(option, value, 0, 0, 0); }
/// The process's name in tools (PR_SET_NAME), up to 15 bytes.
static inline int iampass_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }
static inline int iampass_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
static inline int iampass_pidfd_kill(int pidfd, int signal) {
  return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}
/// A copy of another process's descriptor (pidfd_getfd(2), Linux 5.6), or -1. Not every libc that builds this names it.
static inline int iampass_pidfd_borrow(int pidfd, int descriptor) {
  return (int)syscall(438, pidfd, descriptor, 0);
}
/// Whether this is a TCP connection with another end: SO_PROTOCOL is 38, and TCP is 6.
static inline int iampass_is_connection(int socket) {
  int protocol = 0;
  socklen_t size = sizeof(protocol);
  struct sockaddr_storage peer;
  socklen_t length = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, 38, &protocol, &size) == 0 && protocol == 6 &&
         getpeername(socket, (struct sockaddr *)&peer, &length) == 0;
}
/// Whether the other end has closed the connection or reset it. POLLRDHUP, 0x2000, is a GNU extension.
static inline int iampass_has_peer_left(int socket) {
  struct pollfd entry = {socket, 0x2000, 0};
  return poll(&entry, 1, 0) == 1 && (entry.revents & POLLNVAL) == 0 && (entry.revents & (0x2000 | POLLHUP)) != 0;
}
/// POSIX_SPAWN_SETSID and the file actions below are GNU extensions.
static inline short iampass_spawn_flags(void) {
  return POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
}
/// The same for a program that stays in this process's session, and so at its terminal.
static inline short iampass_spawn_flags_at_terminal(void) { return POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF; }
static inline int iampass_spawn_chdir(posix_spawn_file_actions_t *actions, const char *path) {
  return posix_spawn_file_actions_addchdir_np(actions, path);
}
static inline int iampass_spawn_closefrom(posix_spawn_file_actions_t *actions, int from) {
  return posix_spawn_file_actions_addclosefrom_np(actions, from);
}
/// epoll_event is packed and contains a union.
static inline int iampass_epoll_add(int epoll, int descriptor) {
  struct epoll_event event = {EPOLLIN, {.fd = descriptor}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}
/// A descriptor that is ready, or -1. Never waits.
static inline int iampass_epoll_next(int epoll) {
  struct epoll_event event;
  return epoll_wait(epoll, &event, 1, 0) == 1 ? event.data.fd : -1;
}
/// glibc 2.36 has P_PIDFD, but not every libc that builds this.
static inline int iampass_pidfd_wait(int pidfd, int options) {
  siginfo_t info;
  return waitid((idtype_t)3, (id_t)pidfd, &info, options);
}
/// SO_PEERCRED: who made the socket pair, or who listens or connected. The structure is `struct ucred`, a GNU
/// extension.
struct iampass_peer { pid_t pid; uid_t uid; gid_t gid; };
static inline struct iampass_peer iampass_peer(int socket) {
  struct iampass_peer peer = {-1, (uid_t)-1, (gid_t)-1}, none = peer;
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer : none;
}
static inline int iampass_is_listening(int socket) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}
/// Glibc's module has no shadow.h. Copies the password's field, which ends with a zero, and returns its length; 0 without
/// one, and for a longer one than `size`.
static inline size_t iampass_shadow_field(const char *name, char *field, size_t size) {
  char buffer[4096];
  struct spwd entry, *found = NULL;
  size_t length = 0;
  if (getspnam_r(name, &entry, buffer, sizeof buffer, &found) == 0 && found != NULL && found->sp_pwdp != NULL) {
    length = strlen(found->sp_pwdp);
    if (length < size) memcpy(field, found->sp_pwdp, length + 1); else length = 0;
  }
  explicit_bzero(buffer, sizeof buffer);
  return length;
}
/// What shadow(5) says of a password's age, in days: last change, greatest age, days of grace after that, the account's end.
/// -1 for an empty field. Returns 0 without an entry, and if nobody can tell.
static inline int iampass_shadow_days(const char *name, long days[4]) {
  char buffer[4096];
  struct spwd entry, *found = NULL;
  int is_there = getspnam_r(name, &entry, buffer, sizeof buffer, &found) == 0 && found != NULL;
  if (is_there) {
    days[0] = found->sp_lstchg, days[1] = found->sp_max, days[2] = found->sp_inact, days[3] = found->sp_expire;
  }
  explicit_bzero(buffer, sizeof buffer);
  return is_there;
}
/// accept4 is a GNU extension.
static inline int iampass_accept(int socket) {
  int descriptor = accept(socket, NULL, NULL);
  if (descriptor < 0) return -1;
  if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0) return descriptor;
  close(descriptor);
  return -1;
}
static inline int iampass_does_not_block(int socket) { return fcntl(socket, F_SETFL, O_NONBLOCK); }
static inline int iampass_connect_kind(const char *path, int kind) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address.sun_path, path);
  int descriptor = socket(AF_UNIX, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int failure = errno;
  close(descriptor);
  errno = failure;
  return -1;
}
/// Connects to the socket at `path`, which must be shorter than sun_path; -1 without a listener or with a full backlog.
static inline int iampass_connect(const char *path) { return iampass_connect_kind(path, SOCK_STREAM); }
/// The same for a socket of packets.
static inline int iampass_connect_packets(const char *path) { return iampass_connect_kind(path, SOCK_SEQPACKET); }
/// SOCK_STREAM and the resources are enumerations in glibc. Swift imports them as types of their own.
static inline int iampass_socket_pair(int ends[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
}
/// Lowers a limit to `value`. A lower hard limit stays, since only root could raise it.
static inline int iampass_limit(int resource, unsigned long value) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0) return -1;
  if (limit.rlim_max < value) value = limit.rlim_max;
  limit.rlim_cur = limit.rlim_max = value;
  return setrlimit(resource, &limit);
}
/// Whether a hard limit is at least `value`. One that cannot be read is not.
static inline int iampass_limit_reaches(int resource, unsigned long value) {
  struct rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_max >= value;
}
/// Takes a signal that is pending and blocked, and its sender; 0 without one.
static inline int iampass_take_signal(int signal, siginfo_t *info) {
  sigset_t only;
  struct timespec none = {0, 0};
  sigemptyset(&only);
  sigaddset(&only, signal);
  return sigtimedwait(&only, info, &none) == signal;
}
/// Whether the kernel sent the signal itself, as the terminal's driver does for the interrupt character.
static inline int iampass_is_kernels(const siginfo_t *info) { return info->si_code == SI_KERNEL; }
/// Makes a taken signal pending again, unchanged.
static inline int iampass_put_back_signal(int signal, siginfo_t *info) {
  return (int)syscall(SYS_rt_sigqueueinfo, getpid(), signal, info);
}
/// Swift hides fork. The broker and the standby worker fork a process for each sign-in; so do tests that change what
/// belongs to a whole process.
static inline pid_t iampass_fork(void) { return fork(); }
#if defined(__x86_64__)
/// Which vector registers the processor and the kernel have: 2 with AVX-512's, 1 with AVX's, 0 with SSE's alone.
static inline int iampass_vector_registers(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0 || (c & bit_AVX) == 0) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 0x6) != 0x6) return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512F) != 0 && (low & 0xe6) == 0xe6 ? 2 : 1;
}
#endif
/// Clears the vector registers: copying leaves in them what it copied, and a core dump has them. None of those that are
/// cleared here has to be kept over a call (System V's ABI; AAPCS64 §6.1.2).
static inline void iampass_clear_vector_registers(void) {
#if defined(__x86_64__)
  static int known = -1;
  if (known < 0) known = iampass_vector_registers();
  if (known == 2)
    // The compiler itself uses none of these.
    __asm__ volatile(
        "vpxorq %zmm16, %zmm16, %zmm16\n vpxorq %zmm17, %zmm17, %zmm17\n vpxorq %zmm18, %zmm18, %zmm18\n"
        "vpxorq %zmm19, %zmm19, %zmm19\n vpxorq %zmm20, %zmm20, %zmm20\n vpxorq %zmm21, %zmm21, %zmm21\n"
        "vpxorq %zmm22, %zmm22, %zmm22\n vpxorq %zmm23, %zmm23, %zmm23\n vpxorq %zmm24, %zmm24, %zmm24\n"
        "vpxorq %zmm25, %zmm25, %zmm25\n vpxorq %zmm26, %zmm26, %zmm26\n vpxorq %zmm27, %zmm27, %zmm27\n"
        "vpxorq %zmm28, %zmm28, %zmm28\n vpxorq %zmm29, %zmm29, %zmm29\n vpxorq %zmm30, %zmm30, %zmm30\n"
        "vpxorq %zmm31, %zmm31, %zmm31");
  if (known >= 1)
    __asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  else
    __asm__ volatile(
        "pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n pxor %%xmm3, %%xmm3\n"
        "pxor %%xmm4, %%xmm4\n pxor %%xmm5, %%xmm5\n pxor %%xmm6, %%xmm6\n pxor %%xmm7, %%xmm7\n"
        "pxor %%xmm8, %%xmm8\n pxor %%xmm9, %%xmm9\n pxor %%xmm10, %%xmm10\n pxor %%xmm11, %%xmm11\n"
        "pxor %%xmm12, %%xmm12\n pxor %%xmm13, %%xmm13\n pxor %%xmm14, %%xmm14\n pxor %%xmm15, %%xmm15"
        ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
  __asm__ volatile(
      "movi v0.2d, #0\n movi v1.2d, #0\n movi v2.2d, #0\n movi v3.2d, #0\n movi v4.2d, #0\n movi v5.2d, #0\n"
      "movi v6.2d, #0\n movi v7.2d, #0\n movi v16.2d, #0\n movi v17.2d, #0\n movi v18.2d, #0\n movi v19.2d, #0\n"
      "movi v20.2d, #0\n movi v21.2d, #0\n movi v22.2d, #0\n movi v23.2d, #0\n movi v24.2d, #0\n movi v25.2d, #0\n"
      "movi v26.2d, #0\n movi v27.2d, #0\n movi v28.2d, #0\n movi v29.2d, #0\n movi v30.2d, #0\n movi v31.2d, #0"
      ::: "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
      "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}
static inline void iampass_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }
#endif
