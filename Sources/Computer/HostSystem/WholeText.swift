import CHost
import Glibc

/// Writes all of a text, however often the system takes only a part.
public enum WholeText {
  /// - Returns: errno if not all of it is written; nil otherwise. A reader that is gone is `EPIPE`, to whoever ignores
  ///   SIGPIPE.
  ///
  /// Waits as long as the reader does not read, as any blocking write: another process that has the same terminal or pipe
  /// may have made it one that does not block.
  public static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        // SAFETY: `written` is less than the count, so that the pointer stays inside.
        iampass_write(descriptor, buffer.baseAddress! + written, buffer.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  /// As ``write(_:to:)``.
  public static func write(_ text: String, to descriptor: Int32) -> Int32? { write(Array(text.utf8), to: descriptor) }
}
