import IAMPASSProtocol

extension ReasonWord {
  /// Words for users, and those for administrators who read about users.
  private static let othersWords = [
    (" you reported ", " the user reported "), (" this was not you ", " this was not them "),
    (" for you ", " for the user "), (" your phone ", " the phone "), (" your administrator ", " an administrator "),
  ]

  /// Reasons that terminals do not show, because no user waits there any more.
  private static let afterwards = [
    SessionLifecycle.Ending.computerRestarted.rawValue: "the computer was restarted",
    SessionLifecycle.Ending.loggedOut.rawValue: "logged out, or cancelled at the computer",
  ]

  /// The meaning of an entry's reason as on terminals, but for administrators and without hints. An unknown word is
  /// returned unchanged.
  static func textForOthers(of reason: String) -> String {
    guard !reason.contains(where: { $0.isLowercase || $0.isWhitespace }),
      let text = afterwards[reason] ?? text(of: reason)
    else { return reason }
    var words = " \(text.prefix { $0 != ";" }) "
    for (own, others) in othersWords { words = words.replacing(own, with: others) }
    return String(words[...].trimming(" "))
  }
}
