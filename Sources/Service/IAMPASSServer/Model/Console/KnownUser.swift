/// How the console names a user: by a name, if the service knows one, followed by a part of the id that the application
/// chose.
struct KnownUser: Sendable, Equatable {
  /// The characters that are shown of a longer id. Such ids are the tokens of computers' users files.
  private static let shownLength = 8

  /// The name on a phone if no name is known.
  static let nobodysName = "user"

  /// The user's name; nil if the service does not know one.
  let name: String?
  /// The id, or its beginning. Two users may have the same name.
  let shownID: String

  /// - Parameters:
  ///   - listed: the user's name in the list of users.
  ///   - told: the user's name for people, from the application.
  ///   - called: the name on the user's phone, or the last name on a phone or a link.
  ///   - id: the id that the application chose. A short id was chosen for people, and serves as a name.
  init(listed: String?, told: String?, called: String?, id: String) {
    let isShort = id.count <= 2 * Self.shownLength
    name = listed ?? told ?? (called == Self.nobodysName ? nil : called) ?? (isShort ? id : nil)
    shownID = isShort ? id : id.prefix(Self.shownLength) + "…"
  }

  /// The name in one line, for titles and buttons.
  var text: String { name == shownID ? shownID : "\(name ?? "without a name") (\(shownID))" }
}
