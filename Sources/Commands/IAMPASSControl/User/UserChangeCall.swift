import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A change of the service's list of users that an administrator's phone approves. This computer does not need an
/// application's secret for it.
struct UserChangeCall {
  struct Approved {
    let administrator: String
    /// The link with which the user's phone registers.
    let link: String?
  }

  /// How often another code is drawn if a request already has it.
  private static let greatestTries = 3
  /// How long the service may hold its reply, in seconds.
  private static let hold: Int64 = 20
  /// The longest time of one question, in milliseconds.
  private static let patience: Int64 = 35_000
  /// The longest wait in milliseconds. It is longer than any request waits for its answer.
  private static let greatestWait: Int64 = 660_000
  private static let pause: Int64 = 2_000

  let host: ConfiguredHost

  /// - Parameter groups: nil: unchanged.
  func run(
    _ act: UserChangeRequest.Act, _ users: [UnixUsername], groups: [String]? = nil
  ) throws(CommandProblem) -> Approved {
    guard users.count <= UserChangeRequest.greatestUserCount else { throw .change(.tooManyUsers) }
    let (asked, code) = try ask(act, users.map(\.text), groups)
    Terminal.complain("an administrator's phone was asked to \(asked.text)")
    if let code { Terminal.complain("the phone asks for these digits: \(code)") }
    Terminal.complain("(Ctrl-C withdraws it)")
    do throws(CommandProblem) { return try wait(for: asked) } catch {
      if error == .interrupted { try withdraw(asked) }
      throw error
    }
  }

  /// Asks the first question. Its state is printed at once, so that the user knows what the command waits for.
  private func ask(
    _ act: UserChangeRequest.Act, _ users: [String], _ groups: [String]?
  ) throws(CommandProblem) -> (UserChangeRequest, code: String?) {
    var tries = 1
    let asker = try Self.asker()
    while true {
      guard let id = Digest.randomIdentifier() else { throw .service(.noRandomness) }
      func change(_ asks: [String]) -> UserChangeRequest {
        UserChangeRequest(id: id, act: act, users: users, groups: groups, asker: asker, asks: asks)
      }
      do throws(CommandProblem) {
        switch try exchange(change([]), waitSeconds: nil) {
        case .waiting(let asks, let code): return (change(asks), code.map { DisplayText.sanitized($0, limit: 2) })
        case .done: throw .service(.badReply(.member("waiting")))
        }
      } catch {
        let isCodeInUse = error == .change(.refused(ReasonWord.codeInUse))
        guard isCodeInUse, tries < Self.greatestTries else { throw error }
        tries += 1
      }
    }
  }

  private func wait(for change: UserChangeRequest) throws(CommandProblem) -> Approved {
    let end = MonotonicInstant.now().advanced(milliseconds: Self.greatestWait)
    while MonotonicInstant.now() < end {
      let begin = MonotonicInstant.now()
      do throws(CommandProblem) {
        if case .done(let administrator, let link) = try exchange(change, waitSeconds: Self.hold) {
          return Approved(administrator: DisplayText.sanitized(administrator, limit: 100), link: link)
        }
      } catch {
        // A short failure of network or service does not end the wait.
        guard error.isPassing else { throw error }
      }
      let rest = Self.pause - MonotonicInstant.now().milliseconds(since: begin)
      if rest > 0, host.interrupt.wait(milliseconds: rest) == .interrupted { throw .interrupted }
    }
    throw .change(.refused("CHANGE_NOT_ANSWERED"))
  }

  /// - Throws: ``CommandProblem/interruptedUnchanged`` if nothing was changed. Returns if that is not known.
  private func withdraw(_ change: UserChangeRequest) throws(CommandProblem) {
    host.ignoreInterruption()
    let withdrawn = UserChangeRequest(
      id: change.id, act: change.act, users: change.users, groups: change.groups, asker: change.asker,
      asks: change.asks, isWithdrawn: true)
    do throws(CommandProblem) {
      try host.authenticate(milliseconds: 5_000) { (client, deadline) throws(ServiceError) in
        try client.withdraw(withdrawn, deadline: deadline)
      }
    } catch {
      if case .badReply(.refused("CHANGE_USED"?))? = error.serviceError { throw .change(.refused("CHANGE_USED")) }
      return
    }
    throw .interruptedUnchanged
  }

  private func exchange(_ change: UserChangeRequest, waitSeconds: Int64?) throws(CommandProblem) -> UserChangeAnswer {
    do throws(CommandProblem) {
      return try host.authenticate(milliseconds: Self.patience) { (client, deadline) throws(ServiceError) in
        try client.change(change, waitSeconds: waitSeconds, deadline: deadline)
      }
    } catch {
      switch error.serviceError {
      case .badReply(.refused(let reason?))?: throw .change(.refused(reason))
      case .notFound?: throw .change(.notOffered)
      default: throw error
      }
    }
  }

  /// The name of the user who signed in to this command's session.
  private static func asker() throws(CommandProblem) -> String {
    guard let uid = CommandPlace.current().loginUID else { return "root" }
    let found: SystemUser?
    // The administrator's phone shows the name, which must not be root in place of a user.
    do { found = try SystemUser.find(uid: uid) } catch { throw .lookup(error) }
    guard let name = found?.name.text else { return "root" }
    return UserChangeRequest.isName(name) ? name : "root"
  }
}

/// Why the service's list of users is not changed.
enum UserChangeProblem: Error, Equatable {
  /// The service has refused. Has its reason.
  case refused(String)
  case notOffered
  case tooManyUsers
  /// An option that cannot be used here, and why.
  case option(String)

  var message: String {
    switch self {
    case .refused(let reason):
      ReasonWord.text(of: reason) ?? "the service refused, for no reason that this version knows; see the service's log"
    case .notOffered: "the service does not let computers ask administrators for changes"
    case .tooManyUsers: "\(UserChangeRequest.greatestUserCount) users can be named at once"
    case .option(let text): text
    }
  }

  var hint: String? {
    switch self {
    case .refused("NO_ADMINISTRATOR"):
      "iampass-server administrator add NAME, at the service; or iampass-server user, there"
    case .refused("CHANGE_USED"): "iampassctl user list, to see whether it was done"
    case .refused("UNKNOWN_USER"): "iampassctl user list; a user is put on the list by iampassctl user add"
    case .refused("HAS_MOBILE_DEVICE"):
      "if it is gone, cut it off on the user's page in the console; for a second one, iampass-server application set APPLICATION --phones 2"
    case .refused("ADMINISTRATOR_BUSY"): "wait a minute, then try again"
    case .notOffered: "update iampass-server; or give the application's own credential with --credentials FILE"
    case .refused, .tooManyUsers, .option: nil
    }
  }

  var exitCode: Int32 {
    switch self {
    case .refused("CHANGE_DENIED"), .refused("CHANGE_CODE_WRONG"), .refused("APPLICATION_DISABLED"): EX_NOPERM
    case .refused("CHANGE_NOT_ANSWERED"), .refused("ADMINISTRATOR_BUSY"), .refused("CHANGE_USED"): EX_TEMPFAIL
    case .refused("UNKNOWN_USER"): EX_NOUSER
    case .refused("USER_NAME_NOT_FIT"), .refused("GROUP_NAME_NOT_FIT"), .refused("HAS_MOBILE_DEVICE"): EX_DATAERR
    case .refused, .notOffered: EX_UNAVAILABLE
    case .tooManyUsers, .option: EX_USAGE
    }
  }
}
