// Why this shim: curl_easy_setopt and curl_easy_getinfo are variadic, and Swift cannot call them. One wrapper for each
// kind of value keeps the compiler's type checks. libcurl also leaves two rules about certificates to OpenSSL's
// context.
#ifndef IAMPASS_CCURL_H
#define IAMPASS_CCURL_H
#include <curl/curl.h>
#include <errno.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

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
typedef curl_socket_t (*iampass_curl_open)(void *owner, curlsocktype purpose, struct curl_sockaddr *address);
static inline CURLcode iampass_curl_on_open(CURL *easy, iampass_curl_open call) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, call);
}
/// The `addrlen` bytes of an address. libcurl keeps room for every family there; the declared type is too short.
static inline const void *iampass_curl_address(const struct curl_sockaddr *address) { return &address->addr; }
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

/// Whether this computer has no address from which it could reach this one. A UDP socket sends nothing here, and gets
/// EAGAIN without a free port, where TCP gets the same error for both (EADDRNOTAVAIL, connect(2)).
static inline int iampass_lacks_source(int family, const void *address, uint32_t length) {
  int made = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (made < 0) return 0;
  int lacks = connect(made, (const struct sockaddr *)address, length) != 0 && errno == EADDRNOTAVAIL;
  close(made);
  return lacks;
}
/// Begins to connect. Returns the socket, or a negative errno. EAFNOSUPPORT also stands for a family of which this
/// computer has no address.
///
/// libcurl 7.88 calls connect(2) again on the connected socket. The kernel then returns 0 once, since the first call
/// did not wait.
static inline int iampass_connect_begin(int family, const void *address, uint32_t length) {
  int made = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -errno;
  if (connect(made, (const struct sockaddr *)address, length) == 0 || errno == EINPROGRESS) return made;
  int error = errno;
  close(made);
  if (error == EADDRNOTAVAIL && iampass_lacks_source(family, address, length)) error = EAFNOSUPPORT;
  return -error;
}
/// 0: connected. EINPROGRESS: not yet. Anything else is why it failed (connect(2), EINPROGRESS).
static inline int iampass_connect_state(int connecting) {
  int error = 0;
  socklen_t length = sizeof error;
  struct sockaddr_storage peer;
  if (getsockopt(connecting, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  if (error != 0) return error;
  length = sizeof peer;
  if (getpeername(connecting, (struct sockaddr *)&peer, &length) == 0) return 0;
  return errno == ENOTCONN ? EINPROGRESS : errno;
}

/// Makes two rules strict, and returns true if both hold. Without alternative names in a certificate, libcurl would
/// accept the subject's CN, which RFC 9110 §4.3.4 forbids. The system's openssl.cnf may lower the security level.
static inline int iampass_tls_restrict(void *context, const char *host, int is_address) {
  X509_VERIFY_PARAM *checks = SSL_CTX_get0_param((SSL_CTX *)context);
  X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_CTX_get_security_level((SSL_CTX *)context) < 2) SSL_CTX_set_security_level((SSL_CTX *)context, 2);
  return is_address ? X509_VERIFY_PARAM_set1_ip_asc(checks, host) : X509_VERIFY_PARAM_set1_host(checks, host, 0);
}
/// A certificate that signs itself, in PEM as the settings bring one. NULL if memory or randomness is short.
static inline X509 *iampass_own_certificate(EVP_PKEY *key) {
  X509 *made = X509_new(), *read = NULL;
  BIO *text = BIO_new(BIO_s_mem());
  if (made && text && X509_set_version(made, X509_VERSION_3) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(made), 1) == 1
      && X509_gmtime_adj(X509_getm_notBefore(made), -86400) && X509_gmtime_adj(X509_getm_notAfter(made), 86400)
      && X509_set_pubkey(made, key) == 1 && X509_sign(made, key, EVP_sha256()) > 0 && PEM_write_bio_X509(text, made) == 1)
    read = PEM_read_bio_X509(text, NULL, NULL, NULL);
  BIO_free(text);
  X509_free(made);
  return read;
}
/// Both ends of a connection, in memory, with a byte from the second to the first.
static inline void iampass_tls_talk(SSL *client, SSL *server) {
  BIO *near, *far;
  if (BIO_new_bio_pair(&near, 0, &far, 0) != 1) return;
  SSL_set_bio(client, near, near);
  SSL_set_bio(server, far, far);
  char byte = 0;
  // A handshake takes three turns.
  for (int turn = 0; turn < 8; turn++) {
    SSL_connect(client);
    if (SSL_accept(server) == 1) SSL_write(server, &byte, 1);
    if (SSL_is_init_finished(client) && SSL_read(client, &byte, 1) == 1) break;
  }
}
/// Makes a connection between two ends in memory, with a key that nobody else has. OpenSSL looks up its algorithms at
/// their first use, which takes as long as the rest of a connection. Processes that are forked afterwards do not repeat
/// it. An error here occurs again in a real connection, which reports it.
static inline void iampass_tls_warm_up(void) {
  SSL_CTX *clients = SSL_CTX_new(TLS_client_method()), *servers = SSL_CTX_new(TLS_server_method());
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = key ? iampass_own_certificate(key) : NULL;
  if (clients && servers && certificate && SSL_CTX_use_certificate(servers, certificate) == 1
      && SSL_CTX_use_PrivateKey(servers, key) == 1
      && X509_STORE_add_cert(SSL_CTX_get_cert_store(clients), certificate) == 1) {
    SSL_CTX_set_verify(clients, SSL_VERIFY_PEER, NULL);
    SSL *client = SSL_new(clients), *server = SSL_new(servers);
    if (client && server) iampass_tls_talk(client, server);
    SSL_free(client);
    SSL_free(server);
  }
  X509_free(certificate);
  EVP_PKEY_free(key);
  SSL_CTX_free(clients);
  SSL_CTX_free(servers);
  ERR_clear_error();
}
#endif
