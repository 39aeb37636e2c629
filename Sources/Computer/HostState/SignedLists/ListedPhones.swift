import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The signed list as it is now.
public struct ListedPhones {
  let service: ServicePhones
  /// The computer's own file.
  let own: PinnedPhones
  let listed: PinnedPhones

  /// Whether the list has the phone that opened a session of this user; nil if the user's lines are not valid.
  public func has(_ phone: ApprovingPhone, of user: UnixUsername) -> Bool? {
    guard let phones = try? listed.phones(of: user) else { return nil }
    return phone.isAmong(phones)
  }

  /// Whether the list decides on the user's phones. False also if the system does not say who the user is, so that no
  /// session ends for that reason.
  ///
  /// The system is asked about the user. That may take long, or never end.
  public func decides(on user: UnixUsername) -> Bool {
    guard let mine = try? own.phones(of: user), mine.isEmpty else { return false }
    return (try? service.takes(user)) == true
  }
}
