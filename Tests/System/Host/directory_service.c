// A directory of users that can be away: libnss_iampasstest.so.2 on the booted host, for all of its programs. USERS has
// them as /etc/passwd does. While AWAY is there, every question fails as that file says: "STATUS ERRNO".

#define _GNU_SOURCE
#include <errno.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define USERS "/etc/iampasstest-users"
#define AWAY "/run/iampasstest-away"

static int is_away(enum nss_status *status, int *number) {
  int code, error;
  FILE *file = fopen(AWAY, "re");
  if (file == NULL) return 0;
  int fields = fscanf(file, "%d %d", &code, &error);
  fclose(file);
  if (fields != 2) return 0;
  *status = code;
  *number = error;
  return 1;
}

static enum nss_status find(
    const char *name, uid_t uid, struct passwd *entry, char *buffer, size_t length, int *number) {
  enum nss_status status = NSS_STATUS_NOTFOUND;
  if (is_away(&status, number)) return status;
  FILE *file = fopen(USERS, "re");
  if (file == NULL) return NSS_STATUS_NOTFOUND;
  struct passwd *found;
  int outcome;
  while ((outcome = fgetpwent_r(file, entry, buffer, length, &found)) == 0) {
    if (name != NULL ? strcmp(entry->pw_name, name) == 0 : entry->pw_uid == uid) {
      status = NSS_STATUS_SUCCESS;
      break;
    }
  }
  fclose(file);
  if (outcome == ERANGE) {
    *number = ERANGE;
    return NSS_STATUS_TRYAGAIN;
  }
  return status;
}

enum nss_status _nss_iampasstest_getpwnam_r(
    const char *name, struct passwd *entry, char *buffer, size_t length, int *number) {
  return find(name, 0, entry, buffer, length, number);
}

enum nss_status _nss_iampasstest_getpwuid_r(
    uid_t uid, struct passwd *entry, char *buffer, size_t length, int *number) {
  return find(NULL, uid, entry, buffer, length, number);
}
