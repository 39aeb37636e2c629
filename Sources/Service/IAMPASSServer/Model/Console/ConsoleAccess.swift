import IAMPASSProtocol

/// Decides who may use the console: whoever received the one-time link, in the browser that used it; and administrators
/// whose phone approved that this browser signs in.
///
/// The database has only hashes of codes and cookies.
enum ConsoleAccess {
  /// Seconds until a link expires.
  static let linkLifetime: Int64 = 600
  /// Seconds until a browser must sign in again, used or not. A browser's time in the console is a visit: a session is
  /// always a user's sign-in.
  static let visitLifetime: Int64 = 12 * 3_600
  /// Seconds without a request until a browser must sign in again.
  static let idleLifetime: Int64 = 3_600
  /// The last use is stored at most once in this many seconds.
  static let useInterval: Int64 = 60
  /// What the audit calls whoever came by a one-time link; no administrator has this name.
  static let linkName = "console link"

  /// Whether the last use is to be stored again.
  static func isOld(_ use: UnixTime, at now: UnixTime) -> Bool { now.milliseconds(since: use) >= useInterval * 1_000 }

  /// What the audit calls a browser's visit. The database has the whole hash of the cookie, and nobody finds the cookie by
  /// a part of it.
  static func publicName(of key: Secret) -> String { String(hash(key).prefix(16)) }

  static func hash(_ secret: Secret) -> String { Digest.hexadecimal(Digest.sha256(secret.exposedBytes)) }
}
