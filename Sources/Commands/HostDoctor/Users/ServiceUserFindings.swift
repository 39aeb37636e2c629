import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Findings about the users whom the service lists for this computer.
enum ServiceUserFindings {
  /// The most names that are looked up in the system. Each may be a question to a directory server.
  private static let greatestLookedUp = 1_000

  static func findings(_ setup: HostSetup) -> [Finding] { [finding(setup)] + signature(setup) }

  /// A finding on who signs the list.
  private static func signature(_ setup: HostSetup) -> [Finding] {
    guard let credential = try? setup.credential() else { return [] }
    let isVerified = setup.configuration.approvals == .verified
    let fleet: Fleet?
    do { fleet = try setup.fleet(of: credential.applicationID) } catch {
      return [
        Finding(
          .problem, .users, "\(error.explanation); until then no list of the service is taken",
          hint: "iampass-server join-code create, at the service, for another code")
      ]
    }
    guard let fleet else {
      guard isVerified else { return [] }
      let text =
        "no administrator's phone signs the service's list: phones of its users count once they are pinned here"
      return [Finding(.ok, .users, text, hint: "iampassctl join --again, with a code that begins with IJ2")]
    }
    return [signed(by: fleet, setup, isVerified)]
  }

  private static func signed(by fleet: Fleet, _ setup: HostSetup, _ isVerified: Bool) -> Finding {
    let set = fleet.administrators
    let names = Set(set.phones.compactMap { set.administrator(withPhone: $0.id) }).sorted()
    let shown = names.prefix(5).map { DisplayText.sanitized($0, limit: 64) } + (names.count > 5 ? ["another"] : [])
    let group = fleet.anchor.group.isEmpty ? "" : " for the group \(fleet.anchor.group)"
    let text = "the service's list\(group) counts if \(Words.either(shown)) signs it (set \(set.number))"
    guard isVerified else {
      return Finding(
        .warning, .users, "\(text), but sign-ins believe the service", hint: "approvals = verified in iampass.conf")
    }
    let place = SignedUsers.Place(folder: setup.configuration.stateFolder + "/service")
    guard let version = SignedUsers.version(place, credential: fleet.credential) else {
      return Finding(
        .warning, .users, "\(text), and nobody has yet",
        hint: "iampass-server user sign, at the service, or its console")
    }
    return Finding(.ok, .users, "\(text); version \(version.epoch).\(version.number) is kept")
  }

  private static func finding(_ setup: HostSetup) -> Finding {
    let path = setup.serviceUsersPath
    guard let credential = try? setup.credential(),
      let users = ServiceUsers(path: path, credential: credential.applicationID)
    else {
      return Finding(
        .problem, .users, "\(path): no list of the service for this computer",
        hint: "systemctl start iampass-helper, and look at its log")
    }
    let names = users.tokens.keys.sorted().prefix(greatestLookedUp)
    var mayCount = 0
    var out: UnixUsername?
    do throws(UserLookupError) {
      for name in names.compactMap({ UnixUsername(validating: $0) }) {
        guard let user = try SystemUser.find(named: name) else { continue }
        if try setup.configuration.userSelection.includes(user) { mayCount += 1 } else { out = out ?? user.name }
      }
    } catch { return UserChecks.lookupFinding(error) }
    let text = "the service lists \(Words.counted(users.tokens.count, "user")), \(mayCount) of whom may sign in here"
    guard let out else { return Finding(.ok, .users, text) }
    return Finding(
      .warning, .users, "\(text); \(out) may not (users_from_service)",
      hint: "if \(out) is to sign in here, name \(out) in \(setup.usersPath)")
  }
}
