#include <security/pam_modules.h>
