import IAMPASSProtocol

/// Something that an administrator may be asked about later: who asked, from where, what was answered, when.
public struct AuditEntry: Sendable {
  /// Seconds for which entries are kept: 400 days.
  static let lifetime: Int64 = 400 * 86_400

  /// Greater than that of every entry before it.
  public let id: Int64
  /// By the wall clock.
  public let at: UnixTime
  public let event: String
  /// The names that have a value, in the order of the table: `application`, `user`, `phone`, `session`, `host`, …
  public let details: [(name: String, value: String)]

  /// Who did it; nil: nobody is known, as for entries of older programs.
  public internal(set) var actor: AuditActor?

  static let names = [
    "application", "user", "phone", "session", "host", "service", "account", "tty", "remote_host", "address",
    "credential", "reason", "administrator", "approval", "locum", "locum_phone",
  ]

  /// The user, if the console asked and the user still exists.
  var known: KnownUser?

  /// What people call the user, if that was asked for and the user still exists: by the list of users, or as the
  /// application told it.
  var userName: String?

  /// ``details``, with ``userName`` behind the user's number.
  private var shownDetails: [(name: String, value: String)] {
    details.flatMap { one in
      let name = one.name == "user" ? userName : nil
      return [one] + (name.map { [("user_name", $0)] } ?? [])
    }
  }

  public subscript(name: String) -> String? { details.first { $0.name == name }?.value }

  /// One line of JSON. Its `actor` is null if nobody is known.
  public var jsonLine: String {
    let fixed = [
      JSON.Member("id", .integer(id)), JSON.Member("at", .string(at.text)), JSON.Member("event", .string(event)),
    ]
    let all =
      fixed
      + shownDetails.map {
        JSON.Member($0.name, $0.name == "user" ? .integer(Int64($0.value) ?? 0) : .string($0.value))
      }
    return JSON.object(all + [JSON.Member("actor", actor?.json ?? .null)]).printed()
  }

  /// One line for people.
  public var textLine: String {
    let party = "by " + (actor.map { DisplayText.sanitized($0.text) } ?? "unknown")
    return ([at.text, event] + shownDetails.map { "\($0.name)=\(FieldText.quoted($0.value))" } + [party])
      .joined(separator: "  ")
  }
}
