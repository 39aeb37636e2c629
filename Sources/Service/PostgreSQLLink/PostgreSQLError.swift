/// Why a step at a PostgreSQL server failed.
public struct PostgreSQLError: Error, Equatable, Sendable {
  /// What failed.
  public enum Code: Equatable, Sendable {
    /// The address does not begin with `postgresql://`, or libpq cannot read it.
    case addressInvalid
    /// The address has a password. All users of the computer can read a command's arguments.
    case passwordInAddress
    /// No connection was made.
    case notConnected
    /// A pooler shares one session of the server between several connections.
    case sessionsShared
    /// The connection ended. Nothing was committed by the step that failed.
    case connectionLost
    /// The server did not answer in time. The connection is closed. Nothing was committed by the step that failed.
    case timedOut
    /// The server refused a statement, with this SQLSTATE (PostgreSQL's manual, appendix A).
    case refused(sqlState: String)
    /// The commit was sent but not answered, so it may have happened. The caller must ask the database.
    case commitUnanswered
    /// The server rolled back instead of committing, because an earlier statement had failed.
    case rolledBack
    /// The server's answer does not have the form that the caller expects.
    case answerInvalid
  }

  /// What failed.
  public let code: Code
  /// What libpq or the server said. It may quote a user's text.
  public let detail: String

  /// Whether the server does not take writes: it became a standby or read-only while connections were open. Nothing was
  /// stored.
  public var isReadOnly: Bool { code == .refused(sqlState: "25006") }

  /// An error of this module, or of an engine that works with it.
  public init(_ code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }
}
