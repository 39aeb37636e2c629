// An HTTP/2 reply ends with END_STREAM (RFC 9113 §8.1). libcurl 7.88 also accepts a RST_STREAM with NO_ERROR. An
// attacker could cut a reply without a length, unnoticed. libcurl registers a callback for the end of a stream, and
// this file intercepts that call: a program's symbols come before those of its libraries.
#define _GNU_SOURCE
#include "WholeStreams.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct nghttp2_session nghttp2_session;
typedef struct nghttp2_session_callbacks nghttp2_session_callbacks;
typedef struct {
  size_t length;
  int32_t stream;
  uint8_t type, flags, reserved;
} frame_head;
typedef int (*on_close)(nghttp2_session *session, int32_t stream, uint32_t error, void *owner);
typedef int (*on_begin)(nghttp2_session *session, const frame_head *head, void *owner);

/// Constants of RFC 9113 §6.4 and §7.
enum { RST_STREAM = 3, NO_ERROR = 0, INTERNAL_ERROR = 2 };

static on_close libcurls;
static int (*has_peer_ended)(nghttp2_session *session, int32_t stream);

/// Streams that are reset before their end: at most one for each of eight connections.
static struct {
  nghttp2_session *session;
  int32_t stream;
} cut[32];
static unsigned int count;

/// Called before nghttp2 handles the frame, which would then count the stream as ended.
static int began(nghttp2_session *session, const frame_head *head, void *owner) {
  (void)owner;
  if (head->type == RST_STREAM && has_peer_ended(session, head->stream) != 1) {
    cut[count % 32].session = session;
    cut[count++ % 32].stream = head->stream;
  }
  return 0;
}

static int closed(nghttp2_session *session, int32_t stream, uint32_t error, void *owner) {
  for (int index = 0; index < 32; index++) {
    if (cut[index].session != session || cut[index].stream != stream) continue;
    cut[index].session = NULL;
    if (error == NO_ERROR) error = INTERNAL_ERROR;
  }
  return libcurls(session, stream, error, owner);
}

void nghttp2_session_callbacks_set_on_stream_close_callback(nghttp2_session_callbacks *callbacks, on_close call);
void nghttp2_session_callbacks_set_on_stream_close_callback(nghttp2_session_callbacks *callbacks, on_close call) {
  void (*set_close)(nghttp2_session_callbacks *, on_close) =
      dlsym(RTLD_NEXT, "nghttp2_session_callbacks_set_on_stream_close_callback");
  void (*set_begin)(nghttp2_session_callbacks *, on_begin) =
      dlsym(RTLD_DEFAULT, "nghttp2_session_callbacks_set_on_begin_frame_callback");
  has_peer_ended = dlsym(RTLD_DEFAULT, "nghttp2_session_get_stream_remote_close");
  // HTTP/2 cannot be trusted without these functions.
  if (!set_close || !set_begin || !has_peer_ended) abort();
  libcurls = call;
  set_close(callbacks, closed);
  set_begin(callbacks, began);
}
