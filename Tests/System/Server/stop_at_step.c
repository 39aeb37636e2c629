// Preloaded: ends or signals a program just before its Nth change of a file. STEP_LIMIT is N; STEP_SIGNAL is the number.
// Without STEP_LIMIT it counts alone. The count goes to the file STEP_COUNT once the program ends by itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long steps;

static void step(void) {
  const char *limit = getenv("STEP_LIMIT"), *number = getenv("STEP_SIGNAL");
  if (atomic_fetch_add(&steps, 1) + 1 == (limit ? atol(limit) : 0)) kill(getpid(), number ? atoi(number) : SIGKILL);
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("STEP_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) {
    fprintf(file, "%ld\n", atomic_load(&steps));
    fclose(file);
  }
}

#define FOLLOW(kind, name, parameters, arguments)                       \
  kind name parameters {                                                \
    static kind(*next) parameters;                                      \
    if (!next) next = (kind(*) parameters)dlsym(RTLD_NEXT, #name);      \
    step();                                                             \
    return next arguments;                                              \
  }

FOLLOW(int, rename, (const char *from, const char *to), (from, to))
FOLLOW(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
FOLLOW(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags))
FOLLOW(int, unlink, (const char *path), (path))
FOLLOW(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
FOLLOW(int, link, (const char *from, const char *to), (from, to))
FOLLOW(int, linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
FOLLOW(int, mkdir, (const char *path, mode_t mode), (path, mode))
FOLLOW(int, rmdir, (const char *path), (path))
FOLLOW(int, chmod, (const char *path, mode_t mode), (path, mode))
FOLLOW(int, fchmod, (int file, mode_t mode), (file, mode))
FOLLOW(int, chown, (const char *path, uid_t user, gid_t group), (path, user, group))
FOLLOW(int, fchown, (int file, uid_t user, gid_t group), (file, user, group))
FOLLOW(int, fsync, (int file), (file))
FOLLOW(int, fdatasync, (int file), (file))
FOLLOW(int, ftruncate, (int file, off_t size), (file, size))
FOLLOW(int, ftruncate64, (int file, off64_t size), (file, size))
FOLLOW(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count))
FOLLOW(ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
FOLLOW(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
