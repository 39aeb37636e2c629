import IAMPASSProtocol

/// The place of a secret in the database that can be sealed. Both engines have the same places.
enum SealedPlace: Sendable, Equatable {
  /// The key with which the service signs for push services. Every database has exactly one.
  case pushKey
  /// A key that signs approval tokens, by its id.
  case signingKey(String)
  /// The key for a notification service.
  case notifications(application: String, service: String)
  /// An application's secret, by its id.
  case application(String)
  /// The secret of a credential of a computer or program, by its id.
  case computer(String)
  /// The secret of a computer that waits to join, by the join's id.
  case joining(String)
  /// A session's secret, by its id.
  case session(String)
  /// The secret that replies about a session are signed with, by the session's id.
  case reply(String)
  /// The address at which a phone's browser is rung, by the phone's id.
  case endpoint(String)
  /// The secret that messages to a phone's browser are encrypted with, by the phone's id.
  case endpointSecret(String)
  /// The token by which a phone's app is rung, by the phone's id.
  case appToken(String)

  /// The table, the column and the row's key. A sealed value cannot be opened with other words.
  var words: [String] {
    switch self {
    case .pushKey: ["push_key", "private_key", "1"]
    case .signingKey(let id): ["signing_key", "private_key", id]
    case .notifications(let application, let service): ["notification_service", "secret", application, service]
    case .application(let id): ["application", "secret", id]
    case .computer(let id): ["host_credential", "secret", id]
    case .joining(let id): ["joining", "secret", id]
    case .session(let id): ["session", "secret", id]
    case .reply(let id): ["session", "reply_secret", id]
    case .endpoint(let phone): ["push_subscription", "endpoint", phone]
    case .endpointSecret(let phone): ["push_subscription", "auth", phone]
    case .appToken(let phone): ["app_token", "token", phone]
    }
  }

  /// Whether it is a sign-in client's or a phone's, and not the service's own. ``ClientSeal`` says whether these are sealed.
  var isOfClient: Bool {
    switch self {
    case .pushKey, .signingKey, .notifications: false
    case .application, .computer, .joining, .session, .reply, .endpoint, .endpointSecret, .appToken: true
    }
  }

  /// What it is, for people.
  var told: String {
    switch self {
    case .pushKey: "the push key"
    case .signingKey(let id): "the signing key \(id)"
    case .notifications(let application, let service): "the \(service) key of the application \(application)"
    case .application(let id): "the secret of the application \(id)"
    case .computer(let id): "the secret of the credential \(id)"
    case .joining(let id): "the secret of the computer that asks to join as \(id)"
    case .session(let id): "the secret of the session \(id)"
    case .reply(let id): "the secret for replies about the session \(id)"
    case .endpoint(let phone): "the push address of the phone \(phone)"
    case .endpointSecret(let phone): "the push secret of the phone \(phone)"
    case .appToken(let phone): "the app's token of the phone \(phone)"
    }
  }
}

/// A sealed value as it is stored: `sealed:1:KEY:BOX`. No secret begins so: they are base64 or PEM.
struct SealedText: Sendable {
  static let begin = "sealed:"
  private static let version = "1"

  /// The id of the key that sealed it.
  let keyID: String
  /// Nonce, encrypted text and tag.
  let box: [UInt8]

  init(keyID: String, box: [UInt8]) {
    self.keyID = keyID
    self.box = box
  }

  /// Nil for anything else, also if ``isSealed(_:)``: then it is damaged, or of a newer version.
  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] + ":" == Self.begin, parts[1] == Self.version, !parts[2].isEmpty,
      let box = Base64.decode(String(parts[3]))
    else { return nil }
    self.init(keyID: String(parts[2]), box: box)
  }

  static func isSealed(_ text: String) -> Bool { text.hasPrefix(begin) }

  var text: String { "\(Self.begin)\(Self.version):\(keyID):\(Base64.encode(box))" }

  /// What is authenticated with the secret, but not encrypted.
  static func bound(_ keyID: String, to place: SealedPlace) -> [UInt8] {
    JSON.array((["iampass-server sealed", version, keyID] + place.words).map { .string($0) }).encoded()
  }
}
