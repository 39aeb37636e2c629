import CHost
import Glibc
import HostSystem

/// Whether `iampass-helper` watches the records. It holds locks while it runs. The kernel releases them however the
/// helper ends.
public struct HelperPresence: Sendable {
  private let run: RunFolder

  public init(run: RunFolder) { self.run = run }

  /// Whether a helper with a usable configuration runs.
  ///
  /// - Returns: false if that cannot be known; the caller then acts as without a helper.
  public var isThere: Bool {
    let descriptor = iampass_open(path("helper.watching"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // The lock is only queried, not taken: a su that its user has stopped here must not block a helper.
    return iampass_is_held(descriptor) == 1
  }

  /// Makes this process the only helper of the folder, until it ends.
  ///
  /// - Returns: false if another process is.
  public func claim() throws(FileError) -> Bool {
    // Makes the folder, or throws if others than root can use it.
    _ = try run.folder("sessions")
    return try hold("helper.lock")
  }

  /// Announces that this process watches the records from now on, until it ends.
  ///
  /// - Returns: false if another process has announced it.
  public func announce() throws(FileError) -> Bool { try hold("helper.watching") }

  /// Does not wait, because only helpers hold these locks. The descriptor stays open until the process ends.
  private func hold(_ name: String) throws(FileError) -> Bool {
    let path = path(name)
    let descriptor = iampass_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError(.system(errno), path: path) }
    if iampass_hold_whole(descriptor) == 0 { return true }
    let failure = errno
    close(descriptor)
    guard failure == EAGAIN || failure == EACCES else { throw FileError(.system(failure), path: path) }
    return false
  }

  private func path(_ name: String) -> String { run.path + "/" + name }
}
