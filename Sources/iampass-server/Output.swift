import Glibc

/// What commands print: at once, since what waits in a buffer can be lost after a command has ended well.
enum Output {
  static func say(_ line: String) throws(Problem) { try say([line]) }

  /// Who reads the lines may stop at any time; any other failure is one of the command.
  static func say(_ lines: [String]) throws(Problem) {
    guard let failure = write(lines), failure != EPIPE else { return }
    throw .notPrinted(failure)
  }

  /// - Returns: errno, where not all of it is printed.
  static func write(_ lines: [String]) -> Int32? {
    var rest = Array(lines.map { $0 + "\n" }.joined().utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // Who has the pipe too may have made it one that does not block.
        var entry = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }
}
