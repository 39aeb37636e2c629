import IAMPASSProtocol

/// An entry of the audit: what happened, when, and who did it.
public struct AuditEntry: Sendable {
  /// How long entries are kept, in seconds: 400 days.
  static let lifetime: Int64 = 400 * 86_400

  /// Greater than that of every entry before it.
  public let id: Int64
  /// When it happened, by the wall clock.
  public let at: UnixTime
  public let event: String
  /// The names with a value, in the order of the table: `application`, `user`, `phone`, `session`, `host`, …
  public let details: [(name: String, value: String)]

  /// The actor; nil if it is not known, as for entries of older programs.
  public internal(set) var actor: AuditActor?

  static let names = [
    "application", "user", "phone", "session", "host", "service", "account", "tty", "remote_host", "address",
    "credential", "reason", "administrator", "approval", "locum", "locum_phone",
  ]

  /// The user, if the console asked and the user still exists.
  var known: KnownUser?

  /// The user's name for people, if it was requested and the user still exists. It comes from the list of users or from
  /// the application.
  var userName: String?

  /// ``details``, with ``userName`` after the user's number.
  private var shownDetails: [(name: String, value: String)] {
    details.flatMap { one in
      let name = one.name == "user" ? userName : nil
      return [one] + (name.map { [("user_name", $0)] } ?? [])
    }
  }

  public subscript(name: String) -> String? { details.first { $0.name == name }?.value }

  /// One line of JSON. Its `actor` is null if it is not known.
  public var jsonLine: String { json.printed() }

  var json: JSON {
    let fixed = [
      JSON.Member("id", .integer(id)), JSON.Member("at", .string(at.text)), JSON.Member("event", .string(event)),
    ]
    let all =
      fixed
      + shownDetails.map {
        JSON.Member($0.name, $0.name == "user" ? .integer(Int64($0.value) ?? 0) : .string($0.value))
      }
    return JSON.object(all + [JSON.Member("actor", actor?.json ?? .null)])
  }

  /// One line for people.
  public var textLine: String {
    let party = "by " + (actor.map { DisplayText.sanitized($0.text) } ?? "unknown")
    return ([at.text, event] + shownDetails.map { "\($0.name)=\(FieldText.quoted($0.value))" } + [party])
      .joined(separator: "  ")
  }
}

extension CodeUse {
  /// How long a use is kept, in seconds: as long as its entry in the audit.
  static let lifetime = AuditEntry.lifetime
}
