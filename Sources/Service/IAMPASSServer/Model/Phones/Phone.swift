import DeviceProtocol
import IAMPASSProtocol

/// A registered phone. A user has as many live phones at most as ``ApplicationSettings/phones`` says.
struct Phone: Sendable {
  let id: String
  /// Nil where the user was deleted.
  let user: Int64?
  let publicKey: String
  let displayName: String
  /// What its user calls it, to tell it from another phone of theirs; empty if it told none.
  let name: String
  let presence: Presence
  /// It is the service's own page in a browser: that has asked for its stream.
  let hasPage: Bool
  let isCutOff: Bool
  /// What the phone made of its link's secret, for computers; nil if it made nothing.
  let pinMAC: String?
  let registeredAt: UnixTime
  /// When its page was last in view; nil if it has no page, or an older one that does not say.
  let lookedAt: UnixTime?
}

extension Phone {
  /// A name's length, in characters.
  static let greatestNameLength = 40

  /// What a phone without a name is called.
  static let unnamed = "phone"

  /// Days without a visit after which the console speaks up. Safari deletes a page's key after seven, unless the page is on
  /// the home screen.
  static let greatestAbsence: Int64 = 6

  /// Whole days since its page was in view, if they are so many that its browser may soon have forgotten it; nil otherwise,
  /// and for an app, whose key no browser keeps.
  func absence(at now: UnixTime) -> Int64? {
    let days = now.milliseconds(since: max(registeredAt, lookedAt ?? registeredAt)) / 86_400_000
    return hasPage && days >= Self.greatestAbsence ? days : nil
  }

  /// What people tell it by among its user's phones.
  var label: String { name.isEmpty ? Self.unnamed : name }

  /// A name for one more phone: what it was given, or otherwise a plain word; with a number if another one has it.
  static func freeName(_ wish: String?, among phones: [Phone]) -> String {
    let told = DisplayText.sanitized(wish ?? "", limit: greatestNameLength)
    let taken = Set(phones.map(\.label))
    // A first phone without a name keeps none: nothing is to be told apart.
    if told.isEmpty, taken.isEmpty { return "" }
    let name = told.isEmpty ? unnamed : told
    if !taken.contains(name) { return name }
    return (2...).lazy.map { "\(name) \($0)" }.first { !taken.contains($0) } ?? name
  }
}
