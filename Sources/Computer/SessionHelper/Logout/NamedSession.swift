import HostState
import HostSystem

/// Whose session it is, for the log and for what is done to it.
protocol NamedSession {
  var id: String { get }
  /// Its name for people, the same at the service.
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

  /// Whose session, for the log.
  var logName: String {
    "\(LogField.signIn(user: user.text, service: service, remoteHost: remoteHost)) session=\(publicName)"
  }
}
