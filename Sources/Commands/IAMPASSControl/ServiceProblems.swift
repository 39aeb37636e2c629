import CommandSupport
import Glibc
import HostDoctor
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// Problems with the service's answers.
extension CommandProblem {
  static func unreachable(_ server: ServerURL, _ error: TransportError) -> CommandProblem {
    row(
      "\(server) cannot be asked: \(ServiceError.transport(error).explanation)", error.code.hint(for: server),
      EX_UNAVAILABLE, cause: error)
  }

  static func unknownApplication(_ id: String) -> CommandProblem {
    row("the service does not know the application \(DisplayText.sanitized(id))", Self.otherCredential, EX_NOPERM)
  }

  /// The service does not accept the credential with any signing scheme.
  static let notAccepted = row(
    "the service does not accept this id and secret, whichever way they sign", Self.otherCredential, EX_NOPERM)

  /// The clocks differ too much: the service refuses every signature.
  static func clockDiffers(_ finding: Finding) -> CommandProblem {
    row(finding.text, finding.hint, EX_UNAVAILABLE)
  }

  /// The service does not accept the credential for managing users and phones.
  static func mayNotManage(credentials path: String) -> CommandProblem {
    row(
      "the service does not let the credential of \(path) manage users and phones",
      "give the application's own credential with --credentials FILE, or iampassctl check", EX_NOPERM)
  }

  static func service(_ error: ServiceError) -> CommandProblem {
    switch error {
    case .badReply(.refused(let reason)):
      row(
        "the service refused: \(ReasonWord.text(of: reason) ?? "no reason that this version knows; see the service's log")",
        nil, EX_PROTOCOL, cause: error)
    case .notFound: row("the service does not know this application or user", nil, EX_UNAVAILABLE, cause: error)
    default: row(Self.noAnswer(error), nil, Self.exitCode(of: error), cause: error)
    }
  }

  /// The user has a token here that the service does not know.
  static func unknownAtService(_ user: UnixUsername) -> CommandProblem {
    row("the service does not know this application or user", "iampassctl user add \(user)", EX_UNAVAILABLE)
  }

  /// The service signs less than it announces, than its credential's file says, or than this computer has required so
  /// far.
  static func signsLess(_ error: ServiceError, thanSaid: Bool) -> CommandProblem {
    row(
      Self.noAnswer(error),
      thanSaid
        ? "the service says that it signs: somebody may be in between, such as a proxy that takes headers away"
        : "somebody may be in between; for another service, which never signs: iampassctl setup --unsigned", EX_PROTOCOL
    )
  }

  /// A test sign-in was not approved. Has the service's word for it.
  static func notApproved(_ reason: String) -> CommandProblem {
    row("the sign-in was not approved: \(reason)", nil, EX_TEMPFAIL)
  }

  /// The service has no route for audit entries.
  static let auditNotTold = row(
    "the service does not tell computers what it noted", "update iampass-server", EX_UNAVAILABLE)

  /// The computer uses the application's credential, which others may use too.
  static let auditNotForApplications = row(
    "the service tells this only to a computer that has a credential of its own",
    "iampass-server host-credential create, or iampassctl join; or --local", EX_NOPERM)

  /// The audit has more pages than are read.
  static let auditTooLong = row("the service noted more than is read at once", "name a later --since", EX_UNAVAILABLE)

  /// The service's answer that stopped the command; nil if something else did.
  var serviceError: ServiceError? { cause as? ServiceError }

  /// Whether network or service could not be reached.
  var isUnreachable: Bool { cause is TransportError }

  /// Whether the same question may be answered in a moment.
  var isPassing: Bool { isUnreachable || serviceError?.isPassing == true }

  /// Whether the service may have made the change although it did not confirm it.
  var mayHaveArrived: Bool {
    if let transport = cause as? TransportError { return transport.code.mayHaveArrived }
    return self == .interrupted || serviceError != nil
  }

  private static let otherCredential = "iampassctl setup --application-id ID, which asks for the secret again"

  private static func noAnswer(_ error: ServiceError) -> String {
    "the service gave no usable answer: \(error.explanation)"
  }

  private static func exitCode(of error: ServiceError) -> Int32 {
    switch error {
    case .badReply, .replyNotSigned, .replyTargetNotSigned, .replyForAnother, .approvalNotVerified, .foreignAddress:
      EX_PROTOCOL
    default: EX_UNAVAILABLE
    }
  }
}
