import CHost
import Glibc

/// Writes all of a text, even if each write(2) takes only a part.
public enum WholeText {
  /// - Returns: errno if not all of it was written; nil otherwise. If the reader is gone, it is `EPIPE`, provided that
  ///   SIGPIPE is ignored.
  ///
  /// Waits until the reader reads, as a blocking write does. It also waits if another process with the same terminal or
  /// pipe has made it non-blocking.
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

  /// Writes a text as ``write(_:to:)`` writes bytes.
  public static func write(_ text: String, to descriptor: Int32) -> Int32? { write(Array(text.utf8), to: descriptor) }
}
