/// Why a file or a word is refused as a notification setting.
public enum NotificationFault: Error, Equatable, Sendable {
  /// The key id does not have 10 of the characters A–Z and 0–9.
  case keyIDNotFit
  case teamIDNotFit
  /// The topic does not have 1 to 255 letters, digits, dots and hyphens.
  case topicNotFit
  /// The token key is not a P-256 private key in PEM.
  case tokenKeyNotFit
  /// There is no certificate in PEM.
  case noCertificate
  /// There is no private key in PEM, or a passphrase protects it.
  case noPrivateKey
  /// Certificate and private key do not belong together.
  case keyOfAnotherCertificate
  case certificateExpired
  /// The file is not PKCS #12, or the passphrase is wrong.
  case bundleNotOpened
  /// The PKCS #12 file has no certificate, or lacks its private key.
  case bundleIncomplete
  /// The file is not the JSON file of a service account.
  case notAServiceAccount
  /// A service account's file lacks this member, or the member is invalid.
  case member(String)

  /// What is wrong, in lower case without a full stop.
  public var explanation: String {
    switch self {
    case .keyIDNotFit: "the key id is invalid"
    case .teamIDNotFit: "the team id is invalid"
    case .topicNotFit: "the topic is invalid"
    case .tokenKeyNotFit: "the token key is not a P-256 private key in PEM"
    case .noCertificate: "there is no certificate in PEM"
    case .noPrivateKey: "there is no private key in PEM, or a passphrase protects it"
    case .keyOfAnotherCertificate: "the private key does not belong to the certificate"
    case .certificateExpired: "the certificate has expired"
    case .bundleNotOpened: "it is not a PKCS #12 file, or the passphrase is wrong"
    case .bundleIncomplete: "the PKCS #12 file does not have both a certificate and its private key"
    case .notAServiceAccount: "it is not the JSON file of a service account"
    case .member(let name): "\(name) of the service account's file is missing or invalid"
    }
  }

  /// What to do next.
  public var hint: String {
    switch self {
    case .keyIDNotFit, .teamIDNotFit: "use the 10 letters and digits that Apple's developer account shows"
    case .topicNotFit: "use the app's bundle id, for example org.example.signin"
    case .tokenKeyNotFit: "use the AuthKey_….p8 file as it was downloaded"
    case .noCertificate: "export the certificate as PEM"
    case .noPrivateKey: "export the private key as PEM, without a passphrase"
    case .keyOfAnotherCertificate: "use the key with which the certificate was requested"
    case .certificateExpired: "request another certificate from Apple"
    case .bundleNotOpened: "give the passphrase's file, and look whether the file was copied whole"
    case .bundleIncomplete: "export certificate and private key together"
    case .notAServiceAccount, .member: "download a new private key of the service account as JSON, and use it as it is"
    }
  }
}
