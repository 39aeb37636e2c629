// Stands in for pidfds under valgrind 3.19 (Debian 12), which knows none: in LD_PRELOAD of the PAM host. A descriptor
// stands for a child, and becomes readable once the child was killed through it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GREATEST_DESCRIPTOR = 1024, WAIT_BY_PIDFD = 3 };

static pid_t child_of[GREATEST_DESCRIPTOR];

static int open_one(pid_t child) {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0 || descriptor >= GREATEST_DESCRIPTOR) return -1;
  child_of[descriptor] = child;
  return descriptor;
}

static int signal_one(int descriptor, int number) {
  siginfo_t info;
  uint64_t one = 1;
  if (kill(child_of[descriptor], number) != 0) return -1;
  if (number != SIGKILL) return 0;
  // Left to be waited for by its owner.
  waitid(P_PID, (id_t)child_of[descriptor], &info, WEXITED | WNOWAIT);
  return write(descriptor, &one, sizeof one) == sizeof one ? 0 : -1;
}

long syscall(long number, ...) {
  long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  long given[6];
  va_list values;
  va_start(values, number);
  for (int index = 0; index < 6; index++) given[index] = va_arg(values, long);
  va_end(values);
  if (number == SYS_pidfd_open) return open_one((pid_t)given[0]);
  if (number == SYS_pidfd_send_signal) return signal_one((int)given[0], (int)given[1]);
  return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

int waitid(idtype_t kind, id_t id, siginfo_t *info, int options) {
  int (*next)(idtype_t, id_t, siginfo_t *, int) =
      (int (*)(idtype_t, id_t, siginfo_t *, int))dlsym(RTLD_NEXT, "waitid");
  if ((int)kind != WAIT_BY_PIDFD) return next(kind, id, info, options);
  return next(P_PID, (id_t)child_of[id], info, options);
}

// A copy stands for the same child.
static int control(const char *name, int descriptor, int command, long given) {
  int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
  int result = next(descriptor, command, given);
  if (command == F_DUPFD_CLOEXEC && result >= 0 && result < GREATEST_DESCRIPTOR && descriptor < GREATEST_DESCRIPTOR)
    child_of[result] = child_of[descriptor];
  return result;
}

int fcntl(int descriptor, int command, ...) {
  va_list values;
  va_start(values, command);
  long given = va_arg(values, long);
  va_end(values);
  return control("fcntl", descriptor, command, given);
}

int fcntl64(int descriptor, int command, ...) {
  va_list values;
  va_start(values, command);
  long given = va_arg(values, long);
  va_end(values);
  return control("fcntl64", descriptor, command, given);
}
