import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The signed list as it is now.
public struct ListedPhones {
  let service: ServicePhones
  /// The computer's own file.
  let own: PinnedPhones
  let listed: PinnedPhones

  /// Whether the list has the phone that opened a session of this user; nil if that is not known, or if the list does
  /// not count for the user. It is nil if the system does not say who the user is, so that no session ends for that
  /// reason.
  ///
  /// The system is asked about the user only if the list does not have the phone. That may take long.
  public func has(_ phone: ApprovingPhone, of user: UnixUsername) -> Bool? {
    guard let phones = try? listed.phones(of: user) else { return nil }
    if phone.isAmong(phones) { return true }
    guard let mine = try? own.phones(of: user), mine.isEmpty, (try? service.takes(user)) == true else { return nil }
    return false
  }
}
