// Hides environment variables from a library while it is loaded into a setuid program, whose caller chose them.
#ifndef IAMPASS_HIDDEN_VARIABLES_H
#define IAMPASS_HIDDEN_VARIABLES_H

/// Hides each variable whose name begins with `prefix` until `iampass_show_variables`. No memory changes hands, and other
/// threads always see complete strings. One thread at a time may hide and show.
void iampass_hide_variables(const char *prefix);

/// Shows what was hidden.
void iampass_show_variables(void);

#endif
