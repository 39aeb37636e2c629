/// How the console names a user: by a name, if the service knows one, beside a part of the id that the application chose.
struct KnownUser: Sendable, Equatable {
  /// Characters that are shown of longer ids: they are the tokens of computers' users files.
  private static let shownLength = 8

  /// What a phone shows if nobody said a name.
  static let nobodysName = "user"

  /// Nil if the service knows none.
  let name: String?
  /// The id, or its beginning. Two users may have the same name.
  let shownID: String

  /// - Parameters:
  ///   - listed: the user's name in the list of users.
  ///   - told: what people call the user, as the application told it.
  ///   - called: what the user's phone shows, or what a phone or a link showed last.
  ///   - id: as the application chose it. A short one was chosen for people, and serves as a name.
  init(listed: String?, told: String?, called: String?, id: String) {
    let isShort = id.count <= 2 * Self.shownLength
    name = listed ?? told ?? (called == Self.nobodysName ? nil : called) ?? (isShort ? id : nil)
    shownID = isShort ? id : id.prefix(Self.shownLength) + "…"
  }

  /// In one line, as titles and buttons have it.
  var text: String { name == shownID ? shownID : "\(name ?? "without a name") (\(shownID))" }
}
