// What a module must leave of its process as it was, as text with a line for each thing. For pam_host.c.

#define _GNU_SOURCE
#include <dirent.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GREATEST_STATE = 65536 };

extern char **environ;

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
