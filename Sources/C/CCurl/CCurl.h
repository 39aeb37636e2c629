// Why this shim: curl_easy_setopt and curl_easy_getinfo are variadic, and Swift cannot call them. One wrapper for each
// kind of value keeps the compiler's type checks. libcurl also leaves two rules about certificates to OpenSSL's
// context.
#ifndef IAMPASS_CCURL_H
#define IAMPASS_CCURL_H
#include <curl/curl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <sys/epoll.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl 7.87 or later: before CURLOPT_QUICK_EXIT a silent name server holds up everything"
#endif

static inline CURLcode iampass_curl_number(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode iampass_curl_size(CURL *easy, CURLoption option, long long value) {
  return curl_easy_setopt(easy, option, (curl_off_t)value);
}
static inline CURLcode iampass_curl_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode iampass_curl_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode iampass_curl_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLMcode iampass_curl_multi_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
typedef int (*iampass_curl_multi_socket)(CURL *easy, curl_socket_t socket, int interest, void *owner, void *unused);
static inline CURLMcode iampass_curl_multi_on_socket(CURLM *multi, void *owner, iampass_curl_multi_socket call) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, owner);
  return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, call) : code;
}
typedef int (*iampass_curl_multi_timer)(CURLM *multi, long milliseconds, void *owner);
static inline CURLMcode iampass_curl_multi_on_timer(CURLM *multi, void *owner, iampass_curl_multi_timer call) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, owner);
  return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, call) : code;
}
/// Runs all handles and reports all their sockets. libcurl deprecates this function as slow for thousands of handles.
/// No other function does both.
static inline void iampass_curl_multi_drive(CURLM *multi, int *running) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  curl_multi_socket_all(multi, running);
#pragma GCC diagnostic pop
}
/// The bytes must outlive the handle.
static inline CURLcode iampass_curl_bytes(CURL *easy, CURLoption option, const void *bytes, size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_NOCOPY};
  return curl_easy_setopt(easy, option, &blob);
}
/// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
typedef size_t (*iampass_curl_taker)(char *bytes, size_t size, size_t count, void *owner);
static inline CURLcode iampass_curl_on_bytes(CURL *easy, CURLoption option, iampass_curl_taker taker) {
  return curl_easy_setopt(easy, option, taker);
}
typedef int (*iampass_curl_lookup)(void *resolver, void *reserved, void *owner);
static inline CURLcode iampass_curl_on_lookup(CURL *easy, iampass_curl_lookup call) {
  return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, call);
}
typedef int (*iampass_curl_socket)(void *owner, curl_socket_t socket, curlsocktype purpose);
static inline CURLcode iampass_curl_on_socket(CURL *easy, iampass_curl_socket call) {
  return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, call);
}
typedef CURLcode (*iampass_curl_context)(CURL *easy, void *context, void *owner);
static inline CURLcode iampass_curl_on_context(CURL *easy, iampass_curl_context call) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, call);
}
typedef int (*iampass_curl_ready)(void *owner, char *peer, char *own, int peer_port, int own_port);
static inline CURLcode iampass_curl_on_ready(CURL *easy, iampass_curl_ready call) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, call);
}
/// For CURLINFO values of type long.
static inline long iampass_curl_info(CURL *easy, CURLINFO info) {
  long value = 0;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}
/// A transfer that ended, with its result in `result`, or NULL.
static inline CURL *iampass_curl_finished(CURLM *multi, CURLcode *result) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

/// Adds or changes a descriptor. Swift cannot read epoll_event, which is packed and contains a union.
static inline int iampass_epoll_watch(int epoll, int descriptor, uint32_t events) {
  struct epoll_event event = {events, {.fd = descriptor}};
  return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0 ? 0
                                                                  : epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}
typedef struct {
  int descriptor;
  uint32_t events;
} iampass_epoll_news;
#define IAMPASS_EPOLL_MOST 32
/// Waits. Fills in up to IAMPASS_EPOLL_MOST events and returns their number, or -1.
static inline int iampass_epoll_take(int epoll, int milliseconds, iampass_epoll_news *news) {
  struct epoll_event events[IAMPASS_EPOLL_MOST];
  int count = epoll_wait(epoll, events, IAMPASS_EPOLL_MOST, milliseconds);
  for (int index = 0; index < count; index++)
    news[index] = (iampass_epoll_news){events[index].data.fd, events[index].events};
  return count;
}

/// Makes two rules strict, and returns true if both hold. Without alternative names in a certificate, libcurl would
/// accept the subject's CN, which RFC 9110 §4.3.4 forbids. The system's openssl.cnf may lower the security level.
static inline int iampass_tls_restrict(void *context, const char *host, int is_address) {
  X509_VERIFY_PARAM *checks = SSL_CTX_get0_param((SSL_CTX *)context);
  X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_CTX_get_security_level((SSL_CTX *)context) < 2) SSL_CTX_set_security_level((SSL_CTX *)context, 2);
  return is_address ? X509_VERIFY_PARAM_set1_ip_asc(checks, host) : X509_VERIFY_PARAM_set1_host(checks, host, 0);
}
/// Begins a handshake without a peer. OpenSSL looks up its algorithms then, which takes as long as the rest of a
/// connection. Processes that are forked afterwards do not repeat it. An error here occurs again in a real connection,
/// which reports it.
static inline void iampass_tls_warm_up(void) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  SSL *connection = context ? SSL_new(context) : NULL;
  BIO *in = connection ? BIO_new(BIO_s_mem()) : NULL;
  BIO *out = connection ? BIO_new(BIO_s_mem()) : NULL;
  if (in && out) {
    SSL_set_bio(connection, in, out);
    SSL_connect(connection);
  } else {
    BIO_free(in);
    BIO_free(out);
  }
  SSL_free(connection);
  SSL_CTX_free(context);
  ERR_clear_error();
}
#endif
