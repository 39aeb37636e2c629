import Glibc
import HostState
import HostSystem
import IAMPASSClient

/// Finds the sessions of phones that administrators have removed from the signed list.
final class WithdrawnPhones {
  private var setup: SupervisorSetup
  private let records: WatchedRecords
  private let log: any HelperLog
  private var questions: UserQuestions
  /// A signed list was kept, or there is a session that was not compared with it.
  private var mustCompare = true

  init(setup: SupervisorSetup, records: WatchedRecords, lookups: any UserLookups, log: any HelperLog) {
    self.setup = setup
    self.records = records
    self.log = log
    questions = UserQuestions(lookups)
  }

  /// Uses a changed configuration from now on.
  func adopt(_ setup: SupervisorSetup) { self.setup = setup }

  /// Compares the sessions with the list in the next turn.
  func compareAgain() { mustCompare = true }

  /// A list that is unreadable or incomplete ends no session.
  ///
  /// - Parameter end: is called for each session that must end, without the guard against mass ends: an administrator's
  ///   phone has signed the list.
  func turn(_ end: (WatchedRecord) -> Void) {
    guard mustCompare else { return }
    mustCompare = false
    guard let trust = setup.phoneTrust, let version = setup.userList?.signedVersion else { return }
    let open = records.all.filter { $0.isOpen && $0.record.phone != nil && $0.comparedWith != version }
    guard !open.isEmpty, let list = trust.listedPhones() else { return }
    var missing: [WatchedRecord] = []
    for watched in open {
      guard let phone = watched.record.phone, let isListed = list.has(phone, of: watched.record.user) else { continue }
      if isListed { watched.comparedWith = version } else { missing.append(watched) }
    }
    guard !missing.isEmpty else { return }
    // The user may not be known just now. The session is compared again with the next list or session.
    let users = questions.those(Set(missing.map(\.record.user))) { list.decides(on: $0) }
    for watched in missing where users.contains(watched.record.user) {
      guard let phone = watched.record.phone else { continue }
      watched.comparedWith = version
      log.write(LOG_NOTICE, "not in the signed list any more: phone=\(phone.id) of \(watched.record.logName)")
      end(watched)
    }
  }
}

extension WatchedRecord {
  fileprivate var isOpen: Bool { closing == nil && watch.map { !$0.isOver } ?? false }
}
