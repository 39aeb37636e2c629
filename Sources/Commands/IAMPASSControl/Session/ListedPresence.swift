import CommandSupport
import HostState
import HostSystem

/// The list below the sessions: users whose phones are looked for by Bluetooth, and the state of each.
enum ListedPresence {
  static let head = ["USER", "PHONE", "SINCE"]

  static func columns(_ presence: UserPresence, now: Int64) -> [String] {
    [presence.user.text, words(presence.state), Span.text(now - presence.since)]
  }

  /// Prints nothing if no phone is looked for.
  static func show(_ presence: [UserPresence]) {
    guard !presence.isEmpty else { return }
    Terminal.say("")
    TextTable(head: head, rows: presence.map { columns($0, now: BootTime.seconds()) }).show(whenEmpty: "")
  }

  private static func words(_ state: UserPresence.State) -> String {
    switch state {
    case .unarmed: "has not answered yet"
    case .armed: "near"
    case .doubtful: "in doubt"
    case .left: "gone"
    case .blind: "cannot be looked for"
    }
  }
}
