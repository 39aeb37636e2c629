// Why this shim: SwiftPM needs a header of its own to find libfido2 by pkg-config.
#ifndef IAMPASS_CFIDO2_H
#define IAMPASS_CFIDO2_H
#include <fido.h>
#include <fido/es256.h>
#endif
