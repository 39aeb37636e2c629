import CommandSupport
import Glibc
import HostDoctor
import HostSystem
import IAMPASSProtocol

/// Problems with users, their tokens and their phones.
extension CommandProblem {
  static func badUsername(_ text: String) -> CommandProblem {
    row("\(DisplayText.sanitized(text, limit: 64)) is not a user name", nil, EX_USAGE)
  }

  static func unknownUser(_ user: UnixUsername) -> CommandProblem {
    row(
      "user \(user) is not known to this system", "check the spelling, or add it all the same with --force",
      EX_NOUSER)
  }

  /// The number of an export's users whom the system does not know. They were printed, and the others were imported.
  static func notImported(_ count: Int, of all: Int) -> CommandProblem {
    row(
      "\(count) of \(Words.counted(all, "user")) not imported",
      "add their accounts to this system and run it again, or take them all the same with --force", EX_NOUSER)
  }

  /// The system did not answer whether it knows a user.
  static func lookup(_ error: UserLookupError) -> CommandProblem {
    row(error.explanation, "getent passwd USER, and the sources in /etc/nsswitch.conf", EX_TEMPFAIL)
  }

  static func noToken(_ user: UnixUsername) -> CommandProblem {
    row("user \(user) has no token", "iampassctl user add \(user)", EX_NOUSER)
  }

  static let badToken = row(
    "a token is printable text without spaces, quotes, colons and backslashes, of 512 bytes at most", nil,
    EX_DATAERR)

  static let secretsToTerminal = row(
    "tokens are secrets and are not shown on a terminal", "iampassctl user export FILE", EX_USAGE)

  /// The user has no phone at the service.
  static func noPhone(_ user: UnixUsername) -> CommandProblem {
    row("user \(user) does not have a phone", "iampassctl enroll \(user)", EX_NOUSER)
  }

  /// The user has as many phones as the service allows, so another link would not work. Has their names.
  static func hasPhones(_ user: UnixUsername, _ names: [String]) -> CommandProblem {
    row(
      "\(user) has \(names.count == 1 ? "a phone" : "\(names.count) phones") already: \(names.joined(separator: ", "))",
      names.count == 1
        ? "if it is gone, iampassctl lost-device \(user); for a second one, iampass-server application set APPLICATION --phones 2"
        : "if one is gone, iampassctl lost-device \(user) --phone NAME", EX_DATAERR)
  }

  static func noPhoneCame(_ user: UnixUsername) -> CommandProblem {
    row("no phone registered for \(user)", "iampassctl enroll \(user), for a new link", EX_TEMPFAIL)
  }

  static func stoppedWaiting(_ user: UnixUsername) -> CommandProblem {
    row(
      "not waiting for \(user)'s phone any more; the link stays good",
      "iampassctl user show \(user), to see whether it came", Interrupt.exitCode)
  }

  /// The user has these phones, and the command does not name one.
  static func severalPhones(_ user: UnixUsername, _ names: [String]) -> CommandProblem {
    row(
      "\(user) has \(names.count) phones: \(names.joined(separator: ", "))",
      "iampassctl lost-device \(user) --phone NAME, or --all-phones", EX_USAGE)
  }

  /// Not exactly one phone of the user has this name, or an id that begins so.
  static func noSuchPhone(_ user: UnixUsername, _ name: String) -> CommandProblem {
    row(
      "\(user) does not have exactly one phone of the name or id \(DisplayText.sanitized(name, limit: 64))",
      "iampassctl lost-device \(user), which names them", EX_DATAERR)
  }
}
