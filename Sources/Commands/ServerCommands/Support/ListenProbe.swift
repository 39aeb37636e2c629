import Glibc

/// Tests an address to listen on.
enum ListenProbe {
  /// The longest time for a connection to this computer itself, in milliseconds.
  private static let patience: Int32 = 1_000

  /// Why the service could not listen there, as an errno; nil if it could.
  ///
  /// - Parameter user: the service's user. The service frees its own ports when it is restarted.
  static func obstacle(_ address: ListenAddress, forServiceOf user: uid_t) -> Int32? {
    with(address, flags: AI_PASSIVE) { descriptor, place in
      var yes: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
      guard bind(descriptor, place.ai_addr, place.ai_addrlen) == 0, listen(descriptor, 1) == 0 else {
        let code = errno
        return code == EADDRINUSE && PortHolders.ofThisComputer.areOnly(user, at: ListenPlace(place)) ? nil : code
      }
      return nil
    }
  }

  /// Whether a program listens there.
  static func answers(_ address: ListenAddress) -> Bool {
    // Connecting to the wildcard address leads to the loopback (ip(7)).
    with(address, flags: 0) { descriptor, place in
      guard connect(descriptor, place.ai_addr, place.ai_addrlen) != 0 else { return nil }
      guard errno == EINPROGRESS else { return errno }
      var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&entry, 1, patience) > 0 else { return ETIMEDOUT }
      var failure: Int32 = 0
      var length = socklen_t(MemoryLayout<Int32>.size)
      guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 else { return errno }
      return failure == 0 ? nil : failure
    } == nil
  }

  /// The result of `work` with a non-blocking socket for the address.
  private static func with(_ address: ListenAddress, flags: Int32, _ work: (Int32, addrinfo) -> Int32?) -> Int32? {
    var wanted = addrinfo()
    wanted.ai_flags = flags | AI_NUMERICSERV
    wanted.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(address.host, "\(address.port)", &wanted, &found) == 0, let place = found?.pointee else {
      return EADDRNOTAVAIL
    }
    defer { freeaddrinfo(found) }
    let kind = place.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(place.ai_family, kind, place.ai_protocol)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    return work(descriptor, place)
  }
}
