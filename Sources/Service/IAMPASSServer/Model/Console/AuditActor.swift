import IAMPASSProtocol

/// The actor of an audit entry.
///
/// Entries of a change of the storage name ``current``. An entry without an actor is from an older program, or from one
/// that did not know the actor.
public struct AuditActor: Sendable, Equatable {
  /// The actor of the current task. A request begins without one.
  @TaskLocal public static var current: AuditActor?

  /// The stored form: `kind` or `kind:id`, followed by `name=value` for details.
  public let text: String

  init(stored text: String) { self.text = text }

  private init(_ kind: String, _ id: String? = nil, _ details: [(name: String, value: String)] = []) {
    text = ([id.map { "\(kind):\($0)" } ?? kind] + details.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
  }

  /// The service itself: expiry and housekeeping.
  public static let service = AuditActor("service")
  /// A browser that has not signed in to the console.
  static let browser = AuditActor("browser")
  /// A computer that asks to join.
  static let newcomer = AuditActor("newcomer")

  static func phone(_ id: String) -> AuditActor { AuditActor("phone", id) }
  /// The holder of the session's secret, which is the computer that started the session.
  static func session(_ id: String) -> AuditActor { AuditActor("session", id) }
  static func signInClient(_ signInClient: SignInClient) -> AuditActor {
    AuditActor(signInClient.credential == nil ? "application" : "credential", signInClient.id)
  }

  /// A browser's visit to the console, by a name that does not reveal its cookie.
  ///
  /// - Parameter role: the visit's role; nil if it is not known.
  static func console(visit key: Secret, role: AdministratorRole?) -> AuditActor {
    AuditActor("console", ConsoleAccess.publicName(of: key), role.map { [("role", $0.rawValue)] } ?? [])
  }

  /// A command on the service's computer.
  ///
  /// - Parameters:
  ///   - user: the real user id.
  ///   - login: the user id that signed in to the computer; nil if there is none, as for a timer.
  public static func command(user: UInt32, login: UInt32?) -> AuditActor {
    AuditActor("cli", String(user), login.flatMap { $0 == user ? nil : [("login", String($0))] } ?? [])
  }

  private var words: [Substring] { text.split(separator: " ") }
  private var party: [Substring] { words.first?.split(separator: ":", maxSplits: 1) ?? [] }
  var kind: String { party.first.map(String.init) ?? "" }
  var id: String? { party.count == 2 ? String(party[1]) : nil }

  /// The actor's details.
  var details: [(name: String, value: String)] {
    words.dropFirst().compactMap { word in
      let sides = word.split(separator: "=", maxSplits: 1)
      return sides.count == 2 ? (String(sides[0]), String(sides[1])) : nil
    }
  }

  /// An object with `kind`, `id` and the details.
  var json: JSON {
    let id = id.map { [JSON.Member("id", .string($0))] } ?? []
    return .object(
      [JSON.Member("kind", .string(kind))] + id + details.map { JSON.Member($0.name, .string($0.value)) })
  }
}

/// The actor of the audit entries of one transaction.
struct AuditNote: Sendable {
  /// An administrator's act; nil if there is no administrator.
  let act: ConsoleAct?
  let actor: AuditActor?

  static var current: AuditNote { AuditNote(act: ConsoleAct.current, actor: AuditActor.current) }
  /// For transactions without audit entries.
  static let none = AuditNote(act: nil, actor: nil)
}
