// Why this shim: pam_syslog and pam_prompt are variadic, and the item getters take `const void **`.
#ifndef IAMPASS_CPAM_H
#define IAMPASS_CPAM_H
#include <security/pam_appl.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdlib.h>
#include <syslog.h>

/// Logs one line to the authpriv facility. `text` is never used as a format.
static inline void iampass_pam_log(const pam_handle_t *handle, int priority, const char *text) {
  pam_syslog(handle, LOG_AUTHPRIV | priority, "%s", text);
}

/// Shows one line, even with PAM_SILENT. `text` is never used as a format.
static inline int iampass_pam_say(pam_handle_t *handle, int style, const char *text) {
  return pam_prompt(handle, style, NULL, "%s", text);
}

/// Asks for one answer. `*answer` is NULL, or the caller wipes and frees it.
static inline int iampass_pam_ask(pam_handle_t *handle, const char *text, char **answer) {
  return pam_prompt(handle, PAM_PROMPT_ECHO_OFF, answer, "%s", text);
}

static inline const char *iampass_pam_item(const pam_handle_t *handle, int item) {
  const void *value = NULL;
  return pam_get_item(handle, item, &value) == PAM_SUCCESS ? (const char *)value : NULL;
}
#endif
