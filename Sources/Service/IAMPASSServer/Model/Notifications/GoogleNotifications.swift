import IAMPASSProtocol
import JWTKit

/// How messages to an application's app are sent by Google: with a service account of its Firebase project.
public struct GoogleNotifications: Sendable {
  /// The address that tokens come from. A file with another address would make the service send its proof of identity
  /// there.
  static let tokenAddress = "https://oauth2.googleapis.com/token"
  private static let greatestLength = 200

  let projectID: String
  /// The account's name: an email address.
  let account: String
  let keyID: String
  /// The RSA key in PEM.
  let key: Secret

  /// - Parameter file: the JSON text of a service account's key.
  public init(serviceAccount file: [UInt8]) throws(NotificationFault) {
    guard let json = try? JSON(parsing: file), json["type"]?.string == "service_account" else {
      throw .notAServiceAccount
    }
    func member(_ name: String) throws(NotificationFault) -> String {
      guard let text = json[name]?.string, !text.isEmpty, text.utf8.count <= Self.greatestLength,
        text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") })
      else { throw .member(name) }
      return text
    }
    guard json["token_uri"]?.string == Self.tokenAddress else { throw .member("token_uri") }
    guard let key = json["private_key"]?.string else { throw .member("private_key") }
    try self.init(
      projectID: member("project_id"), account: member("client_email"), keyID: member("private_key_id"),
      key: Secret(key))
  }

  init(projectID: String, account: String, keyID: String, key: Secret) throws(NotificationFault) {
    guard (try? Insecure.RSA.PrivateKey(pem: key.exposedValue)) != nil else { throw .member("private_key") }
    self.projectID = projectID
    self.account = account
    self.keyID = keyID
    self.key = key
  }
}
