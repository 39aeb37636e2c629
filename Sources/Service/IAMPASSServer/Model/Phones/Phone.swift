import DeviceProtocol
import IAMPASSProtocol

/// A registered phone. A user has as many live phones at most as ``ApplicationSettings/phones`` says.
struct Phone: Sendable {
  let id: String
  /// The user's number; nil if the user was deleted.
  let user: Int64?
  let publicKey: String
  let displayName: String
  /// The user's name for the phone; empty if there is none.
  let name: String
  let presence: Presence
  /// Whether it is the service's own page in a browser, which has asked for its event stream.
  let hasPage: Bool
  let isCutOff: Bool
  /// The phone's MAC with its link's secret, for computers; nil if it made none.
  let pinMAC: String?
  let registeredAt: UnixTime
  /// When its page was last visible; nil if it has no page, or an older one that does not report it.
  let lookedAt: UnixTime?
}

extension Phone {
  /// The greatest length of a name in characters.
  static let greatestNameLength = 40

  /// The name of a phone without a name.
  static let unnamed = "phone"

  /// Days without a visit after which the console warns. Safari deletes a page's key after seven days, unless the page
  /// is on the home screen.
  static let greatestAbsence: Int64 = 6

  /// Whole days since its page was visible, if its browser may soon delete its key; nil otherwise, and for an app.
  func absence(at now: UnixTime) -> Int64? {
    let days = now.milliseconds(since: max(registeredAt, lookedAt ?? registeredAt)) / 86_400_000
    return hasPage && days >= Self.greatestAbsence ? days : nil
  }

  /// The name for people, which differs from the user's other phones.
  var label: String { Self.label(name) }

  /// - Parameter name: as it is stored; empty for a phone without a name.
  static func label(_ name: String) -> String { name.isEmpty ? unnamed : name }

  /// A name for one more phone: the requested one, or a plain word. It gets a number if another phone has the same
  /// name.
  ///
  /// - Parameter labels: those of the user's other phones.
  static func freeName(_ wish: String?, among labels: [String]) -> String {
    let wished = DisplayText.sanitized(wish ?? "", limit: greatestNameLength)
    let taken = Set(labels)
    // A first phone does not need a name, because there is no other phone.
    if wished.isEmpty, taken.isEmpty { return "" }
    let name = wished.isEmpty ? unnamed : wished
    if !taken.contains(name) { return name }
    return (2...).lazy.map { "\(name) \($0)" }.first { !taken.contains($0) } ?? name
  }
}
