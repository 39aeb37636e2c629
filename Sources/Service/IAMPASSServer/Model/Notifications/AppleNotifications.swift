import IAMPASSProtocol
import JWTKit
import NIOSSL

/// How messages to an application's app on Apple's devices are sent.
public struct AppleNotifications: Sendable {
  public enum Environment: String, CaseIterable, Sendable {
    case production
    /// For apps that were installed by Xcode.
    case sandbox
  }

  /// What authenticates the sender to Apple.
  enum Proof: Sendable {
    /// A key in PEM (PKCS #8). Ids have 10 characters.
    case token(key: Secret, keyID: String, teamID: String)
    /// A certificate with its chain, and its private key: base64 of DER.
    case certificate(chain: [String], key: Secret)
  }

  /// The app's bundle id.
  let topic: String
  let environment: Environment
  let proof: Proof

  private static let idLength = 10
  private static let greatestTopicLength = 255

  /// - Parameter key: the text of a `.p8` file.
  public init(
    tokenKey key: Secret, keyID: String, teamID: String, topic: String, environment: Environment
  ) throws(NotificationFault) {
    guard Self.isID(keyID) else { throw .keyIDNotFit }
    guard Self.isID(teamID) else { throw .teamIDNotFit }
    guard (try? ES256PrivateKey(pem: key.exposedValue)) != nil else { throw .tokenKeyNotFit }
    try self.init(
      topic: topic, environment: environment, proof: .token(key: key, keyID: keyID, teamID: teamID))
  }

  /// - Parameters:
  ///   - certificate: the certificate with its chain, in PEM.
  ///   - key: the private key without a passphrase, in PEM.
  ///   - now: the wall clock's time.
  public init(
    certificate: String, key: Secret, topic: String, environment: Environment, at now: UnixTime
  ) throws(NotificationFault) {
    guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)), !chain.isEmpty else {
      throw .noCertificate
    }
    guard let read = try? NIOSSLPrivateKey(bytes: Array(key.exposedValue.utf8), format: .pem) else {
      throw .noPrivateKey
    }
    try self.init(chain, read, topic: topic, environment: environment, at: now)
  }

  /// - Parameters:
  ///   - bundle: a PKCS #12 file (`.p12`, `.pfx`).
  ///   - passphrase: empty if it has none.
  ///   - now: the wall clock's time.
  public init(
    bundle: [UInt8], passphrase: Secret, topic: String, environment: Environment, at now: UnixTime
  ) throws(NotificationFault) {
    let (chain, key) = try CertificateBundleFile.open(bundle, passphrase: passphrase)
    guard let certificates = try? chain.map({ try NIOSSLCertificate(bytes: $0, format: .der) }),
      let key = try? NIOSSLPrivateKey(bytes: key, format: .der)
    else { throw .bundleIncomplete }
    try self.init(certificates, key, topic: topic, environment: environment, at: now)
  }

  private init(
    _ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey, topic: String, environment: Environment, at now: UnixTime
  ) throws(NotificationFault) {
    guard now.seconds < Int64(chain[0].notValidAfter) else { throw .certificateExpired }
    guard let ders = try? chain.map({ Base64.encode(try $0.toDERBytes()) }), let own = try? key.derBytes else {
      throw .noPrivateKey
    }
    let proof = Proof.certificate(chain: ders, key: Secret(Base64.encode(own)))
    guard (try? proof.tlsContext(trust: nil)) != nil else { throw .keyOfAnotherCertificate }
    try self.init(topic: topic, environment: environment, proof: proof)
  }

  init(topic: String, environment: Environment, proof: Proof) throws(NotificationFault) {
    let isFit = topic.utf8.allSatisfy { (byte) in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    guard isFit, (1...Self.greatestTopicLength).contains(topic.utf8.count) else { throw .topicNotFit }
    self.topic = topic
    self.environment = environment
    self.proof = proof
  }

  private static func isID(_ text: String) -> Bool {
    text.utf8.count == idLength
      && text.utf8.allSatisfy {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
      }
  }
}

extension AppleNotifications.Proof {
  /// - Parameter trust: the authorities of the service's certificate; nil: the system's.
  /// - Throws: if certificate and key do not belong together.
  func tlsContext(trust: [NIOSSLCertificate]?) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["h2"]
    if let trust { configuration.trustRoots = .certificates(trust) }
    if case .certificate(let chain, let key) = self {
      configuration.certificateChain = try chain.map {
        .certificate(try NIOSSLCertificate(bytes: Base64.decode($0) ?? [], format: .der))
      }
      configuration.privateKey = .privateKey(
        try NIOSSLPrivateKey(bytes: Base64.decode(key.exposedValue) ?? [], format: .der))
    }
    return try NIOSSLContext(configuration: configuration)
  }
}
