// Why this shim: sd_bus_call_method and sd_bus_message_read are variadic, which Swift cannot call.
#ifndef IAMPASS_CSYSTEMD_H
#define IAMPASS_CSYSTEMD_H
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#endif
