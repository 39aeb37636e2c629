import IAMPASSProtocol

/// The service's audit of one computer's sign-ins.
protocol HostAuditStore: Sendable {
  /// Entries about sessions that this credential started, the newest first.
  func auditEntries(_ query: HostAuditQuery) async throws -> [AuditEntry]
}

/// A computer's question for its audit.
struct HostAuditQuery: Sendable {
  /// The most entries that are read for a page.
  static let greatestCount = 200

  /// The id of the computer's credential.
  let credential: String
  /// The beginning, in Unix milliseconds.
  let since: Int64
  /// Only entries with smaller ids.
  let before: Int64

  /// - Parameter entries: the entries, newest first, at most ``greatestCount``.
  func page(of entries: [AuditEntry]) -> HostAuditReply {
    var shown: [HostAuditReply.Entry] = []
    var size = 0
    for entry in entries {
      guard let line = HostAuditReply.Entry(entry) else { continue }
      size += line.json.encoded().count + 1
      guard shown.isEmpty || size <= HostAuditReply.greatestPage else {
        return HostAuditReply(credential: credential, entries: shown, hasMore: true)
      }
      shown.append(line)
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
