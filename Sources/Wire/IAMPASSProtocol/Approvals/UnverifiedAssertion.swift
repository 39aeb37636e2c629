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

  /// Throws if a member is missing or malformed.
  public init(_ json: JSON) throws(MessageError) {
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
