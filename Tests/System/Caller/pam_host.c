// A PAM host in C, for what Python would blur: threads and forks during a login, many logins in one process, and runs
// under gdb and valgrind. Prints `login CODE` for each, and `changed WHAT` for whatever of the process the module left
// otherwise than it was.
//
// usage: pam_host REPORT PAM_FOLDER SERVICE USER [count=N] [threads=N] [measure-after=N] [fork=continue|wait]
//                 [sigpipe=ignore|handle] [sigchld=ignore|handle] [close-standard] [limit=NAME:VALUE] [load=MODULE]
//
// REPORT is a file, since standard output may be closed.

#include "process_state.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <security/pam_appl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

// LONGEST in seconds: of what a child or a thread is waited for.
enum { GREATEST_THREADS = 64, LONGEST = 60 };

static const char *folder, *service, *user;
static int report;
static const char *fork_mode = "";
static pid_t child;

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

static void tell_what_is_missing(char *from, const char *other, const char *sign) {
  char *copy = strdup(from), *rest = NULL;
  for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
    if (strstr(other, line) == NULL) tell("changed %s %s\n", sign, line);
  free(copy);
}

// The process's memory, in KiB: the kernel's view of it, and malloc's.
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

// From failing_malloc.c, if it is loaded.
static long (*switch_failures)(bool);

// The module says that the phone rings.
static atomic_bool has_spoken;

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)messages, (void)data;
  has_spoken = true;
  *responses = calloc((size_t)count, sizeof **responses);
  if (*responses == NULL) return PAM_BUF_ERR;
  // A host that forks here has two processes inside the module's call.
  if (strcmp(fork_mode, "continue") == 0 && child == 0) {
    child = fork();
    if (child == 0) {
      child = -1;
      alarm(LONGEST);
    }
  }
  return PAM_SUCCESS;
}

// The session of a user who signed in by password, before this module was asked anything.
static bool opens_alone;

static int opened_and_closed(pam_handle_t *handle) {
  int code = pam_open_session(handle, 0);
  return code == PAM_SUCCESS ? pam_close_session(handle, 0) : code;
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
  code = opens_alone ? opened_and_closed(handle) : pam_authenticate(handle, 0);
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
  for (int waited = 0; !has_spoken && waited < LONGEST * 100; waited++) usleep(10000);
  child = fork();
  if (child == 0) {
    char byte;
    alarm(LONGEST);
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
  // Some tests end it by a signal.
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  const char *given;
  int logins = (given = option(count, words, "count")) ? atoi(given) : 1;
  int threads = (given = option(count, words, "threads")) ? atoi(given) : 0;
  int settled = (given = option(count, words, "measure-after")) ? atoi(given) : logins;
  const char *module = option(count, words, "load");
  if ((given = option(count, words, "fork"))) fork_mode = given;
  if ((given = option(count, words, "sigpipe"))) dispose(SIGPIPE, given);
  if ((given = option(count, words, "sigchld"))) dispose(SIGCHLD, given);
  opens_alone = option(count, words, "session") != NULL;
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
  sigset_t pending;
  if (sigpending(&pending) == 0 && sigismember(&pending, SIGINT)) tell("pending SIGINT\n");
  wait_for_child();
  tell_what_is_missing(before, after, "-");
  tell_what_is_missing(after, before, "+");
  free(before);
  free(after);
  tell("end\n");
  return 0;
}
