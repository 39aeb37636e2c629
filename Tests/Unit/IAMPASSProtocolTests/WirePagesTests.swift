import Foundation
import Testing

@testable import IAMPASSProtocol

/// The values that the libraries' pages on the wire print, made again from the inputs that stand beside them.
@Suite struct WirePagesTests {
  /// A page's text in one line, so that its line breaks do not count.
  private static func page(_ library: String) throws -> String {
    let project = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    let file = project.appending(path: "Sources/Wire/\(library)/\(library).docc/Wire.md")
    return try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  @Test func theClientsSignatureIsThatOfItsInputs() throws {
    let (client, secret, nonce, timestamp) = ("ABCD", "yNGfB51YbmwxAscRuzOl8G5U", "1", "1235567893")
    let address =
      "https://localhost:8443/authentication/authenticate_user/\(client)/user%2F1+x?methods=acceptance,device"
    let signer = try RequestSigner(clientID: client, secret: Secret(secret), scheme: .client)
    let token = Digest.hexadecimal(try #require(signer.token(nonce: nonce)))
    let signature = try #require(signer.signature(nonce: nonce, timestamp: timestamp, uri: address))
    let expected =
      "client `\(client)`, secret `\(secret)`, nonce `\(nonce)`, time stamp `\(timestamp)`, address `\(address)`; "
      + "by `client`, the token is `\(token)`, and the signature `\(signature)`."
    #expect(try Self.page("IAMPASSClient").contains(expected))
  }

  @Test func theContextsDigestIsThatOfItsJSON() throws {
    let context = #"{"host":"web-1","service":"sudo","user":"alice"}"#
    #expect(Array(context.utf8) == (try JSON(parsing: Array(context.utf8))).canonicallyEncoded())
    let digest = Digest.hexadecimal(Digest.sha256(Array(context.utf8)))
    #expect(try Self.page("IAMPASSPhone").contains("for `\(context)` it is `\(digest)`."))
  }

  @Test func thePinsAreThoseOfTheirInputs() throws {
    let (key, origin, code) = ("KEY", "https://iampass.test", "0123")
    let secret = Secret(bytes: Array(0...15))
    let tapped = PhoneKeys(publicKey: key, credential: nil)
    let locked = PhoneKeys(publicKey: key, credential: .init(id: "ID", publicKey: "OTHER"))
    func pin(_ keys: PhoneKeys) -> String { keys.pinMAC(secret: secret, origin: origin, link: Secret(code)) }
    let challenge = Digest.hexadecimal(CredentialChallenge.bytes(for: Secret(code), publicKey: key))
    let expected =
      "With `public_key` `\(key)`, no credential, origin `\(origin)`, code `\(code)` and the secret of bytes 0 to 15, "
      + "`pin_mac` is `\(pin(tapped))`, and the words are `\(tapped.words)`. "
      + #"With the credential `{"id": "ID", "public_key": "OTHER"}` they are `\#(pin(locked))` and `\#(locked.words)`. "#
      + "The challenge for a new credential of `\(key)` by the code `\(code)` is, in hexadecimal, "
      + "`\(challenge)`."
    #expect(try Self.page("IAMPASSPhone").contains(expected))
  }

  @Test func theRepliesSignaturesAreThoseOfTheirInputs() throws {
    let (secret, nonce, method, address, status, body) = (
      "yNGfB51YbmwxAscRuzOl8G5U", "4711", "GET", "https://h/a?b=c", 200, "{}"
    )
    let own = ReplySignature.signature(
      secret: Secret(secret), nonce: nonce, status: status, body: Array(body.utf8))
    let target = ReplySignature.targetSignature(
      secret: Secret(secret), nonce: nonce, method: method, address: address, status: status, body: Array(body.utf8))
    let expected =
      "With the secret `\(secret)`, the nonce `\(nonce)`, `\(method)`, the signed address `\(address)`, the status code "
      + "\(status) and the body `\(body)` they are `\(own)` and `\(target)`."
    #expect(try Self.page("IAMPASSClient").contains(expected))
  }

  @Test func theNewCredentialIsOneForItsChallenge() throws {
    let (origin, id, challenge) = (
      "https://iampass.test", [UInt8](0...15), CredentialChallenge.bytes(for: Secret("0123"), publicKey: "KEY")
    )
    let page = try Self.page("IAMPASSPhone")
    let found = try #require(page.firstMatch(of: Self.credential))
    let (key, clientData, encoded) = (String(found.2), Array(found.3.utf8), String(found.4))
    #expect(Base64URL.decode(String(found.1)) == id)
    let party = RelyingParty(origin: origin)
    #expect(party.refusal(of: clientData, type: "webauthn.create", challenge: challenge) == nil)
    let data = try #require(Base64URL.decode(encoded).flatMap { UnverifiedAuthenticatorData($0) })
    #expect(party.refusal(of: data) == nil)
    let made = try #require(data.credential)
    #expect(made.id == id)
    #expect(made.coordinates == P256PublicKey(key)?.coordinates)
  }

  private static var credential: Regex<(Substring, Substring, Substring, Substring, Substring)> {
    /a credential with the id `([^`]+)` and the `public_key` `([^`]+)` has, before they are encoded, the `client_data` `([^`]+)`, and, encoded, the `authenticator_data` `([^`]+)`\./
  }
}
