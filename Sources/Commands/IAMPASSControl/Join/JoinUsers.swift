import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Fetches the service's list of users once, as the helper does later.
struct JoinUsers {
  /// The longest time of one page, in milliseconds.
  private static let patience: Int64 = 15_000

  private let setup: HostSetup
  private let interrupt: Interrupt

  init(_ setup: HostSetup, interrupt: Interrupt) {
    self.setup = setup
    self.interrupt = interrupt
  }

  /// - Returns: the number of users.
  func fetch() throws(CommandProblem) -> Int {
    let (client, credential) = try client()
    let fleet: Fleet?
    do { fleet = try setup.fleet(of: credential) } catch {
      throw .join(.listRefused(error.explanation))
    }
    guard let fleet else { return try plain(client, credential) }
    return try signed(client, fleet)
  }

  private func plain(_ client: UserListClient, _ credential: String) throws(CommandProblem) -> Int {
    var fetch = UserListFetch(
      known: ServiceUsers(path: setup.serviceUsersPath, credential: credential), credential: credential)
    var busy = BusyService(interrupt)
    while true {
      let page = try busy.answer { () throws(ServiceError) in
        try client.page(fetch.next, deadline: Self.deadline)
      }
      switch fetch.took(page) {
      case .ask: continue
      case .unchanged: return Int(page.reply.count)
      case .refused(let reason): throw .join(.listRefused(reason.rawValue))
      case .done(let list, _):
        do { return try list.write(in: setup.state).tokens.count } catch { throw .file(error) }
      }
    }
  }

  private func signed(_ client: UserListClient, _ fleet: Fleet) throws(CommandProblem) -> Int {
    let place = SignedUsers.Place(folder: setup.configuration.stateFolder + "/service")
    guard let origin = setup.configuration.server?.origin else { throw .join(.notEnabled) }
    var fetch = SignedListFetch(
      known: SignedListFetch.Known(place, credential: fleet.credential), fleet: fleet, origin: origin,
      verifier: LibcryptoVerifier())
    var busy = BusyService(interrupt)
    while true {
      let page = try busy.answer { () throws(ServiceError) in
        try client.signedPage(fetch.next, deadline: Self.deadline)
      }
      switch fetch.took(page) {
      case .ask: continue
      case .administrators(let fleet):
        do { _ = try fleet.write(in: setup.state) } catch { throw .file(error) }
      case .nothingSigned: throw .join(.listNotSigned)
      case .refused(let reason):
        if case .badAdministrators = reason { throw .join(.administratorsRefused(reason.explanation)) }
        throw .join(.listRefused(reason.explanation))
      case .unchanged: return SignedUsers(place, credential: fleet.credential)?.lines.count ?? 0
      case .done(let list, _, _):
        do { _ = try list.write(in: setup.state) } catch { throw .file(error) }
        return list.lines.count
      }
    }
  }

  private static var deadline: MonotonicInstant { .now().advanced(milliseconds: patience) }

  private func client() throws(CommandProblem) -> (UserListClient, String) {
    do throws(Misconfiguration) {
      let credential = try setup.credential()
      let client = UserListClient(
        settings: try setup.serviceSettings(), credential: credential,
        transport: try setup.transport(interruption: interrupt), unixTime: { Int64(time(nil)) })
      return (client, credential.applicationID)
    } catch { throw .misconfigured(error, path: setup.configurationPath) }
  }
}
