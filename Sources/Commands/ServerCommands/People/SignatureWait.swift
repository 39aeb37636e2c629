import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

/// Makes the service ask an administrator's phone for a signature, and waits for it.
struct SignatureWait {
  /// The time between two looks, in milliseconds.
  private static let interval: Int64 = 250
  /// How long a running service may take to accept an order, in seconds.
  private static let orderTime: Int64 = 10
  /// How long a phone may take to answer, in seconds. It is longer than any request is open.
  private static let answerTime: Int64 = 660

  let storage: any OperatorStore

  /// The administrator whose phone signs: the named one, or the only one who can.
  func administrator(_ named: String?) async throws -> String {
    let state = try await storage.signingState()
    guard let set = state.set else { throw CommandProblem.noAdministratorSet }
    if let named { return named }
    let names = Set(set.keys.compactMap { key -> String? in if case .phone(let name, _) = key { name } else { nil } })
    guard names.count == 1, let only = names.first else { throw CommandProblem.severalSigners(names.sorted()) }
    return only
  }

  func sign(_ subject: DocumentOrder.Subject, by administrator: String) async throws -> DocumentOutcome {
    let id = try await storage.orderDocument(DocumentOrder(subject, by: administrator), at: storage.now())
    let shown = DisplayText.sanitized(administrator)
    var isAsked = false
    var waited: Int64 = 0
    while true {
      switch try await storage.documentOrder(id) {
      case .ended(let outcome): return outcome
      case nil: return .withdrawn
      case .asked:
        if !isAsked {
          Notice.tell("the phone of \(shown) is asked")
          (isAsked, waited) = (true, 0)
        }
      case .ordered: break
      }
      guard waited < (isAsked ? Self.answerTime : Self.orderTime) * 1_000 else {
        try await storage.withdrawDocument(id, at: storage.now())
        guard isAsked else { throw CommandProblem.serviceDoesNotAsk }
        return .notAnswered
      }
      try await Task.sleep(for: .milliseconds(Self.interval))
      waited += Self.interval
    }
  }
}

extension CommandProblem {
  static let noAdministratorSet = CommandProblem(
    message: "no administrators sign here yet", hint: "iampass-server administrator start-signing",
    exitCode: EX_CONFIG)

  fileprivate static func severalSigners(_ names: [String]) -> CommandProblem {
    CommandProblem(
      message: "it is not clear whose phone signs: " + DisplayText.sanitized(names.joined(separator: ", "), limit: 500),
      hint: "name one with --as", exitCode: EX_USAGE)
  }

  fileprivate static let serviceDoesNotAsk = CommandProblem(
    message: "the service did not ask the phone", hint: "see that it runs, on this database: systemctl status",
    exitCode: EX_UNAVAILABLE)

  static let recoveryKeyNotMade = CommandProblem(
    message: "libcrypto does not make a key, or a signature", hint: "look at the installation of OpenSSL",
    exitCode: EX_SOFTWARE)

  static let nobodyAgrees = CommandProblem(
    message: "nothing was signed: nobody is here to agree", hint: "run this at a terminal, or give --yes",
    exitCode: EX_USAGE)

  static let notSigned = CommandProblem(
    message: "nothing was signed", hint: "compare administrator list with your administrators", exitCode: 1)

  static let notARecoveryKey = CommandProblem(
    message: "this is not a recovery key", hint: "it begins with IRK1; look for a letter that is mistyped or missing",
    exitCode: EX_DATAERR)

  /// Nil if the document was signed or needs no signature.
  init?(_ outcome: DocumentOutcome, by administrator: String) {
    let name = DisplayText.sanitized(administrator)
    switch outcome {
    case .signed, .nothing: return nil
    case .noSet: self = .noAdministratorSet
    case .notSigner:
      self.init(
        message: "no phone of \(name) is among those that sign",
        hint: "iampass-server administrator list shows who can; administrator sign takes new phones in",
        exitCode: EX_NOUSER)
    case .unfit:
      self.init(
        message: "computers would not take this: too many groups, users or keys, or no administrator with a phone",
        hint: "at most 255 groups, 100000 users, 64 keys", exitCode: EX_DATAERR)
    case .busy:
      self.init(
        message: "the phone of \(name) has a request of this kind open", hint: "answer it, and try again",
        exitCode: EX_TEMPFAIL)
    case .notAsked:
      self.init(
        message: "the phone of \(name) cannot be asked now", hint: "iampass-server audit says why",
        exitCode: EX_TEMPFAIL)
    case .denied:
      self.init(message: "\(name) denied it", hint: "nothing was signed", exitCode: EX_NOPERM)
    case .notAnswered, .withdrawn:
      self.init(message: "\(name) did not answer in time", hint: "try again", exitCode: EX_TEMPFAIL)
    case .notProven:
      self.init(
        message: "what the phone of \(name) sent is not taken for a signature",
        hint: "reload its page, or update the app: older ones do not show documents", exitCode: EX_PROTOCOL)
    case .outdated:
      self.init(message: "something newer was signed meanwhile", hint: "try again", exitCode: EX_TEMPFAIL)
    case .failed:
      self.init(
        message: "the service failed several times to have it signed",
        hint: "its log says why; mend that, and try again",
        exitCode: EX_SOFTWARE)
    case .changing:
      self.init(
        message: "the list changed each time that the service read it", hint: "try again once these changes are over",
        exitCode: EX_TEMPFAIL)
    }
  }
}
