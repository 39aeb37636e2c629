// The functions of Sources/Computer/LoginModule/PAM/ModuleEntry.swift that the shim calls.
#ifndef IAMPASS_PAM_IAMPASS_H
#define IAMPASS_PAM_IAMPASS_H

#include <security/_pam_types.h>

int iampass_authenticate(pam_handle_t *handle, int count, const char **words);
int iampass_open_session(pam_handle_t *handle, int count, const char **words);
int iampass_renew_credentials(pam_handle_t *handle, int count, const char **words);
int iampass_close_session(pam_handle_t *handle, int count, const char **words);

#endif
