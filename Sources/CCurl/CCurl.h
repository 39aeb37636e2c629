// Why this shim: curl_easy_setopt and curl_easy_getinfo are variadic, which Swift cannot call.
#ifndef IAMPASS_CCURL_H
#define IAMPASS_CCURL_H
#include <curl/curl.h>
#endif
