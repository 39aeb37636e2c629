import CommandSupport
import Glibc

/// What can go wrong with `setup` and `certificate renew`.
extension CommandProblem {
  static let notRoot = CommandProblem(
    message: "this command needs root", hint: "run it as root", exitCode: EX_NOPERM)

  static let otherSetup = CommandProblem(
    message: "another setup or renewal is running", hint: "wait until it is done, and run this again",
    exitCode: EX_UNAVAILABLE)

  static let otherDatabase = CommandProblem(
    message: "the unit of the service has --database, and setup works on a data directory",
    hint: setupByHand, exitCode: EX_CONFIG)

  static let setupOnDatabase = CommandProblem(
    message: "setup works on a data directory, and not on a PostgreSQL database", hint: setupByHand,
    exitCode: EX_USAGE)

  private static let setupByHand = "set such a service up by hand, as iampass-server(8) says under POSTGRESQL"

  static let notSetUp = CommandProblem(
    message: "the service's settings do not have its public address", hint: "run iampass-server setup",
    exitCode: EX_CONFIG)

  static let notAgreed = CommandProblem(
    message: "nothing was changed", hint: "run this again with other options or answers", exitCode: 1)

  static let ownApplication = CommandProblem(
    message: "the application \(SetupCommand.administrators) is the service's own, and not for computers",
    hint: "choose another name with --application", exitCode: EX_DATAERR)

  static let badAdministrator = CommandProblem(
    message: "this is not a valid name for an administrator",
    hint: "use 1 to 100 characters, none of them a control character", exitCode: EX_DATAERR)

  static func notTheOwner(of folder: String, _ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "cannot act as the owner of \(folder): \(String(cString: strerror(code)))",
      hint: "run this as root with its usual capabilities, or as the owner", exitCode: EX_NOPERM)
  }

  static func noServiceUser(_ user: String) -> CommandProblem {
    CommandProblem(
      message: "there is no user \(user)", hint: "install the package iampass-server: setup is for its service",
      exitCode: EX_NOUSER)
  }

  static func missingOption(_ option: String) -> CommandProblem {
    CommandProblem(
      message: "\(option) is missing: setup asks only at a terminal, and without --yes",
      hint: "iampass-server setup --help",
      exitCode: EX_USAGE)
  }

  static func badName(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text.isEmpty ? "the empty text" : text) is not a name of a service",
      hint:
        "give a DNS name such as iampass.example.org, without https://; names with other letters by their xn-- form",
      exitCode: EX_USAGE)
  }

  static func nameNotFound(_ name: String) -> CommandProblem {
    CommandProblem(
      message: "\(name) does not resolve to an address",
      hint: "add the name to your DNS, or to /etc/hosts here and on each computer", exitCode: EX_NOHOST)
  }

  static func badCertificateChoice(_ text: String) -> CommandProblem {
    CommandProblem(message: "\(text) is not one of o, f and c", hint: "type one letter", exitCode: EX_USAGE)
  }

  static func badPath(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "the path \(path) has blanks, quotes or backslashes, which the service's settings cannot have",
      hint: "give the file another name", exitCode: EX_USAGE)
  }

  static func noCertbot(_ folder: String, _ name: String) -> CommandProblem {
    CommandProblem(
      message: "certbot has no certificate in \(folder)", hint: "certbot certonly --standalone -d \(name)",
      exitCode: EX_NOINPUT)
  }

  static func hidden(_ path: String, _ folder: String) -> CommandProblem {
    CommandProblem(
      message: "the service does not see \(path): its unit hides \(folder)",
      hint: "put certificate and key into /etc/iampass-server", exitCode: EX_NOPERM)
  }

  static func serviceCannotRead(_ path: String, _ user: String) -> CommandProblem {
    CommandProblem(
      message: "the user of the service, \(user), cannot read \(path)",
      hint: "chgrp \(user) \(path); chmod 640 \(path); and let the group pass the folders above", exitCode: EX_NOPERM)
  }

  static func applicationIsThere(_ name: String, _ file: String) -> CommandProblem {
    CommandProblem(
      message: "there is an application \(name) already, and \(file) with its credential is missing",
      hint: "give its file with --secret-file, or another name with --application", exitCode: EX_DATAERR)
  }

  static func cannotListen(_ address: ListenAddress, _ code: Int32) -> CommandProblem {
    let hint =
      switch code {
      case EADDRNOTAVAIL:
        "ip -brief address shows what it has; give one of these, or --listen [::]:\(address.port) for all of them"
      case EADDRINUSE:
        "ss -Hltnp sport = :\(address.port) names the program; stop it, or choose another port with --listen"
      default: "choose another address and port with --listen"
      }
    let what = code == EADDRNOTAVAIL ? "this computer does not have the address" : String(cString: strerror(code))
    return CommandProblem(
      message: "cannot listen on \(address.text): \(what); nothing was changed", hint: hint, exitCode: EX_UNAVAILABLE)
  }

  static let changeBrokenOff = CommandProblem(
    message: "a change to another authority was begun, and did not come to its end",
    hint: "complete it first: iampass-server setup --new-authority", exitCode: EX_CONFIG)

  static func changeLost(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "the authority of the change that was begun is missing, or is not the one in \(path)",
      hint: "put its files back; or remove \(path), and run this again for another authority", exitCode: EX_NOINPUT)
  }

  static func changeForOther(_ name: String, _ reason: String, _ path: String) -> CommandProblem {
    CommandProblem(
      message: "the authority of the change that was begun cannot sign for \(name): \(reason)",
      hint: "give the name of before; or remove \(path), and run this again for another authority",
      exitCode: EX_DATAERR)
  }

  static func nextRefuses(_ name: String, _ reason: String, _ path: String) -> CommandProblem {
    CommandProblem(
      message: "the next authority cannot sign for \(name): \(reason)",
      hint: "give the name that it was made for; or remove \(path), and run this again for another authority",
      exitCode: EX_DATAERR)
  }

  static func noAuthority(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "the authority of this service is missing: \(path)", hint: "run iampass-server setup again",
      exitCode: EX_NOINPUT)
  }

  static func unitFails(_ word: String, _ unit: String) -> CommandProblem {
    CommandProblem(
      message: "systemctl \(word) \(unit) failed", hint: "journalctl -u \(unit) -n 20 says why",
      exitCode: EX_UNAVAILABLE)
  }

  static func noNamespace(_ failure: NamespaceFailure, _ unit: String) -> CommandProblem {
    CommandProblem(
      message: failure.explanation(of: unit), hint: failure.hint(for: unit, manual: "iampass-server(8)"),
      exitCode: EX_UNAVAILABLE)
  }

  static func unitDoesNotListen(_ unit: String, _ address: String) -> CommandProblem {
    CommandProblem(
      message: "the service does not listen on \(address) within 20 seconds",
      hint: "journalctl -u \(unit) -n 20 says why", exitCode: EX_UNAVAILABLE)
  }

  static func settingsPutBack(_ problem: CommandProblem) -> CommandProblem {
    CommandProblem(
      message: problem.message + "; the settings of before are put back", hint: problem.hint,
      exitCode: problem.exitCode)
  }

  static func commandFails(_ command: String) -> CommandProblem {
    CommandProblem(
      message: "iampass-server \(command) did not end well", hint: "run it by hand, and see what it says",
      exitCode: EX_UNAVAILABLE)
  }

  static func setupInterrupted(_ code: Int32, hasBegun: Bool = true) -> CommandProblem {
    CommandProblem(
      message: hasBegun ? "interrupted" : "interrupted; nothing was changed",
      hint: hasBegun ? "run this again: it goes on where it stopped" : nil, exitCode: code)
  }

  /// The message of a command of this program that has failed.
  init(ofCommand done: Program.Result) {
    let lines = done.output.split(separator: "\n").map(String.init)
    let (own, hint) = ("iampass-server: ", "hint: ")
    let message = lines.last { $0.hasPrefix(own) } ?? lines.last ?? "a command ended with \(done.status)"
    self.init(
      message: message.hasPrefix(own) ? String(message.dropFirst(own.count)) : message,
      hint: lines.last { $0.hasPrefix(hint) }.map { String($0.dropFirst(hint.count)) }, exitCode: done.status)
  }
}
