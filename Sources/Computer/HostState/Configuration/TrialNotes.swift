import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// A file beside the configuration with the users who signed in by phone during `iampassctl enable --trial`. It is
/// there only during the trial.
///
/// The journal does not serve for this: any user can log a line in our name. A process in its own user namespace can
/// even look privileged there.
public struct TrialNotes {
  /// The file's greatest size in bytes. Further approvals are not noted.
  private static let greatestSize = 32_768

  public let path: String

  /// - Parameter configurationPath: the path of `iampass.conf`.
  public init(besides configurationPath: String) {
    path = SetupPlace(configuration: configurationPath).trial
  }

  /// Begins a trial, without approvals yet.
  public func begin() throws(FileError) { try AtomicFile.write([], to: path, mode: 0o600) }

  public func end() { unlink(path) }

  /// Notes an approval if a trial runs. If that fails, the trial ends as if no user had signed in, which is safe.
  public func note(user: UnixUsername, service: String) {
    let descriptor = iampass_open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard let size = try? SecureFile.check(descriptor, path: path, privacy: .secret, limit: Self.greatestSize),
      size < Self.greatestSize
    else { return }
    let line = Array("\(user.text) \(service)\n".utf8)
    // This is one write, so that two sign-ins at once write two lines.
    _ = iampass_write(descriptor, line, line.count)
  }

  /// Whether `user` (nil: any user) was approved through one of `services`. A file that is missing, or that others
  /// could have written, counts as empty.
  ///
  /// - Parameter suffices: whether the phone alone signs this user in.
  public func hasApproval(
    of user: UnixUsername?, through services: [String], _ suffices: (UnixUsername) -> Bool = { _ in true }
  ) -> Bool {
    guard let bytes = try? SecureFile.read(path, privacy: .secret, limit: 2 * Self.greatestSize) else { return false }
    return bytes.split(separator: UInt8(ascii: "\n")).contains { line in
      let words = line.split(separator: UInt8(ascii: " "), maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
      guard words.count == 2, let approved = UnixUsername(validating: words[0]) else { return false }
      return (user == nil || user == approved) && services.contains(words[1]) && suffices(approved)
    }
  }
}
