/// What `GET /.well-known/iampass` announces. All false for a service without that page.
public struct ServiceAnnouncement: Sendable, Equatable {
  public static let path = "/.well-known/iampass"

  public var signedReplies: Bool
  public var context: Bool
  public var preferWait: Bool
  public var matchCode: Bool
  public var hostCredentials: Bool
  /// Replies about a session name it. A start's signed address may carry the digest of its body.
  public var sessionNames: Bool
  /// Replies also carry the signature that covers what was requested.
  public var signedTargets: Bool
  /// The signed address of every route may carry the body's digest.
  public var bodyDigests: Bool
  /// The service seals registration links on request.
  public var sealedLinks: Bool
  /// A start with a ``StartName`` may be sent again.
  public var repeatedStarts: Bool
  /// The address to which the service's links lead, and for which its phones sign. Nil if the service does not send it.
  public var address: ServerURL?

  public init(
    signedReplies: Bool = false, context: Bool = false, preferWait: Bool = false, matchCode: Bool = false,
    hostCredentials: Bool = false, sessionNames: Bool = false, signedTargets: Bool = false, bodyDigests: Bool = false,
    sealedLinks: Bool = false, repeatedStarts: Bool = false, address: ServerURL? = nil
  ) {
    self.signedReplies = signedReplies
    self.context = context
    self.preferWait = preferWait
    self.matchCode = matchCode
    self.hostCredentials = hostCredentials
    self.sessionNames = sessionNames
    self.signedTargets = signedTargets
    self.bodyDigests = bodyDigests
    self.sealedLinks = sealedLinks
    self.repeatedStarts = repeatedStarts
    self.address = address
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    func has(_ name: String) -> Bool { json[name]?.bool ?? false }
    self.init(
      signedReplies: has("signed_replies"), context: has("context"), preferWait: has("prefer_wait"),
      matchCode: has("match_code"), hostCredentials: has("host_credentials"),
      sessionNames: has("session_names"), signedTargets: has("signed_targets"), bodyDigests: has("body_digests"),
      sealedLinks: has("sealed_links"), repeatedStarts: has("repeated_starts"),
      address: json["address"]?.string.flatMap { try? ServerURL($0) })
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "signed_replies": .bool(signedReplies), "context": .bool(context), "prefer_wait": .bool(preferWait),
      "match_code": .bool(matchCode), "host_credentials": .bool(hostCredentials),
      "session_names": .bool(sessionNames), "signed_targets": .bool(signedTargets),
      "body_digests": .bool(bodyDigests), "sealed_links": .bool(sealedLinks),
      "repeated_starts": .bool(repeatedStarts),
      "address": address.map { .string($0.description) },
    ]).encoded()
  }
}
