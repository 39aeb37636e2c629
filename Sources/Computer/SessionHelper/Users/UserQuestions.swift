import HostSystem

/// Asks about several users. If the system does not answer about one of them, the others are asked about all the same.
struct UserQuestions {
  /// The most look-ups at once. Each ends with the first user about whom the system does not answer.
  private static let mostLookups = 2
  private static let (yes, no) = (UInt8(ascii: "y"), UInt8(ascii: "n"))

  private let lookups: any UserLookups
  /// The users about whom the system did not answer the last time. They come last, so that they keep no others from
  /// their turn.
  private var silent: Set<UnixUsername> = []

  init(_ lookups: any UserLookups) { self.lookups = lookups }

  /// The users for whom `holds` is true. It is not known for users about whom the system does not answer: they are left
  /// out.
  mutating func those(_ users: Set<UnixUsername>, _ holds: (UnixUsername) -> Bool) -> Set<UnixUsername> {
    silent.formIntersection(users)
    var left = Self.sorted(users.subtracting(silent)) + Self.sorted(silent)
    var found: Set<UnixUsername> = []
    for _ in 0..<Self.mostLookups where !left.isEmpty {
      let asked = left
      let told = lookups.answer { tell in
        for user in asked { tell([holds(user) ? Self.yes : Self.no]) }
      }.bytes
      for (user, answer) in zip(asked, told) {
        silent.remove(user)
        if answer == Self.yes { found.insert(user) }
      }
      left = Array(asked.dropFirst(told.count))
      guard let unanswered = left.first else { break }
      silent.insert(unanswered)
      left.removeFirst()
    }
    return found
  }

  private static func sorted(_ users: Set<UnixUsername>) -> [UnixUsername] { users.sorted { $0.text < $1.text } }
}
