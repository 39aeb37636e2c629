import Glibc

/// What commands print, without a buffer: buffered text can be lost after a command has succeeded.
enum Output {
  static func say(_ line: String) throws(Problem) { try say([line]) }

  /// A reader of the lines may stop at any time. Any other failure is a failure of the command.
  static func say(_ lines: [String]) throws(Problem) {
    guard let failure = write(lines), failure != EPIPE else { return }
    throw .notPrinted(failure)
  }

  /// - Returns: errno if not everything was printed; otherwise nil.
  static func write(_ lines: [String]) -> Int32? {
    var rest = Array(lines.map { $0 + "\n" }.joined().utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // Another process may have set the shared pipe to non-blocking.
        var entry = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }
}
