/// The boot of a computer, as a start names it in what is signed.
struct SignedBoot: Sendable {
  let id: String
  /// The start's time stamp: Unix time in seconds, by the computer's clock.
  let signedAt: Int64
}

/// Which start of its computer each host credential was last used in. What it opened before that start is over: nobody
/// could say so when the computer went down.
enum HostBoot {
  /// The boots of a computer that are remembered. One that comes back after as many others is taken for a new one.
  static let keptCount = 100

  enum Finding: Sendable {
    /// With the sessions of earlier boots, which this ended.
    case isNew(ended: [Session])
    case isCurrent
    /// The credential was used in another boot since: two computers share it, or the request is an old one. Nothing is
    /// ended, since nobody knows which of the two would lose its sessions.
    case isOlder
  }

  /// Someone on the way may withhold a start until the computer has been started again. So a start that was signed
  /// before one of the current boot's begins no boot.
  ///
  /// - Parameter current: the credential's, with its latest start.
  static func mayBegin(_ boot: SignedBoot, after current: SignedBoot) -> Bool { boot.signedAt >= current.signedAt }
}
