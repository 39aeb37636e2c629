import PostgreSQLLink

extension StorageTrouble {
  init(_ error: PostgreSQLError) {
    switch error.code {
    case .notConnected, .connectionLost, .timedOut, .commitUnanswered: self = .unreachable
    case .refused where error.isReadOnly: self = .unreachable
    // See PostgreSQL's manual, appendix A: a full disk, a lock or a statement that took too long, a damaged file.
    case .refused(sqlState: "53100"): self = .full
    case .refused(sqlState: "55P03"), .refused(sqlState: "57014"): self = .locked
    // This is our own code: see the migration `moves`.
    case .refused(sqlState: "55IPM"): self = .moved
    case .refused(sqlState: "XX001"), .refused(sqlState: "XX002"): self = .damaged
    case .refused, .addressInvalid, .passwordInAddress, .sessionsShared, .rolledBack, .answerInvalid: self = .other
    }
  }
}

extension PostgreSQLError {
  /// Whether the operation can be repeated, because nothing was stored: there was a conflict, another server changed
  /// the tables, or the database's server does not take writes any more.
  var isPassing: Bool {
    switch code {
    case .refused where isReadOnly: true
    case .refused(sqlState: "40001"), .refused(sqlState: "40P01"), .refused(sqlState: "0A000"), .connectionLost: true
    default: false
    }
  }
}

extension StorageError {
  init(_ error: PostgreSQLError, _ url: String) {
    switch error.code {
    case .addressInvalid: self.init(.addressInvalid, detail: error.detail)
    case .passwordInAddress: self.init(.passwordInAddress)
    // Prepared statements belong to a session (PostgreSQL's manual, appendix A). Another client uses our session's
    // name, or ours is in another session.
    case .sessionsShared, .refused(sqlState: "42P05"), .refused(sqlState: "26000"):
      self.init(.databaseSessionsShared, path: url)
    default: self.init(.databaseNotReached, path: url, detail: error.line)
    }
  }
}

extension PostgreSQLError {
  /// The error in one line.
  var line: String {
    let detail = detail.split(whereSeparator: \.isNewline).map { $0.trimmed }.joined(separator: " ")
    return detail.isEmpty ? "\(code)" : detail
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    let start = drop(while: \.isWhitespace)
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return start[...end]
  }
}
