import IAMPASSProtocol

extension ReasonWord {
  /// What is said to a user, and what to administrators, who read about that user.
  private static let othersWords = [
    (" you reported ", " the user reported "), (" this was not you ", " this was not them "),
    (" for you ", " for the user "), (" your phone ", " the phone "), (" your administrator ", " an administrator "),
  ]

  /// What no terminal says, since nobody waits there any more.
  private static let afterwards = [
    SessionLifecycle.Ending.computerRestarted.rawValue: "the computer was restarted",
    SessionLifecycle.Ending.loggedOut.rawValue: "logged out, or cancelled at the computer",
  ]

  /// The meaning of an entry's reason, as terminals have it, for administrators and without hints. What is not a word of
  /// that table is returned as it is.
  static func textForOthers(of reason: String) -> String {
    guard !reason.contains(where: { $0.isLowercase || $0.isWhitespace }),
      let text = afterwards[reason] ?? text(of: reason)
    else { return reason }
    var words = " \(text.prefix { $0 != ";" }) "
    for (own, others) in othersWords { words = words.replacing(own, with: others) }
    return String(words[...].trimming(" "))
  }
}
