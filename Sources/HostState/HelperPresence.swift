import CHost
import Glibc

/// Whether `iampass-helper` sees to the records: it holds locks for its life, which the kernel takes back however it
/// ends.
public struct HelperPresence: Sendable {
  private let run: RunFolder

  public init(run: RunFolder) { self.run = run }

  /// Whether a helper with a usable configuration runs.
  ///
  /// - Returns: false where that cannot be known; the caller then does what it would without one.
  public var isThere: Bool {
    let descriptor = iampass_open(path("helper.watching"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  /// Makes this process the only helper of the folder, until it ends.
  ///
  /// - Returns: false where another is.
  public func claim() throws(FileError) -> Bool {
    // Makes the folder, or refuses one that is not root's alone.
    _ = try run.folder("sessions")
    return try hold("helper.lock")
  }

  /// Says that the records are seen to from now on, until this process ends.
  public func announce() throws(FileError) { _ = try hold("helper.watching") }

  /// The descriptor stays open for the process's life.
  private func hold(_ name: String) throws(FileError) -> Bool {
    let path = path(name)
    let descriptor = iampass_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError(.system(errno), path: path) }
    // Who only looks holds it for microseconds.
    for _ in 0..<100 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
      usleep(1_000)
    }
    close(descriptor)
    return false
  }

  private func path(_ name: String) -> String { run.path + "/" + name }
}
