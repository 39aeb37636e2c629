import IAMPASSProtocol

/// Bounds how many requests of a user may be open at once.
///
/// Requests that come to a computer over the network and those made at the computer itself are counted separately, so
/// that strangers at an sshd leave a place for the user at the keyboard.
enum OpenRequestLimit {
  /// Open requests of a user from all sources of one kind together: more must be an attack.
  static let greatestOfUser = 20
  /// The most open requests of one host's credential. Its holder may name any service and remote host, and must leave
  /// places for the user's other computers.
  static let greatestOfHost = 5

  /// The open request that blocks a new one from `source`; nil if the new one may start.
  static func obstacle(to source: RequestSource, among unanswered: [Session]) -> Session? {
    if let same = unanswered.first(where: { $0.source == source.text }) { return same }
    let alike = unanswered.filter { $0.context.isRemote == source.isRemote }
    let ofHost = source.credential == nil ? [] : alike.filter { $0.credential == source.credential }
    if ofHost.count >= greatestOfHost { return ofHost.first }
    return alike.count >= greatestOfUser ? alike.first : nil
  }
}
