@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// The value under test. `#expect` accepts no mutating call.
final class WatchSubject {
  var watch: SessionWatch

  init(_ watch: SessionWatch) { self.watch = watch }

  func next(_ event: WatchEvent, at now: Int64) -> WatchAction { watch.next(event, at: now) }
}
