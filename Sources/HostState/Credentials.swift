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
  /// Reads `application_id` and `application_secret` from a file that only root can read.
  public init(path: String) throws(CredentialsError) {
    let file: KeyValueFile
    do { file = try KeyValueFile(path: path, privacy: .secret) } catch { throw .keyValue(error) }
    func value(_ key: String) throws(CredentialsError) -> String {
      guard let entry = file[key], !entry.value.isEmpty else { throw .missing(key) }
      guard entry.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), entry.value.utf8.count <= 512 else {
        throw .badValue(key, line: entry.line)
      }
      return entry.value
    }
    self.init(applicationID: try value("application_id"), secret: Secret(try value("application_secret")))
  }
}
