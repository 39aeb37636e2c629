import Glibc
import HostState
import HostSystem
import IAMPASSClient

// Sessions of phones that administrators have removed from the signed list.

extension Supervisor {
  /// Ends these sessions without the guard against mass ends, because an administrator's phone has signed the list.
  ///
  /// A list that is unreadable or incomplete ends no session.
  func endWithdrawn(_ now: Int64) {
    guard let trust = setup.phoneTrust, let version = setup.userList?.signedVersion else { return }
    let open = records.all.filter { $0.isOpen && $0.record.phone != nil && $0.comparedWith != version }
    guard !open.isEmpty, let list = trust.listedPhones() else { return }
    for watched in open {
      // The user may not be known just now. The session is compared again with the next list or session.
      guard let phone = watched.record.phone, let isListed = list.has(phone, of: watched.record.user) else { continue }
      watched.comparedWith = version
      guard !isListed else { continue }
      log.write(LOG_NOTICE, "not in the signed list any more: phone=\(phone.id) of \(watched.record.logName)")
      withdrawn(watched, now)
    }
  }
}

extension WatchedRecord {
  fileprivate var isOpen: Bool { closing == nil && watch.map { !$0.isOver } ?? false }
}
