import IAMPASSProtocol
import NIOSSL

/// The settings of one notification service for an application's own apps.
public enum NotificationSettings: Sendable {
  case apple(AppleNotifications)
  case google(GoogleNotifications)

  public var service: NotificationService {
    switch self {
    case .apple: .apple
    case .google: .google
    }
  }

  /// The settings without secrets, in one line, for people and the audit.
  var line: String {
    switch self {
    case .apple(let apple):
      switch apple.proof {
      case .token(_, let keyID, let teamID):
        "apple topic=\(apple.topic) \(apple.environment.rawValue) key=\(keyID) team=\(teamID)"
      case .certificate(let chain, _):
        "apple topic=\(apple.topic) \(apple.environment.rawValue) certificate-ends=\(Self.end(of: chain))"
      }
    case .google(let google): "google project=\(google.projectID) account=\(google.account) key=\(google.keyID)"
    }
  }

  private static func end(of chain: [String]) -> String {
    guard let first = chain.first.flatMap({ Base64.decode($0) }),
      let certificate = try? NIOSSLCertificate(bytes: first, format: .der)
    else { return "unknown" }
    return UnixTime(seconds: Int64(certificate.notValidAfter)).text
  }

  // MARK: As it is stored

  /// Everything but the private key, as JSON.
  var details: String {
    let json: JSON =
      switch self {
      case .apple(let apple):
        switch apple.proof {
        case .token(_, let keyID, let teamID):
          .object([
            "topic": .string(apple.topic), "environment": .string(apple.environment.rawValue),
            "key_id": .string(keyID), "team_id": .string(teamID),
          ])
        case .certificate(let chain, _):
          .object([
            "topic": .string(apple.topic), "environment": .string(apple.environment.rawValue),
            "certificate": .array(chain.map { .string($0) }),
          ])
        }
      case .google(let google):
        .object([
          "project_id": .string(google.projectID), "client_email": .string(google.account),
          "private_key_id": .string(google.keyID),
        ])
      }
    return String(decoding: json.encoded(), as: UTF8.self)
  }

  /// The private key.
  var secret: Secret {
    switch self {
    case .apple(let apple):
      switch apple.proof {
      case .token(let key, _, _), .certificate(_, let key): key
      }
    case .google(let google): google.key
    }
  }

  /// Reads what ``details`` and ``secret`` have written; nil if it is not valid.
  init?(_ service: NotificationService, details: String, secret: Secret) {
    guard let json = try? JSON(parsing: Array(details.utf8)) else { return nil }
    func text(_ name: String) -> String { json[name]?.string ?? "" }
    switch service {
    case .apple:
      guard let environment = AppleNotifications.Environment(rawValue: text("environment")) else { return nil }
      let proof: AppleNotifications.Proof =
        if let chain = json["certificate"]?.array {
          .certificate(chain: chain.compactMap(\.string), key: secret)
        } else {
          .token(key: secret, keyID: text("key_id"), teamID: text("team_id"))
        }
      guard let made = try? AppleNotifications(topic: text("topic"), environment: environment, proof: proof) else {
        return nil
      }
      self = .apple(made)
    case .google:
      guard
        let made = try? GoogleNotifications(
          projectID: text("project_id"), account: text("client_email"), keyID: text("private_key_id"), key: secret)
      else { return nil }
      self = .google(made)
    }
  }
}

/// A notification setting, for people.
public struct NotificationSummary: Sendable {
  public let service: NotificationService
  /// One line without the key.
  public let line: String
  /// When it was set, in confirmed Unix time.
  public let setAt: UnixTime
}
