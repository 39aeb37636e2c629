import IAMPASSClient
import IAMPASSProtocol

/// Why the credentials are not used.
public enum CredentialsError: Error, Sendable, Equatable {
  case keyValue(KeyValueError)
  case missing(String)
  case badValue(String, line: Int)

  public func explanation(path: String) -> String {
    switch self {
    case .keyValue(let error): error.explanation(path: path)
    case .missing(let key): "\(path): \(key) is missing"
    case .badValue(let key, let line): "\(path):\(line): bad \(key)"
    }
  }
}

extension ServiceCredential {
  /// Reads `application_id`, `application_secret` and, if it is there, `host` from a file that only root can read.
  public init(path: String) throws(CredentialsError) {
    let file: KeyValueFile
    do { file = try KeyValueFile(path: path, privacy: .secret) } catch { throw .keyValue(error) }
    try self.init(file)
  }

  /// Whether a credential may have this as its id or its secret: 1 to 512 printable ASCII characters without a space.
  public static func isValue(_ text: String) -> Bool {
    (1...512).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  fileprivate init(_ file: KeyValueFile) throws(CredentialsError) {
    func value(_ key: String) throws(CredentialsError) -> String {
      guard let entry = file[key], !entry.value.isEmpty else { throw .missing(key) }
      guard Self.isValue(entry.value) else { throw .badValue(key, line: entry.line) }
      return entry.value
    }
    // Phones show this name, so it must be one that a sign-in can send.
    let host = try file["host"].map { (entry) throws(CredentialsError) in
      guard (1...SignInContext.greatestValueLength).contains(entry.value.unicodeScalars.count) else {
        throw .badValue(entry.key, line: entry.line)
      }
      return entry.value
    }
    self.init(
      applicationID: try value("application_id"), secret: Secret(try value("application_secret")), host: host)
  }
}

/// A credential from the service, with what this computer must require of the service.
public struct IssuedCredential: Sendable {
  public let credential: ServiceCredential
  /// `server`; nil if the service did not know its own address.
  public let server: ServerURL?
  /// `signed_replies`: required from the first call on, before the network can change it.
  public let requiresSignedReplies: Bool
  /// The value of `signed_targets`. If it is true, replies must be signed too.
  public let requiresSignedTargets: Bool

  /// Reads a file that only root can read.
  public init(path: String) throws(CredentialsError) {
    let file: KeyValueFile
    do { file = try KeyValueFile(path: path, privacy: .secret) } catch { throw .keyValue(error) }
    credential = try ServiceCredential(file)
    requiresSignedTargets = try Self.isRequired("signed_targets", in: file)
    requiresSignedReplies = try Self.isRequired("signed_replies", in: file) || requiresSignedTargets
    server = try file["server"].map { (entry) throws(CredentialsError) in
      guard let address = try? ServerURL(entry.value) else { throw .badValue(entry.key, line: entry.line) }
      return address
    }
  }

  /// False if the key is not there.
  private static func isRequired(_ key: String, in file: KeyValueFile) throws(CredentialsError) -> Bool {
    guard let entry = file[key] else { return false }
    guard let isRequired = ["required": true, "off": false][entry.value] else {
      throw .badValue(key, line: entry.line)
    }
    return isRequired
  }
}
