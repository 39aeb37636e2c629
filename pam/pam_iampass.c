// The PAM side of pam_iampass.so. It hands each call to Swift, and refuses a call only if memory is short.
//
// It also hides a setuid program's SWIFT_* variables from the Swift runtime, since the caller chose them. The runtime
// reads them when it is loaded (SWIFT_BACKTRACE installs signal handlers) and at first use.

#define PAM_SM_AUTH
#define PAM_SM_ACCOUNT
#define PAM_SM_SESSION
#define PAM_SM_PASSWORD

#include "pam_iampass.h"

#include "HiddenVariables.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <syslog.h>

#include <security/pam_ext.h>
#include <security/pam_modules.h>

// From libswiftCore.a: reads every SWIFT_* variable once. Linking fails if a toolchain changes these names.
extern void swift_once(void *token, void (*function)(void *), void *context);
extern char environment_token __asm__("_ZN5swift7runtime11environment15initializeTokenE");
extern void environment_initialize(void *) __asm__("_ZN5swift7runtime11environment10initializeEPv");
extern char **_swift_stdlib_getUnsafeArgvArgc(int *count);
extern void _swift_stdlib_overrideUnsafeArgvArgc(char **words, int count);

/// The Swift runtime reads an environment without these variables.
static void hide_variables(void) { iampass_hide_variables("SWIFT_"); }

/// Runs after every other initializer. The runtime has then read an environment without these variables, and the host
/// gets them back.
static void show_variables(void) {
  swift_once(&environment_token, environment_initialize, NULL);
  iampass_show_variables();
}

// Numbered sections run in order. The runtime's own initializers count as 65536.
__attribute__((section(".init_array.00101"), used)) static void (*const first)(void) = hide_variables;
__attribute__((section(".init_array.99999"), used)) static void (*const last)(void) = show_variables;

// In place of libswiftCore.a's own, which is not linked then. It reads all of /proc/self/maps when it is loaded, to find
// the host's arguments, for Swift's CommandLine. This module does not use that.
char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
  static char *none[] = {NULL};
  *count = 0;
  return none;
}
void _swift_stdlib_overrideUnsafeArgvArgc(char **words, int count) { (void)words, (void)count; }

/// In bytes: many times what a login needs, unless `ca_file` has a megabyte.
enum { MEMORY_OF_A_CALL = 4 << 20 };

/// Swift ends the process if memory runs out, and a caller of su can set RLIMIT_AS low. This checks beforehand.
static bool has_memory(void) {
  void *room = mmap(NULL, MEMORY_OF_A_CALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, MEMORY_OF_A_CALL);
  return true;
}

/// Whether a phone signed in on this handle. Swift keeps these names in PAM's data or, for sshd, in PAM's environment.
static bool has_signed_in(pam_handle_t *handle) {
  const void *kept = NULL;
  return pam_getenv(handle, "IAMPASS_SESSION") != NULL || pam_get_data(handle, "iampass_session", &kept) == PAM_SUCCESS;
}

int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  if (!has_memory()) {
    pam_syslog(handle, LOG_ERR, "refused: too little memory for a sign-in");
    return PAM_AUTHINFO_UNAVAIL;
  }
  return iampass_authenticate(handle, count, words);
}

int pam_sm_open_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  // A session that must be watched is refused. A session by password does not concern us.
  if (!has_memory()) return has_signed_in(handle) ? PAM_SESSION_ERR : PAM_SUCCESS;
  return iampass_open_session(handle, count, words);
}

int pam_sm_close_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  // The helper notices by itself when a session ends.
  if (!has_memory()) return PAM_SUCCESS;
  return iampass_close_session(handle, count, words);
}

int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **words) {
  // If memory is short, the session ends with the handle.
  bool is_renewal = flags & (PAM_REINITIALIZE_CRED | PAM_REFRESH_CRED);
  if (!is_renewal || !has_memory()) return PAM_SUCCESS;
  return iampass_renew_credentials(handle, count, words);
}

int pam_sm_acct_mgmt(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_IGNORE;
}

int pam_sm_chauthtok(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_IGNORE;
}
