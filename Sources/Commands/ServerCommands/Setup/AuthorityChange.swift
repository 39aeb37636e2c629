import CommandSupport
import Glibc
import HostSystem

/// The change to another authority. It is noted before its first step. If a setup is interrupted at any step and run
/// again, it continues the same change, and does not make another authority.
extension SetupFolder {
  /// The note's file, with the certificate of the new authority. It is empty once the setup is complete.
  var changeNote: String { ownFolder + "/authority-change" }

  /// Whether a change was begun whose setup is not complete.
  var isChangingAuthority: Bool {
    var found = stat()
    return lstat(changeNote, &found) == 0 && found.st_size > 0
  }

  /// Begins the change or continues it: the next authority replaces the present one. If there is no next authority, it
  /// is made.
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
    // This comes before any change.
    if let reason = try next.refusal(for: name, at: now) { throw .nextRefuses(name.text, reason, nextAuthorityFile) }
    try Self.write(bytes, to: changeNote, mode: 0o644)
  }

  /// The key comes first, as with the first authority. Either file may already be moved.
  private func move() throws(CommandProblem) {
    // Otherwise an interruption between the two files would leave a certificate of another key.
    unlink(authority)
    for (from, to) in [(nextAuthorityKey, authorityKey), (nextAuthorityFile, authority)] {
      guard rename(from, to) == 0 || errno == ENOENT else {
        throw CommandProblem(FileError(.system(errno), path: to))
      }
    }
  }

  /// The note, which is emptied at the setup's end; nil without a change.
  func openedChange() throws(CommandProblem) -> AuthorityChangeNote? {
    guard isChangingAuthority else { return nil }
    return try AuthorityChangeNote(path: changeNote)
  }
}

/// A change's note. Root opens it, and the user that the setup has become empties it.
final class AuthorityChangeNote {
  private let path: String
  private let descriptor: Int32

  fileprivate init(path: String) throws(CommandProblem) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw CommandProblem(FileError(.system(errno), path: path)) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Empties the note, as the last step of a setup.
  func empty() throws(CommandProblem) {
    guard ftruncate(descriptor, 0) == 0 else { throw CommandProblem(FileError(.system(errno), path: path)) }
  }
}

extension OwnAuthority {
  /// Why this authority cannot sign for the name; nil if it can.
  fileprivate func refusal(for name: PublicName, at now: Int64) throws(CommandProblem) -> String? {
    do { _ = try leaf(for: name, key: TLSKey.generate(), at: now) } catch {
      guard case .notAccepted(let reason) = error else { throw .notMade("a certificate", "\(error)") }
      return reason
    }
    return nil
  }
}
