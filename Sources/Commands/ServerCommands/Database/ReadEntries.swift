import CommandSupport
import IAMPASSServer

/// The entries of the audit that were read last. They show whether the database went back.
///
/// A standby that takes over may lack the newest entries of the database before it. It gives their ids to others, or
/// leaves them out.
struct ReadEntries {
  /// What tells an entry from another one that later got its id.
  struct Key: Equatable {
    let id: Int64
    /// In milliseconds, by the wall clock.
    let at: Int64
    let event: String
  }

  /// The most entries that are remembered. A standby that lacks more is not followed.
  static let greatestCount = 1_000

  /// Oldest first.
  private var keys: [Key] = []

  /// The newest entry; nil before anything was read.
  var newest: Key? { keys.last }

  mutating func note(_ read: [Key]) {
    keys += read
    keys.removeFirst(max(0, keys.count - Self.greatestCount))
  }

  /// To be called if the newest entry is not stored any more. Forgets entries that are not stored.
  ///
  /// - Parameter stored: gives the stored entries after an id, oldest first, up to a limit.
  /// - Returns: the id of the newest entry that was read and is still stored; nil if they were only deleted for their age.
  /// - Throws: ``CommandProblem/otherAuditHistory`` if none is stored, but older ones are, or others with these ids.
  mutating func goBack(_ stored: (_ after: Int64, _ limit: Int) async throws -> [Key]) async throws -> Int64? {
    guard let first = keys.first, let newest else { return nil }
    let present = try await stored(first.id - 1, Self.greatestCount)
    if let common = keys.lastIndex(where: { present.contains($0) }) {
      keys.removeLast(keys.count - 1 - common)
      return keys[common].id
    }
    // The oldest entries are deleted first.
    if let oldest = try await stored(0, 1).first, oldest.id <= newest.id { throw CommandProblem.otherAuditHistory }
    return nil
  }
}

extension ReadEntries.Key {
  init(_ entry: AuditEntry) { self.init(id: entry.id, at: entry.at.milliseconds, event: entry.event) }
}
