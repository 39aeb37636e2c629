// A name service that can be away: libnss_iampasstest.so.2, in LD_LIBRARY_PATH of a PAM host whose own nsswitch.conf
// names it. It answers from the files NAMES (as /etc/passwd) and GROUPS (as /etc/group).
//
// NAMES_FAIL, GROUPS_FAIL and LISTS_FAIL, "FIRST LAST STATUS ERRNO", let the questions with these numbers fail, counted from 1 since
// the variable was set. ERRNO -1 leaves errno alone. No answer says in another way that it failed.

#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int fails(const char *variable, int *count, enum nss_status *status, int *number) {
  const char *text = getenv(variable);
  int first, last, code, error;
  if (text == NULL || sscanf(text, "%d %d %d %d", &first, &last, &code, &error) != 4) return 0;
  *count += 1;
  if (*count < first || *count > last) return 0;
  *status = code;
  if (error >= 0) *number = error;
  return 1;
}

static FILE *opened(const char *variable) {
  const char *path = getenv(variable);
  return path == NULL ? NULL : fopen(path, "re");
}

// As directories do: capitals are all the same, and a space stands for the underscore in a name (sssd's override_space).
static int is_same(const char *known, const char *asked) {
  char spelled[256];
  size_t length = strlen(asked);
  if (length >= sizeof spelled) return 0;
  for (size_t index = 0; index <= length; index++) spelled[index] = asked[index] == ' ' ? '_' : asked[index];
  return strcasecmp(known, spelled) == 0;
}

enum nss_status _nss_iampasstest_getpwnam_r(
    const char *name, struct passwd *entry, char *buffer, size_t length, int *number) {
  static int count;
  enum nss_status status = NSS_STATUS_NOTFOUND;
  if (fails("NAMES_FAIL", &count, &status, number)) return status;
  FILE *file = opened("NAMES");
  if (file == NULL) return NSS_STATUS_NOTFOUND;
  struct passwd *found;
  int outcome;
  while ((outcome = fgetpwent_r(file, entry, buffer, length, &found)) == 0) {
    if (is_same(entry->pw_name, name)) {
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

enum nss_status _nss_iampasstest_getgrnam_r(
    const char *name, struct group *entry, char *buffer, size_t length, int *number) {
  static int count;
  enum nss_status status = NSS_STATUS_NOTFOUND;
  if (fails("GROUPS_FAIL", &count, &status, number)) return status;
  FILE *file = opened("GROUPS");
  if (file == NULL) return NSS_STATUS_NOTFOUND;
  struct group *found;
  int outcome;
  while ((outcome = fgetgrent_r(file, entry, buffer, length, &found)) == 0) {
    if (strcmp(entry->gr_name, name) == 0) {
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

// What getgrouplist(3) asks, which cannot say that it failed.
enum nss_status _nss_iampasstest_initgroups_dyn(
    const char *name, gid_t primary, long *start, long *size, gid_t **groups, long limit, int *number) {
  static int count;
  enum nss_status status = NSS_STATUS_NOTFOUND;
  if (fails("LISTS_FAIL", &count, &status, number)) return status;
  FILE *file = opened("GROUPS");
  if (file == NULL) return NSS_STATUS_NOTFOUND;
  char buffer[4096];
  struct group entry, *found;
  while (*start < *size && *start != limit && fgetgrent_r(file, &entry, buffer, sizeof buffer, &found) == 0) {
    for (char **member = entry.gr_mem; *member != NULL; member++) {
      if (strcmp(*member, name) != 0 || entry.gr_gid == primary || *start == *size) continue;
      (*groups)[(*start)++] = entry.gr_gid;
      status = NSS_STATUS_SUCCESS;
    }
  }
  fclose(file);
  return status;
}
