import Glibc
import HostSystem
import IAMPASSProtocol

/// What happens to a record. Each fact is a file beside the record, which is made once and never changed.
///
/// If two processes set the same fact, one is first and neither waits: users can stop their own su at any instruction,
/// whatever locks it holds.
struct RecordFacts {
  enum Fact: String, CaseIterable {
    /// The record is claimed for a session, or was given up before it was claimed.
    case claim
    /// The record is bound to a session, or was given up before it was bound.
    case binding
    case released
    /// An administrator wants the session logged out. The file's name is that of the released versions.
    case logoutRequested = "condemned"
  }

  /// The contents of a claim or a binding that may not be set any more.
  static let givenUp = Array("given up\n".utf8)
  private static let greatestSize = 1_024

  /// The folder of the records.
  let folder: String

  /// - Returns: false if the fact is set already.
  func set(_ fact: Fact, of id: String, _ bytes: [UInt8] = []) throws(LedgerError) -> Bool {
    guard let own = Digest.randomIdentifier() else { throw .badID }
    let path = path(fact, id)
    do throws(FileError) {
      // Each writer has its own file name, so that two do not write one file.
      let file = try NewFile(for: path + "-" + own, mode: 0o600)
      try file.write(bytes)
      return try file.takeFreePlace(path)
    } catch { throw .file(error) }
  }

  /// Nil if the fact is not set.
  func read(_ fact: Fact, of id: String) throws(LedgerError) -> [UInt8]? {
    do { return try SecureFile.read(path(fact, id), privacy: .secret, limit: Self.greatestSize) } catch
      where error.code == .missing
    { return nil } catch { throw .file(error) }
  }

  /// Removes a fact. It is not an error if the fact is not set.
  func remove(_ fact: Fact, of id: String) throws(LedgerError) {
    let path = path(fact, id)
    guard unlink(path) == 0 || errno == ENOENT else { throw .file(FileError(.system(errno), path: path)) }
  }

  /// The id of the record that a file of this name is a fact of; nil for any other name.
  static func id(ofFactNamed name: String) -> String? {
    let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, FileID.isValid(parts[0]), Fact(rawValue: parts[1]) != nil else { return nil }
    return parts[0]
  }

  private func path(_ fact: Fact, _ id: String) -> String { folder + "/" + id + "." + fact.rawValue }
}

extension SessionRecord.Binding {
  func encoded() -> [UInt8] {
    JSON.object(["logind_session": .string(logindSession), "leader": SessionRecord.json(leader)]).encoded()
  }

  /// Nil for bytes that are not a binding.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), let session = json["logind_session"]?.string,
      let leader = json["leader"].flatMap(SessionRecord.identity)
    else { return nil }
    self.init(logindSession: session, leader: leader)
  }
}
