/// The boot of a computer, which is signed with a start.
struct SignedBoot: Sendable {
  let id: String
  /// The start's time stamp: Unix time in seconds, by the computer's clock.
  let signedAt: Int64
}

/// The boot of the computer in which each host credential was last used. Sessions of earlier boots are over: the
/// computer could not report that when it went down.
enum HostBoot {
  /// The number of boots of a computer that are kept. An older boot would count as a new one.
  static let keptCount = 100

  enum Finding: Sendable {
    /// The boot is new. Has the sessions of earlier boots, which were ended.
    case isNew(ended: [Session])
    case isCurrent
    /// The credential was used in another boot since: two computers share it, or the request is old. Sessions are not
    /// ended, because it is not known which computer would lose them.
    case isOlder
  }

  /// A man in the middle may delay a start until the computer has been restarted. So a start that was signed before one
  /// of the current boot does not begin a new boot.
  ///
  /// - Parameter current: the credential's current boot, with its latest start.
  static func mayBegin(_ boot: SignedBoot, after current: SignedBoot) -> Bool { boot.signedAt >= current.signedAt }
}
