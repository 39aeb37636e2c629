import HostState
import HostSystem
import IAMPASSProtocol

/// A sign-in without the service, of which the service is told.
struct ToldUse {
  enum Source {
    case code(UntoldUse)
    case phone
    /// The service was told before; its session goes on.
    case session
  }

  let id: String
  let source: Source
  let user: UnixUsername
  private let way: CodeUseReport.Way
  private let usedAt: Int64
  private let left: Int?
  private let context: SignInContext

  init(_ untold: UntoldUse) { self.init(untold.id, .code(untold), .recovery, untold.use) }

  init(_ use: PhoneUse) { self.init(use.id, .phone, .phone, use.use) }

  /// What opened a session that goes on; nil for a record that does not name it.
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
    // What is left of a set is known when a code is used; a phone has nothing of the kind.
    left = way == .recovery ? use.left : nil
    context = SignInContext(service: use.service, user: use.user.text, tty: use.tty, remoteHost: use.remoteHost)
  }

  /// For the log.
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
