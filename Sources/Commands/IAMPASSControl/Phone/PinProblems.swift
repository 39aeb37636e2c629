import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Problems with the keys that this computer trusts.
extension CommandProblem {
  /// - Parameter path: the path of the pinned phones.
  init(_ error: PinnedPhonesError, path: String) { self = .misconfigured(.phones(error, path: path), path: path) }

  /// The service does not give the keys of phones.
  static let keysNotTold = row(
    "the service does not tell the keys of phones", "pinning needs iampass-server 0.10.0 or later", EX_UNAVAILABLE)

  /// The service's links lead to this address, and not to the configuration's `server`.
  static func linkElsewhere(_ address: String, _ server: ServerURL) -> CommandProblem {
    row(
      "the service registers phones at \(Self.place(of: address)), and server is \(server): such a phone signs nobody in here",
      "let server here, and --public-url of iampass-server, name the same address", EX_CONFIG)
  }

  /// The phone's keys are not P-256 keys in their usual form.
  static func unusableKeys(_ user: UnixUsername) -> CommandProblem {
    row(
      "the keys of \(user)'s phone cannot be pinned: they are not P-256 keys in the usual form", nil, EX_PROTOCOL)
  }

  /// The six words are missing, and there is no terminal to ask at.
  static func wordsNeeded(_ user: UnixUsername) -> CommandProblem {
    row(
      "the six words are needed, and there is no terminal to ask at",
      "iampassctl phone trust \(user) --words 'WORD WORD WORD WORD WORD WORD'", EX_USAGE)
  }

  /// The phone at the service has other words than those that were typed.
  static func otherWords(_ user: UnixUsername) -> CommandProblem {
    row(
      "the phone that the service has for \(user) shows other words; it is not pinned",
      "read them from the phone again; if they still differ, take the service for broken into", EX_DATAERR)
  }

  /// The user has no such pinned phone.
  ///
  /// - Parameter id: what was asked for; nil: any phone.
  static func notPinned(_ user: UnixUsername, phone id: String?) -> CommandProblem {
    guard let id else {
      return row("this computer has not pinned a phone of \(user)", "iampassctl phone list", EX_DATAERR)
    }
    return row(
      "this computer has not pinned exactly one phone of \(user) whose id begins with \(DisplayText.sanitized(id, limit: 64))",
      "iampassctl phone list", EX_DATAERR)
  }

  /// `approvals = verified`, and no approval of the user could be verified.
  static func phoneNotTrusted(_ user: UnixUsername, _ gap: TrustGap) -> CommandProblem {
    let lack =
      switch gap {
      case .noPhone: "this computer trusts no phone of \(user)"
      case .noMethod: "no phone of \(user) that this computer trusts has a method that is asked for"
      }
    return row("\(lack) (approvals = verified)", "iampassctl phone trust \(user)", EX_CONFIG)
  }

  /// `approvals = verified`, and this computer trusted the phone only until it was asked.
  static func phoneForgotten(_ user: UnixUsername) -> CommandProblem {
    row(
      "this computer stopped trusting \(user)'s phone while the phone was asked (approvals = verified)",
      "iampassctl phone trust \(user)", EX_CONFIG)
  }

  /// `approvals = verified`, and the service does not support such approvals.
  static let notVerifiable = row(
    "the service knows no approvals that this computer could verify (approvals = verified)",
    "update iampass-server", EX_PROTOCOL)

  /// The address without its path, which has the code that registers a phone.
  private static func place(of address: String) -> String {
    let parts = address.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty else { return "another place" }
    return DisplayText.sanitized("\(parts[0])//\(parts[2].prefix { $0 != "/" })", limit: 100)
  }
}
