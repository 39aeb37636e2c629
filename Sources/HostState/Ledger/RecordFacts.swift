import Glibc
import IAMPASSProtocol

/// What becomes of a record, each a file beside it that is made once and never changed. Of two processes that want the
/// same one is first, and none waits for another: a user can stop his own su at any instruction, holding what it holds.
struct RecordFacts {
  enum Fact: String, CaseIterable {
    /// Claimed for a session, or given up before anybody claimed it.
    case claim
    /// Bound to a session, or given up before it was.
    case binding
    case released
    case condemned
  }

  /// In a claim's or binding's place: there will be none.
  static let givenUp = Array("given up\n".utf8)
  private static let greatestSize = 1_024

  /// Where the records are.
  let folder: String

  /// - Returns: false where it is one already.
  func set(_ fact: Fact, of id: String, _ bytes: [UInt8] = []) throws(LedgerError) -> Bool {
    guard let own = Digest.randomIdentifier() else { throw .badID }
    let path = path(fact, id)
    do throws(FileError) {
      // A name of its own: two writers at once must not write one file.
      let file = try NewFile(for: path + "-" + own, mode: 0o600)
      try file.write(bytes)
      return try file.takeFreePlace(path)
    } catch { throw .file(error) }
  }

  /// Nil where it is none.
  func read(_ fact: Fact, of id: String) throws(LedgerError) -> [UInt8]? {
    do { return try SecureFile.read(path(fact, id), privacy: .secret, limit: Self.greatestSize) } catch
      where error.code == .missing
    { return nil } catch { throw .file(error) }
  }

  /// One that is none is no error.
  func remove(_ fact: Fact, of id: String) throws(LedgerError) {
    let path = path(fact, id)
    guard unlink(path) == 0 || errno == ENOENT else { throw .file(FileError(.system(errno), path: path)) }
  }

  /// The id of the record that a file of this name is a fact of; nil for any other name.
  static func id(ofFactNamed name: String) -> String? {
    let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, SessionLedger.isID(parts[0]), Fact(rawValue: parts[1]) != nil else { return nil }
    return parts[0]
  }

  private func path(_ fact: Fact, _ id: String) -> String { folder + "/" + id + "." + fact.rawValue }
}

extension SessionRecord.Binding {
  func encoded() -> [UInt8] {
    JSON.object(["logind_session": .string(logindSession), "leader": SessionRecord.json(leader)]).encoded()
  }

  /// Nil for what is no binding.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), let session = json["logind_session"]?.string,
      let leader = json["leader"].flatMap(SessionRecord.identity)
    else { return nil }
    self.init(logindSession: session, leader: leader)
  }
}
