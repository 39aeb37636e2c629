import IAMPASSProtocol

// The output of a phone's authenticator (Web Authentication, level 2), as the phone sends it.

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
