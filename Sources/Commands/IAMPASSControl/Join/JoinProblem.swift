import Glibc
import IAMPASSProtocol

/// Why this computer does not join.
enum JoinProblem: Error, Equatable {
  case badCode
  case badName(String)
  case notEncrypted
  /// The computer belongs to another service, or was set up by hand.
  case setUpAlready(String)
  /// The server did not send a certificate.
  case nothingShown(String)
  /// The server sent another certificate than the code names.
  case otherCertificate(String)
  /// The service names other administrators, another application or another group than the code.
  case otherAdministrators
  /// The code names none, and this computer has some; their names.
  case noAdministrators(former: String)
  /// The code's administrators are not those of this computer, and cannot follow from them.
  case administratorsDoNotFollow(former: String, named: String)
  /// The service's reason.
  case refused(String)
  case notApproved(name: String, digits: String)
  /// The list of users is not valid. Has the reason.
  case listRefused(String)
  /// The service does not prove that its administrators follow from those that this computer knows; with the reason.
  case administratorsRefused(String)
  /// No administrator's phone has signed the list of users.
  case listNotSigned
  /// The computer has joined, but was not switched on because there are no users.
  case notEnabled

  var message: String {
    switch self {
    case .badCode: "this is not a whole join code"
    case .badName(let name): "\(DisplayText.sanitized(name, limit: 64)) is not a name for a computer"
    case .notEncrypted: "a computer joins over https only"
    case .setUpAlready(let server): "this computer is set up for \(server) already"
    case .nothingShown(let server): "\(server) shows no certificate"
    case .otherCertificate(let server):
      "\(server) does not show the certificate that the code names; the code was not sent"
    case .otherAdministrators:
      "the service tells other administrators, another application or another group than the code is for"
    case .noAdministrators(let former):
      "the list of users counts here if \(former) signs it by phone, and this code names no administrators"
    case .administratorsDoNotFollow(let former, let named):
      "the list of users counts here if \(former) signs it by phone; the code's administrators (\(named)) do not follow "
        + "from these"
    case .refused(let reason):
      ReasonWord.text(of: reason) ?? "the service refused, for no reason that this version knows; see the service's log"
    case .listRefused(let reason), .administratorsRefused(let reason):
      "the service's list of users is not taken: \(reason)"
    case .listNotSigned: "no administrator has signed the service's list of users yet"
    case .notEnabled: "this computer has joined, and sign-in by phone is not switched on: the users are not here yet"
    case .notApproved(let name, let digits): "no administrator has approved \(name) yet (digits \(digits))"
    }
  }

  var hint: String? {
    switch self {
    case .badCode: "copy the whole line that iampass-server join-code create printed"
    case .badName: "give one with --name: letters, digits, hyphens and points"
    case .notEncrypted: "https://iampass.example.com"
    case .setUpAlready: "iampassctl join --again gives that up"
    case .nothingShown: "look at the address, the network, and whether the service runs there"
    case .otherCertificate:
      "the code may be another service's, or its certificate was changed: make another code; or somebody is in between"
    case .otherAdministrators:
      "make another code; if it happens again, take the service for broken into: this computer believes nothing of it"
    case .noAdministrators:
      "make a code where administrators sign; with --give-up-administrators the service alone says who signs in here, and "
        + "so does whoever breaks into it"
    case .administratorsDoNotFollow:
      "ask them; if they began again, or changed since the code was made, make another code; --give-up-administrators "
        + "with the same code believes the code's, whoever they are"
    case .administratorsRefused:
      "ask the administrators; if they began again: iampassctl join --again --give-up-administrators, with a new code"
    case .refused("COMPUTER_NAME_TAKEN"):
      "iampass-server host-credential revoke frees the name of a computer that is gone; or give --name here"
    case .refused("JOIN_CODE_EXPIRED"), .refused("JOIN_CODE_REVOKED"), .refused("JOIN_CODE_USED"),
      .refused("UNKNOWN_JOIN_CODE"):
      "iampass-server join-code create, at the service, for another code"
    case .refused, .listRefused: nil
    case .listNotSigned: "iampass-server user sign, at the service, or its console"
    case .notEnabled: "run this again, or iampassctl enable when iampassctl user list has users"
    case .notApproved: "iampass-server join-code approve, at the service, or its console; then run this again"
    }
  }

  var exitCode: Int32 {
    switch self {
    case .badCode, .badName, .notEncrypted: EX_USAGE
    case .setUpAlready: EX_CONFIG
    case .nothingShown: EX_UNAVAILABLE
    case .otherCertificate, .otherAdministrators, .administratorsDoNotFollow, .listRefused, .administratorsRefused:
      EX_PROTOCOL
    case .noAdministrators: EX_NOPERM
    case .refused: EX_NOPERM
    case .notApproved, .listNotSigned, .notEnabled: EX_TEMPFAIL
    }
  }
}
