import CommandSupport
import Glibc
import HostSystem

/// The change to another authority. It is noted before its first step: a setup that is broken off at any step and run
/// again makes the same change, and not one more authority.
extension SetupFolder {
  /// The certificate of the authority that takes over. Empty once the setup came to its end.
  var changeNote: String { ownFolder + "/authority-change" }

  /// Whether a change was begun, and its setup did not come to its end.
  var isChangingAuthority: Bool {
    var found = stat()
    return lstat(changeNote, &found) == 0 && found.st_size > 0
  }

  /// Begins the change, or goes on with the one that was begun: the next authority takes the place of the one that is
  /// there. If there is no next one, it is made.
  func changeAuthority(for name: PublicName, at now: Int64) throws(CommandProblem) -> OwnAuthority {
    if !isChangingAuthority { try noteChange(for: name, at: now) }
    guard let noted = try present(changeNote, .readableByAll) else { throw .changeLost(changeNote) }
    if try present(authority, .readableByAll) != noted { try move() }
    guard let new = try ownAuthority(), try present(authority, .readableByAll) == noted else {
      throw .changeLost(changeNote)
    }
    if let reason = try new.refusal(for: name, at: now) { throw .changeForOther(name.text, reason, changeNote) }
    return new
  }

  private func noteChange(for name: PublicName, at now: Int64) throws(CommandProblem) {
    try makeNextAuthority(for: name, at: now)
    guard let next = try nextAuthority(), let bytes = try present(nextAuthorityFile, .readableByAll) else {
      throw .changeLost(nextAuthorityFile)
    }
    // Before anything changes.
    if let reason = try next.refusal(for: name, at: now) { throw .nextRefuses(name.text, reason, nextAuthorityFile) }
    try Self.write(bytes, to: changeNote, mode: 0o644)
  }

  /// The key comes first, as with the first authority. Either file may have moved already.
  private func move() throws(CommandProblem) {
    // Otherwise a break between the two files would leave a certificate of another key.
    unlink(authority)
    for (from, to) in [(nextAuthorityKey, authorityKey), (nextAuthorityFile, authority)] {
      guard rename(from, to) == 0 || errno == ENOENT else {
        throw CommandProblem(FileError(.system(errno), path: to))
      }
    }
  }

  /// What tells, at the setup's end, that the change is made; nil without one.
  func openedChange() throws(CommandProblem) -> AuthorityChangeNote? {
    guard isChangingAuthority else { return nil }
    return try AuthorityChangeNote(path: changeNote)
  }
}

/// A change's note, opened by root, and emptied by the user that the setup has become.
final class AuthorityChangeNote {
  private let path: String
  private let descriptor: Int32

  fileprivate init(path: String) throws(CommandProblem) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw CommandProblem(FileError(.system(errno), path: path)) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The last step of a setup.
  func empty() throws(CommandProblem) {
    guard ftruncate(descriptor, 0) == 0 else { throw CommandProblem(FileError(.system(errno), path: path)) }
  }
}

extension OwnAuthority {
  /// Why it cannot sign for the name; nil if it can.
  fileprivate func refusal(for name: PublicName, at now: Int64) throws(CommandProblem) -> String? {
    do { _ = try leaf(for: name, key: TLSKey.generate(), at: now) } catch {
      guard case .notAccepted(let reason) = error else { throw .notMade("a certificate", "\(error)") }
      return reason
    }
    return nil
  }
}
