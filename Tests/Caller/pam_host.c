// A PAM host in C, for what Python would blur: threads and forks during a login, many logins in one process, and runs
// under gdb and valgrind. Prints `login CODE` for each, and `changed WHAT` for whatever of the process the module left
// otherwise than it was.
//
// usage: pam_host REPORT PAM_FOLDER SERVICE USER [count=N] [threads=N] [measure-after=N] [fork=continue|wait]
//                 [sigpipe=ignore|handle] [sigchld=ignore|handle] [close-standard] [limit=NAME:VALUE] [load=MODULE]
//
// REPORT is a file, since standard output may be closed.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GREATEST_STATE = 65536, GREATEST_THREADS = 64, LONGEST_CHILD = 60 };

static const char *folder, *service, *user;
static int report;
static char *fork_mode = "";
static pid_t child;
extern char **environ;

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...) {
  char line[1024];
  va_list values;
  va_start(values, format);
  int length = vsnprintf(line, sizeof line, format, values);
  va_end(values);
  // One write a line, so that those of threads and children stay whole.
  if (write(report, line, (size_t)length) != length) abort();
}

// What a module must leave as it was, a line each

static void add(char *state, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *state, const char *format, ...) {
  size_t used = strlen(state);
  va_list values;
  va_start(values, format);
  vsnprintf(state + used, GREATEST_STATE - used, format, values);
  va_end(values);
}

static void add_folder(char *state, const char *path, const char *what) {
  DIR *stream = opendir(path);
  if (stream == NULL) abort();
  char name[300], target[300];
  for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(stream)) continue;
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    ssize_t length = readlink(name, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = 0;
    add(state, "%s %s %s\n", what, entry->d_name, target);
  }
  closedir(stream);
}

static void add_signals(char *state) {
  for (int number = 1; number < NSIG; number++) {
    struct sigaction action = {0};
    if (sigaction(number, NULL, &action) != 0) continue;
    add(state, "signal %d %p %x", number, (void *)action.sa_handler, (unsigned)action.sa_flags);
    for (int other = 1; other < NSIG; other++) add(state, sigismember(&action.sa_mask, other) == 1 ? "1" : "0");
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    add(state, " blocked %d\n", sigismember(&blocked, number));
  }
}

static char *taken_state(void) {
  char *state = calloc(1, GREATEST_STATE);
  if (state == NULL) abort();
  add_folder(state, "/proc/self/fd", "descriptor");
  add_folder(state, "/proc/self/task", "thread");
  add_signals(state);
  add(state, "environment at %p\n", (void *)environ);
  for (char **entry = environ; *entry != NULL; entry++) add(state, "variable at %p %s\n", (void *)*entry, *entry);
  char place[4096];
  add(state, "folder %s\nlocale %s\n", getcwd(place, sizeof place), setlocale(LC_ALL, NULL));
  mode_t mask = umask(0);
  umask(mask);
  add(state, "umask %o\nusers %d %d groups %d %d\n", mask, getuid(), geteuid(), getgid(), getegid());
  return state;
}

static void tell_what_is_missing(char *from, const char *other, const char *sign) {
  char *copy = strdup(from), *rest = NULL;
  for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
    if (strstr(other, line) == NULL) tell("changed %s %s\n", sign, line);
  free(copy);
}

// What memory there is after so many: the kernel's view of it, and malloc's.
static long kibibytes_of(const char *format) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL || fscanf(file, format, &pages) != 1) abort();
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static long mapped_kibibytes(void) { return kibibytes_of("%ld"); }

static void tell_memory(int count) {
  struct mallinfo2 heap = mallinfo2();
  tell("memory %d mapped=%ld resident=%ld heap=%zu\n", count, mapped_kibibytes(), kibibytes_of("%*d %ld"),
       heap.uordblks + heap.hblkhd);
}

// The login

// Of failing_malloc.c, where that is loaded.
static long (*switch_failures)(bool);

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)messages, (void)data;
  *responses = calloc((size_t)count, sizeof **responses);
  if (*responses == NULL) return PAM_BUF_ERR;
  // A host that forks here has two processes inside the module's call.
  if (strcmp(fork_mode, "continue") == 0 && child == 0) {
    child = fork();
    if (child == 0) {
      child = -1;
      alarm(LONGEST_CHILD);
    }
  }
  return PAM_SUCCESS;
}

static int login(void) {
  pam_handle_t *handle = NULL;
  struct pam_conv conversation = {converse, NULL};
  int code = pam_start_confdir(service, user, &conversation, folder, &handle);
  if (code != PAM_SUCCESS) return 1000 + code;
  // As sudo asks for oneself at a terminal.
  pam_set_item(handle, PAM_TTY, "pts/7");
  pam_set_item(handle, PAM_RUSER, user);
  if (switch_failures != NULL) switch_failures(true);
  code = pam_authenticate(handle, 0);
  if (switch_failures != NULL) tell("allocations %ld\n", switch_failures(false));
  if (child == -1) {
    tell("login-of-child %d\n", code);
    pam_end(handle, code);
    _exit(0);
  }
  pam_end(handle, code);
  return code;
}

static void *log_in_many(void *count) {
  for (int number = 0; number < *(int *)count; number++) tell("login %d\n", login());
  return NULL;
}

static void log_in_by_threads(int threads, int count) {
  pthread_t started[GREATEST_THREADS];
  for (int number = 0; number < threads; number++)
    if (pthread_create(&started[number], NULL, log_in_many, &count) != 0) abort();
  for (int number = 0; number < threads; number++) pthread_join(started[number], NULL);
}

// Forks while another thread waits for the phone; the child holds all that is open until the login is over.
static void log_in_and_fork(void) {
  int one = 1, ends[2];
  pthread_t waiting;
  if (pipe2(ends, O_CLOEXEC) != 0 || pthread_create(&waiting, NULL, log_in_many, &one) != 0) abort();
  sleep(2);
  child = fork();
  if (child == 0) {
    char byte;
    alarm(LONGEST_CHILD);
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
  }
  pthread_join(waiting, NULL);
  close(ends[0]);
  close(ends[1]);
}

static void load_and_unload(const char *module) {
  void *library = dlopen(module, RTLD_NOW);
  if (library == NULL || dlsym(library, "pam_sm_authenticate") == NULL || dlclose(library) != 0) abort();
}

static void wait_for_child(void) {
  int status = 0;
  if (child <= 0 || waitpid(child, &status, 0) != child) return;
  tell("child %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  child = 0;
}

// The host's own ways

static void ignore_it(int number) { (void)number; }

static void dispose(int number, const char *how) {
  struct sigaction action = {.sa_handler = strcmp(how, "ignore") == 0 ? SIG_IGN : ignore_it};
  sigaction(number, &action, NULL);
}

static const char *option(int count, char **words, const char *name) {
  size_t length = strlen(name);
  for (int index = 5; index < count; index++)
    if (strncmp(words[index], name, length) == 0 && (words[index][length] == '=' || words[index][length] == 0))
      return words[index] + length + (words[index][length] == '=');
  return NULL;
}

// The limits of a login alone: before and after it the host's own work would fail.

static struct rlimit usual, low;
static int limited = -1;

// "NAME:VALUE"; of the address space (KiB) what the login may take beyond what is there, so that it means the same
// everywhere.
static void set_up_limit(const char *given) {
  static const struct { const char *name; int number; } limits[] = {
    {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}, {"FSIZE", RLIMIT_FSIZE}, {"AS", RLIMIT_AS},
  };
  for (size_t index = 0; index < sizeof limits / sizeof *limits; index++)
    if (strncmp(given, limits[index].name, strcspn(given, ":")) == 0) limited = limits[index].number;
  if (limited < 0 || getrlimit(limited, &usual) != 0) abort();
  low = usual;
  low.rlim_cur = (rlim_t)atol(strchr(given, ':') + 1);
}

static int limited_login(void) {
  if (limited < 0) return login();
  struct rlimit now = low;
  if (limited == RLIMIT_AS) now.rlim_cur = (rlim_t)(mapped_kibibytes() + (long)low.rlim_cur) * 1024;
  if (setrlimit(limited, &now) != 0) abort();
  int code = login();
  if (setrlimit(limited, &usual) != 0) abort();
  return code;
}

int main(int count, char **words) {
  if (count < 5) return 64;
  report = open(words[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  folder = words[2], service = words[3], user = words[4];
  const char *given;
  int logins = (given = option(count, words, "count")) ? atoi(given) : 1;
  int threads = (given = option(count, words, "threads")) ? atoi(given) : 0;
  int settled = (given = option(count, words, "measure-after")) ? atoi(given) : logins;
  const char *module = option(count, words, "load");
  if ((given = option(count, words, "fork"))) fork_mode = strdup(given);
  if ((given = option(count, words, "sigpipe"))) dispose(SIGPIPE, given);
  if ((given = option(count, words, "sigchld"))) dispose(SIGCHLD, given);
  if (option(count, words, "close-standard"))
    for (int number = 0; number < 3; number++) close(number);
  setlocale(LC_ALL, "C.UTF-8");
  umask(026);
  if ((given = option(count, words, "limit"))) set_up_limit(given);
  // SAFETY of the cast: POSIX wants dlsym(3) to work for functions.
  *(void **)&switch_failures = dlsym(RTLD_DEFAULT, "switch_failures");
  char *before = taken_state();
  if (threads > 0) log_in_by_threads(threads < GREATEST_THREADS ? threads : GREATEST_THREADS, logins);
  else if (strcmp(fork_mode, "wait") == 0) log_in_and_fork();
  else
    for (int number = 1; number <= logins; number++) {
      if (module != NULL) load_and_unload(module);
      else tell("login %d\n", limited_login());
      if (number == settled || number == logins) tell_memory(number);
    }
  char *after = taken_state();
  wait_for_child();
  tell_what_is_missing(before, after, "-");
  tell_what_is_missing(after, before, "+");
  free(before);
  free(after);
  tell("end\n");
  return 0;
}
