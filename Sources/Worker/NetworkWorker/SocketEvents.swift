import CCurl
import Glibc
import HostSystem
import WorkerLink

/// Waits for libcurl's sockets and for the parent, in one epoll(7).
///
/// curl_multi_poll gives poll(2) an entry for each request, not for each socket. poll refuses more entries than
/// RLIMIT_NOFILE, and the loop would then spin.
final class SocketEvents {
  private let multi: UnsafeMutableRawPointer
  private let parent: Int32
  private let epoll: Int32
  /// When libcurl wants a call, even without events.
  private var timer: MonotonicInstant?
  private var heedsParentsRoom = false
  private var running: Int32 = 0
  private var sockets: Set<Int32> = []
  /// Sockets that are not libcurl's (yet), and those of them with events.
  private var own: Set<Int32> = []
  private var ownEvents: [Int32] = []
  /// The number of sockets with requests under way or connecting.
  var connectionCount: Int { sockets.count }

  /// Nil if the kernel or libcurl refuses.
  init?(multi: UnsafeMutableRawPointer, parent: Int32) {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    self.multi = multi
    self.parent = parent
    guard epoll >= 0, watch(parent, reading: true, writing: false) else { return nil }
    // SAFETY: the object lives as long as the process (main.swift).
    let owner = Unmanaged.passUnretained(self).toOpaque()
    let onSocket = iampass_curl_multi_on_socket(multi, owner) { _, socket, interest, owner, _ in
      eventsOf(owner).libcurlWants(interest, of: socket)
    }
    let onTimer = iampass_curl_multi_on_timer(multi, owner) { _, milliseconds, owner in
      eventsOf(owner).libcurlWantsACall(in: milliseconds)
      return 0
    }
    guard onSocket == CURLM_OK, onTimer == CURLM_OK else { return nil }
  }

  func close() { Glibc.close(epoll) }

  /// Waits for events until `end`, and passes libcurl its own.
  ///
  /// - Returns: whether the parent has sent something.
  func take(until end: MonotonicInstant, sendsToParent: Bool) -> Bool {
    if sendsToParent != heedsParentsRoom, watch(parent, reading: true, writing: sendsToParent) {
      heedsParentsRoom = sendsToParent
    }
    let now = MonotonicInstant.now()
    let left = max(0, min(end, timer ?? end).milliseconds(since: now))
    var parentSpoke = false
    withUnsafeTemporaryAllocation(of: iampass_epoll_news.self, capacity: Int(IAMPASS_EPOLL_MOST)) { news in
      // SAFETY: the shim writes at most as many as fit, and returns their number.
      let count = iampass_epoll_take(epoll, Int32(clamping: left), news.baseAddress)
      for one in news.prefix(max(0, Int(count))) {
        if one.descriptor == parent {
          parentSpoke = true
        } else if own.contains(one.descriptor) {
          ownEvents.append(one.descriptor)
        } else {
          act(on: one)
        }
      }
    }
    return parentSpoke
  }

  /// Lets libcurl act on its clock, and on a request that was just added.
  func serveTimer() {
    guard let due = timer, due <= .now() else { return }
    timer = nil
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
  }

  /// Lets libcurl check everything and tell which sockets it waits for. If addresses refuse one after the other,
  /// libcurl 7.88 prepares the next and waits for neither its socket nor a time.
  func drive() { iampass_curl_multi_drive(multi, &running) }

  /// Waits for the end of a socket's connect(2). Returns false if the kernel refuses.
  func watchOwn(_ socket: Int32) -> Bool {
    guard watch(socket, reading: false, writing: true) else { return false }
    own.insert(socket)
    return true
  }

  func forgetOwn(_ socket: Int32) {
    own.remove(socket)
    ownEvents.removeAll { $0 == socket }
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nil)
  }

  /// The sockets of ``watchOwn(_:)`` with events since the last call.
  func takeOwnEvents() -> [Int32] {
    defer { ownEvents = [] }
    return ownEvents
  }

  private func act(on event: iampass_epoll_news) {
    // After an error or an end, reading and writing tell which it was.
    let both = event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
    var action: Int32 = 0
    if both || event.events & EPOLLIN.rawValue != 0 { action |= CURL_CSELECT_IN }
    if both || event.events & EPOLLOUT.rawValue != 0 { action |= CURL_CSELECT_OUT }
    curl_multi_socket_action(multi, event.descriptor, action, &running)
  }

  private func libcurlWants(_ interest: Int32, of socket: Int32) -> Int32 {
    if interest == CURL_POLL_REMOVE {
      sockets.remove(socket)
      // The socket may already be closed, and then epoll has forgotten it.
      _ = epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nil)
      return 0
    }
    sockets.insert(socket)
    return watch(socket, reading: interest & CURL_POLL_IN != 0, writing: interest & CURL_POLL_OUT != 0) ? 0 : -1
  }

  private func libcurlWantsACall(in milliseconds: Int) {
    timer = milliseconds < 0 ? nil : .now().advanced(milliseconds: Int64(milliseconds))
  }

  private func watch(_ socket: Int32, reading: Bool, writing: Bool) -> Bool {
    let events = (reading ? EPOLLIN.rawValue : 0) | (writing ? EPOLLOUT.rawValue : 0)
    return iampass_epoll_watch(epoll, socket, events) == 0
  }
}

private func eventsOf(_ owner: UnsafeMutableRawPointer?) -> SocketEvents {
  // SAFETY: libcurl received the object from its own initializer, see there.
  Unmanaged<SocketEvents>.fromOpaque(owner!).takeUnretainedValue()
}
