// Why this shim: SwiftPM needs a header of its own to find libpq by pkg-config.
#ifndef IAMPASS_CPOSTGRESQL_H
#define IAMPASS_CPOSTGRESQL_H
#include <libpq-fe.h>
#endif
