import Glibc
import HostState
import HostSystem

// Reports sign-ins without the service to the service.

extension Supervisor {
  /// Open sessions that were opened without the service, by the ids of their uses.
  private var openUses: [String: WatchedRecord] {
    let open = records.all.filter { $0.record.isOffline && $0.record.binding != nil && $0.closing == nil }
    return Dictionary(open.compactMap { one in one.record.offlineUse.map { ($0.id, one) } }, uniquingKeysWith: { $1 })
  }

  /// Looks for uses that the service does not know yet.
  public func checkUses(at now: Int64) {
    reports?.look(open: openUses.values.compactMap { ReportedUse($0.record) }, log, now)
  }

  func turnReports(_ now: Int64) {
    guard let reports else { return }
    let open = openUses
    for use in reports.takeDisowned() {
      guard let watched = open[use] else { continue }
      log.write(LOG_NOTICE, "disowned on the phone: \(watched.record.logName)")
      acts.signOut(watched, .ended, now)
    }
    reports.turn(open: Set(open.keys), inquiries.service, log, now)
  }
}
