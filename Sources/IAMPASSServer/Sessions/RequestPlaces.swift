import IAMPASSProtocol

/// How many requests of a user may be open at once.
///
/// Requests that come to a computer over the network and those made at the computer itself are counted apart: strangers
/// at an sshd leave the user at the keyboard a place.
enum RequestPlaces {
  /// Open requests of a user from all sources of one kind together: more are somebody's hammering.
  static let greatestOfUser = 20
  /// Those of one host's credential: whoever holds it may name any service and remote host, and must leave the user's
  /// other computers their places.
  static let greatestOfHost = 5

  /// The open request for whose sake `session` is not started; nil where it may be.
  static func obstacle(to session: Session, among unanswered: [Session]) -> Session? {
    if let same = unanswered.first(where: { $0.source == session.source }) { return same }
    let alike = unanswered.filter { $0.isRemote == session.isRemote }
    let ofHost = session.credential == nil ? [] : alike.filter { $0.credential == session.credential }
    if ofHost.count >= greatestOfHost { return ofHost.first }
    return alike.count >= greatestOfUser ? alike.first : nil
  }
}

extension Session {
  /// It was asked for over the network, by what the computer says. Clients that send no context ask at the computer.
  var isRemote: Bool { context.isRemote }
}

extension SignInContext {
  var isRemote: Bool { remoteHost?.isEmpty == false }
}
