// Loaded into a worker: when it first waits for something, says by descriptor 5 what it can do, a line each: where it
// is, what was tried, and errno (0: it worked).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { OUTPUT = 5 };
static long key;
static char file[256], path[108];

__attribute__((constructor)) static void remember(void) {
  const char *text = getenv("PROBE_KEY");
  key = text ? atol(text) : 0;
  // Before the environment is cleared.
  snprintf(file, sizeof file, "%s", getenv("PROBE_FILE") ? getenv("PROBE_FILE") : "");
  snprintf(path, sizeof path, "%s", getenv("PROBE_SOCKET") ? getenv("PROBE_SOCKET") : "");
}

static void say(const char *where, const char *what, int code) { dprintf(OUTPUT, "%s %s %d\n", where, what, code); }
static void tried(const char *where, const char *what, long result) { say(where, what, result < 0 ? errno : 0); }

static void *nothing(void *unused) { return unused; }

static void open_and_say(const char *where, const char *what, const char *name, int flags) {
  int descriptor = open(name, flags | O_CLOEXEC, 0600);
  tried(where, what, descriptor);
  if (descriptor >= 0) close(descriptor);
}

static void try_files(const char *where) {
  open_and_say(where, "read_resolver", "/etc/resolv.conf", O_RDONLY);
  open_and_say(where, "read_certificates", "/etc/ssl/certs", O_RDONLY | O_DIRECTORY);
  open_and_say(where, "read_other", file, O_RDONLY);
  open_and_say(where, "write_other", file, O_WRONLY);
  open_and_say(where, "make_file", "/tmp/iampass-made-by-a-worker", O_WRONLY | O_CREAT);
}

static void try_sockets(const char *where) {
  for (int family = 0; family < 50; family++) {
    char what[32];
    snprintf(what, sizeof what, "socket_%d", family);
    long descriptor = syscall(SYS_socket, family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    tried(where, what, descriptor);
    if (descriptor >= 0) close((int)descriptor);
  }
  tried(where, "socket_beyond", syscall(SYS_socket, 1 << 20, SOCK_STREAM, 0));
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, path);
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  tried(where, "connect_daemon", connect(descriptor, (struct sockaddr *)&address, sizeof address));
  close(descriptor);
}

static void try_name_lookup(const char *where) {
  struct addrinfo *found = NULL;
  say(where, "getaddrinfo", getaddrinfo("localhost", "443", NULL, &found));
  if (found) freeaddrinfo(found);
  void *module = dlopen("libnss_compat.so.2", RTLD_NOW);
  say(where, "load_module", module ? 0 : 1);
}

static void try_processes(const char *where) {
  pthread_t thread;
  say(where, "thread", pthread_create(&thread, NULL, nothing, NULL));
  pthread_join(thread, NULL);
  long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  tried(where, "fork", child);
  tried(where, "clone_user", syscall(SYS_clone, CLONE_THREAD | CLONE_NEWUSER, 0, 0, 0, 0));
  tried(where, "clone3", syscall(SYS_clone3, NULL, 0));
  tried(where, "ptrace", syscall(SYS_ptrace, PTRACE_PEEKDATA, getppid(), 0, 0));
  tried(where, "keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
  tried(where, "bpf", syscall(SYS_bpf, 0, NULL, 0));
  tried(where, "io_uring", syscall(425, 1, NULL));
  tried(where, "unshare", syscall(SYS_unshare, CLONE_NEWUSER));
  tried(where, "signal_others", syscall(SYS_tgkill, getppid(), getppid(), 0));
  tried(where, "memory_of_others", syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
  void *both = mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  tried(where, "write_and_run", both == MAP_FAILED ? -1 : 0);
  void *page = mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  tried(where, "run_written", mprotect(page, 4096, PROT_EXEC));
}

static void probe(const char *where) {
  try_files(where);
  try_sockets(where);
  try_name_lookup(where);
  try_processes(where);
  // Last: it would be this process's end.
  char *arguments[] = {"true", NULL};
  tried(where, "execve", syscall(SYS_execve, "/bin/true", arguments, NULL));
  say(where, "end", 0);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int milliseconds) {
  static int count;
  if (!count++) probe("speaking");
  return epoll_pwait(epoll, events, most, milliseconds, NULL);
}

int poll(struct pollfd *entries, nfds_t many, int milliseconds) {
  static int count;
  // Two: the logins' socket, and the workers that end.
  if (many == 2 && !count++) probe("waiting");
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  return ppoll(entries, many, milliseconds < 0 ? NULL : &time, NULL);
}

/// The last that a worker does before its keyring would be closed to it anyway.
int prctl(int option, ...) {
  va_list more;
  va_start(more, option);
  unsigned long value = va_arg(more, unsigned long);
  va_end(more);
  if (option == PR_SET_NO_NEW_PRIVS && key) {
    char text[64];
    tried("starting", "callers_key", syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof text));
  }
  return (int)syscall(SYS_prctl, option, value, 0, 0, 0);
}
