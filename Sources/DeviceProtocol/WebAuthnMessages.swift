import IAMPASSProtocol

// The output of a phone's authenticator (Web Authentication, level 2), as the phone sends it.

/// Strict base64url (RFC 4648 §5) without padding, as in WebAuthn.
public enum Base64URL {
  public static func encode(_ bytes: [UInt8]) -> String {
    String(Base64.encode(bytes).compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
  }

  /// The bytes; nil if `text` does not encode any.
  public static func decode(_ text: String) -> [UInt8]? {
    guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
    let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    return Base64.decode(standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
  }
}

/// A new WebAuthn credential. As received, nothing is verified.
public struct UnverifiedCredential: Sendable, Equatable {
  public let id: [UInt8]
  /// The base64 of its `SubjectPublicKeyInfo`, of ECDSA P-256.
  public let publicKey: String
  public let authenticatorData: [UInt8]
  /// The client data's JSON text, byte for byte.
  public let clientData: [UInt8]

  public init(id: [UInt8], publicKey: String, authenticatorData: [UInt8], clientData: [UInt8]) {
    self.id = id
    self.publicKey = publicKey
    self.authenticatorData = authenticatorData
    self.clientData = clientData
  }

  init(_ json: JSON) throws(MessageError) {
    self.init(
      id: try json.bytes("id"), publicKey: try json.text("public_key"),
      authenticatorData: try json.bytes("authenticator_data"), clientData: try json.bytes("client_data"))
  }

  var json: JSON {
    .object([
      "id": .string(Base64URL.encode(id)), "public_key": .string(publicKey),
      "authenticator_data": .string(Base64URL.encode(authenticatorData)),
      "client_data": .string(Base64URL.encode(clientData)),
    ])
  }
}

/// A WebAuthn assertion. As received, nothing is verified.
public struct UnverifiedAssertion: Sendable, Equatable {
  public let authenticatorData: [UInt8]
  /// The client data's JSON text, byte for byte.
  public let clientData: [UInt8]
  /// ASN.1 DER, as authenticators make it.
  public let signature: [UInt8]

  public init(authenticatorData: [UInt8], clientData: [UInt8], signature: [UInt8]) {
    self.authenticatorData = authenticatorData
    self.clientData = clientData
    self.signature = signature
  }

  init(_ json: JSON) throws(MessageError) {
    self.init(
      authenticatorData: try json.bytes("authenticator_data"), clientData: try json.bytes("client_data"),
      signature: try json.bytes("signature"))
  }

  public var json: JSON {
    .object([
      "authenticator_data": .string(Base64URL.encode(authenticatorData)),
      "client_data": .string(Base64URL.encode(clientData)), "signature": .string(Base64URL.encode(signature)),
    ])
  }
}

/// What an authenticator signs besides its own data.
public enum CredentialChallenge {
  /// 32 bytes for making a credential.
  ///
  /// - Parameters:
  /// - occasion: the link's code at registration, the statement's nonce afterwards.
  ///   - publicKey: ``DevicePublicKey/text`` of the phone's own key.
  public static func bytes(for occasion: Secret, publicKey: String) -> [UInt8] {
    Digest.sha256(Array("iampass credential 1\n\(occasion.exposedValue)\n\(publicKey)".utf8))
  }

  /// 32 bytes for an approval. They cover what the phone showed.
  public static func bytes(for statement: JSON) -> [UInt8] { Digest.sha256(statement.canonicallyEncoded()) }
}
