import Glibc
import HostState

extension AwayLocks {
  /// Notes a lock whose cause is that the phone left: `unlock = walkaway` then offers the phone at that screen.
  func note(_ binding: SessionRecord.Binding, of uid: UInt32, _ cause: Cause, _ log: any HelperLog) {
    guard cause == .walkaway || cause == .presence else { return }
    do throws(LedgerError) { try note(binding, of: uid) } catch {
      log.write(LOG_WARNING, "lock of session \(binding.logindSession) not noted: \(error.explanation)")
    }
  }
}
