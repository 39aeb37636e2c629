import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// An error of the setup that an administrator must repair.
public enum Misconfiguration: Error, Sendable, Equatable {
  /// Nothing was set up yet. The module asks no phone, and tells the user nothing.
  case noServer
  /// `http` without signed replies: if the service is down, any process could take its loopback port and answer
  /// `active`.
  case plainServerNotSigned
  /// `approvals = verified` without context: the phone cannot sign what it does not show.
  case verifiedWithoutContext
  case badArgument(String)
  case configuration(ConfigurationError, path: String)
  case credentials(CredentialsError, path: String)
  case users(UserTokensError, path: String)
  case phones(PinnedPhonesError, path: String)
  case authority(FileError)
  case signing(SigningError)

  /// What is wrong, and where, for the log.
  public var explanation: String {
    switch self {
    case .noServer: "no server is set"
    case .plainServerNotSigned: "server = http://… needs signed_replies = required"
    case .verifiedWithoutContext: "approvals = verified needs the sign-in's details: take send_context = no out"
    case .badArgument(let argument): "bad module argument \(DisplayText.sanitized(argument))"
    case .configuration(let error, let path): error.explanation(path: path)
    case .credentials(let error, let path): error.explanation(path: path)
    case .users(let error, let path): error.explanation(path: path)
    case .phones(let error, let path): error.explanation(path: path)
    case .authority(let error): "ca_file: \(error.explanation)"
    case .signing(.secretIsNot24Bytes):
      "application_secret has not the 24 bytes that signing = documented needs; set signing = client"
    }
  }

  /// The command or line that repairs it; nil if there is no single one.
  public var hint: String? { self == .noServer ? "set server = https://…" : file?.hint }

  /// The reason if the system did not say who a user is. Then no file of this computer is wrong; nil otherwise.
  public var failedLookup: UserLookupError? {
    switch self {
    case .users(.lookup(let error), _), .phones(.lookup(let error), _): error
    case .noServer, .plainServerNotSigned, .verifiedWithoutContext, .badArgument, .configuration, .credentials, .users,
      .phones, .authority, .signing:
      nil
    }
  }

  /// What is wrong with a file as a whole; nil if one of its lines is wrong.
  public var file: FileError? {
    switch self {
    case .configuration(.services(.keyValue(.file(let error)), _), _), .configuration(.keyValue(.file(let error)), _),
      .credentials(.keyValue(.file(let error)), _),
      .users(.file(let error), _), .phones(.file(let error), _), .authority(let error):
      error
    case .noServer, .plainServerNotSigned, .verifiedWithoutContext, .badArgument, .configuration, .credentials, .users,
      .phones, .signing:
      nil
    }
  }
}
