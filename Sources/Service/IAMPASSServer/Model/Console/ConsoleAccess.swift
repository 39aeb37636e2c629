import IAMPASSProtocol

/// Decides who may use the console: the browser that used a one-time link, and browsers whose sign-in an
/// administrator's phone has approved.
///
/// The database stores only hashes of codes and cookies.
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
  /// The name in the audit for users of a one-time link. No administrator has this name.
  static let linkName = "console link"

  /// Whether the last use is to be stored again.
  static func isOld(_ use: UnixTime, at now: UnixTime) -> Bool { now.milliseconds(since: use) >= useInterval * 1_000 }

  /// The name in the audit of a browser's visit. It is a part of the cookie's hash, from which the cookie cannot be
  /// computed.
  static func publicName(of key: Secret) -> String { String(hash(key).prefix(16)) }

  static func hash(_ secret: Secret) -> String { Digest.hexadecimal(Digest.sha256(secret.exposedBytes)) }
}
