import CHost
import Glibc

/// Whether `iampass-helper` runs: it holds a lock for its life, which the kernel takes back however it ends.
public struct HelperPresence: Sendable {
  private let run: RunFolder

  public init(run: RunFolder) { self.run = run }

  /// Whether a helper will see to the records.
  ///
  /// - Returns: false where that cannot be known; the caller then does what it would without one.
  public var isThere: Bool {
    let descriptor = iampass_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  /// Takes the lock until this process ends.
  ///
  /// - Returns: false where another helper has it.
  public func announce() throws(FileError) -> Bool {
    // Makes the folder, or refuses one that is not root's alone.
    _ = try run.folder("sessions")
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

  private var path: String { run.path + "/helper.lock" }
}
