import IAMPASSProtocol

/// What the service noted of one computer's sign-ins.
protocol HostAuditStore: Sendable {
  /// Entries about sessions that this credential started, the newest first.
  func auditEntries(_ ask: HostAuditAsk) async throws -> [AuditEntry]
}

/// What a computer asks for.
struct HostAuditAsk: Sendable {
  /// Entries that are read for a page.
  static let greatestCount = 200

  /// The id of the computer's credential.
  let credential: String
  /// Unix milliseconds.
  let since: Int64
  /// Ids below this one.
  let before: Int64

  /// - Parameter entries: the newest first, ``greatestCount`` at most.
  func page(of entries: [AuditEntry]) -> HostAuditReply {
    var shown: [HostAuditReply.Entry] = []
    var size = 0
    for entry in entries {
      guard let told = HostAuditReply.Entry(entry) else { continue }
      size += told.json.encoded().count + 1
      guard shown.isEmpty || size <= HostAuditReply.greatestPage else {
        return HostAuditReply(credential: credential, entries: shown, hasMore: true)
      }
      shown.append(told)
    }
    return HostAuditReply(credential: credential, entries: shown, hasMore: entries.count == Self.greatestCount)
  }
}

extension HostAuditReply.Entry {
  /// Nil for an entry without a session.
  fileprivate init?(_ entry: AuditEntry) {
    guard let session = entry["session"] else { return nil }
    var details: [String: String] = [:]
    for name in HostAuditReply.detailNames { details[name] = entry[name] }
    self.init(id: entry.id, at: entry.at.milliseconds, event: entry.event, session: session, details: details)
  }
}
