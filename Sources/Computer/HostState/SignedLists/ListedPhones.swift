import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The signed list as it is now.
public struct ListedPhones {
  let service: ServicePhones
  /// The computer's own file.
  let own: PinnedPhones
  let listed: PinnedPhones

  /// Whether the list has the phone that opened a session of this user; nil if that is not known, or if the list does not
  /// count for the user. If the system does not say who the user is, nobody is logged out for that.
  ///
  /// Only for a phone that is not in it the system is asked about the user, which may take it long.
  public func has(_ phone: ApprovingPhone, of user: UnixUsername) -> Bool? {
    guard let phones = try? listed.phones(of: user) else { return nil }
    if phone.isAmong(phones) { return true }
    guard let mine = try? own.phones(of: user), mine.isEmpty, (try? service.takes(user)) == true else { return nil }
    return false
  }
}
