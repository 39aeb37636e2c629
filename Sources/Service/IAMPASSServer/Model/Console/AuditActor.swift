import IAMPASSProtocol

/// Who does something that the audit has an entry for.
///
/// The entries that a change of the storage adds name ``current``. An entry without an actor was written by an older
/// program, or by one that did not know who asked: nobody is guessed.
public struct AuditActor: Sendable, Equatable {
  /// Set for the time of one act. A request begins without one.
  @TaskLocal public static var current: AuditActor?

  /// As it is stored: `kind`, or `kind:id`, and behind it `name=value` for what else is known.
  public let text: String

  init(stored text: String) { self.text = text }

  private init(_ kind: String, _ id: String? = nil, _ details: [(name: String, value: String)] = []) {
    text = ([id.map { "\(kind):\($0)" } ?? kind] + details.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
  }

  /// The service itself: what time ends, and housekeeping.
  public static let service = AuditActor("service")
  /// A browser that has not signed in to the console.
  static let browser = AuditActor("browser")
  /// A computer that asks to join.
  static let newcomer = AuditActor("newcomer")

  static func phone(_ id: String) -> AuditActor { AuditActor("phone", id) }
  /// Whoever holds the session's secret: the computer that it was started by.
  static func session(_ id: String) -> AuditActor { AuditActor("session", id) }
  static func starter(_ starter: Starter) -> AuditActor {
    AuditActor(starter.credential == nil ? "application" : "credential", starter.id)
  }

  /// A browser's visit to the console, by a name that tells nothing of its cookie.
  ///
  /// - Parameter role: what it may do there; nil if that is not known.
  static func console(visit key: Secret, role: AdministratorRole?) -> AuditActor {
    AuditActor("console", ConsoleAccess.publicName(of: key), role.map { [("role", $0.rawValue)] } ?? [])
  }

  /// A command on the service's machine.
  ///
  /// - Parameters:
  ///   - user: the real user id.
  ///   - login: the user id that signed in to the machine; nil if nobody did, as for a timer.
  public static func command(user: UInt32, login: UInt32?) -> AuditActor {
    AuditActor("cli", String(user), login.flatMap { $0 == user ? nil : [("login", String($0))] } ?? [])
  }

  private var words: [Substring] { text.split(separator: " ") }
  private var party: [Substring] { words.first?.split(separator: ":", maxSplits: 1) ?? [] }
  var kind: String { party.first.map(String.init) ?? "" }
  var id: String? { party.count == 2 ? String(party[1]) : nil }

  /// What else is known.
  var details: [(name: String, value: String)] {
    words.dropFirst().compactMap { word in
      let sides = word.split(separator: "=", maxSplits: 1)
      return sides.count == 2 ? (String(sides[0]), String(sides[1])) : nil
    }
  }

  /// An object with `kind`, `id` and what else is known.
  var json: JSON {
    let id = id.map { [JSON.Member("id", .string($0))] } ?? []
    return .object(
      [JSON.Member("kind", .string(kind))] + id + details.map { JSON.Member($0.name, .string($0.value)) })
  }
}

/// What the entries that one transaction adds to the audit say of who did it.
struct AuditNote: Sendable {
  /// An administrator's act; nil if no administrator was named.
  let act: ConsoleAct?
  let actor: AuditActor?

  static var current: AuditNote { AuditNote(act: ConsoleAct.current, actor: AuditActor.current) }
  /// For what has no entry in the audit.
  static let none = AuditNote(act: nil, actor: nil)
}
