import HostState
import HostSystem

/// A session with a user and a name, for the log and for logouts.
protocol NamedSession {
  var id: String { get }
  /// The session's name for people, which the service uses too.
  var publicName: String { get }
  var user: UnixUsername { get }
  var uid: UInt32 { get }
  var service: String { get }
  var remoteHost: String? { get }
}

extension SessionRecord: NamedSession {}

extension LeavingSession: NamedSession {}

extension NamedSession {
  var systemUser: SystemUser { SystemUser(name: user, uid: uid) }

  /// The user and the session's name, for the log.
  var logName: String {
    "\(LogField.signIn(user: user.text, service: service, remoteHost: remoteHost)) session=\(publicName)"
  }
}
