import HostState
import HostSystem
import IAMPASSProtocol

/// A sign-in without the service that is reported to the service.
struct ReportedUse {
  enum Source {
    case code(UnreportedUse)
    case phone
    /// The use was reported before, and its session goes on.
    case session
  }

  let id: String
  let source: Source
  let user: UnixUsername
  private let way: CodeUseReport.Way
  private let usedAt: Int64
  private let left: Int?
  private let context: SignInContext

  init(_ unreported: UnreportedUse) { self.init(unreported.id, .code(unreported), .recovery, unreported.use) }

  init(_ use: PhoneUse) { self.init(use.id, .phone, .phone, use.use) }

  /// The use that opened a session that goes on; nil if the record does not name one.
  init?(_ record: SessionRecord) {
    guard let use = record.offlineUse else { return nil }
    self.init(use.id, .session, use.way == .phone ? .phone : .recovery, record.use(at: use.time))
  }

  private init(_ id: String, _ source: Source, _ way: CodeUseReport.Way, _ use: CodeUse) {
    self.id = id
    self.source = source
    self.way = way
    user = use.user
    usedAt = use.time
    // A used code tells how many are left of its set. A phone has no set.
    left = way == .recovery ? use.left : nil
    context = SignInContext(service: use.service, user: use.user.text, tty: use.tty, remoteHost: use.remoteHost)
  }

  /// The use in the log's words.
  var words: String { way == .phone ? "an approval without it" : "a recovery code's use" }

  func report(host: String?, isOpen: Bool) -> CodeUseReport {
    CodeUseReport(
      id: id, way: way, usedAt: usedAt, left: left.map { Int64($0) },
      context: SignInContext(
        host: host, service: context.service, user: context.user, tty: context.tty, remoteHost: context.remoteHost),
      isOpen: isOpen)
  }
}

extension SessionRecord {
  fileprivate func use(at time: Int64) -> CodeUse {
    CodeUse(user: user, service: service, tty: tty, remoteHost: remoteHost, time: time)
  }
}
