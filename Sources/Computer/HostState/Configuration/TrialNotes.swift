import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// Who signed in by phone while `iampassctl enable --trial` runs: a file beside the configuration, there only
/// meanwhile.
///
/// Not the journal: anybody can log a line as ours, and a process in a user namespace of its own passes there for a
/// privileged one.
public struct TrialNotes {
  /// In bytes; more approvals than that are not noted.
  private static let greatestSize = 32_768

  public let path: String

  /// - Parameter configurationPath: of `iampass.conf`.
  public init(besides configurationPath: String) {
    path = SetupPlace(configuration: configurationPath).trial
  }

  /// Begins a trial: nobody was approved yet.
  public func begin() throws(FileError) { try AtomicFile.write([], to: path, mode: 0o600) }

  public func end() { unlink(path) }

  /// Notes an approval if a trial runs. If that fails, the trial ends as if nobody had signed in: the safe side.
  public func note(user: UnixUsername, service: String) {
    let descriptor = iampass_open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard let size = try? SecureFile.check(descriptor, path: path, privacy: .secret, limit: Self.greatestSize),
      size < Self.greatestSize
    else { return }
    let line = Array("\(user.text) \(service)\n".utf8)
    // One write: two sign-ins at once make two lines.
    _ = iampass_write(descriptor, line, line.count)
  }

  /// Whether `user` (nil: anybody) was approved through one of `services`. A file that is missing, or that others could
  /// have written, names nobody.
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
