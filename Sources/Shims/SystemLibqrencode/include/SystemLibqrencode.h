// QR codes by the system's libqrencode, which is opened when a sign-in without a network shows one: no other loads it.
#ifndef IAMPASS_SYSTEM_LIBQRENCODE_H
#define IAMPASS_SYSTEM_LIBQRENCODE_H
#include <stddef.h>

/// Modules of the side of the greatest code (ISO/IEC 18004, version 40).
#define IAMPASS_QR_GREATEST 177

/// Writes the code of a text, row by row: 1 for a dark module.
///
/// Returns the modules of a side; 0 if there is no libqrencode, or the text does not fit into a code.
int iampass_qr_code(const char *text, unsigned char modules[IAMPASS_QR_GREATEST * IAMPASS_QR_GREATEST]);

#endif
