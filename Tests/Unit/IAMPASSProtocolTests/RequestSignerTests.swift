import Foundation
import IAMPASSProtocol
import Testing

/// One case of signing-vectors.json.
struct SigningVector: Decodable, Sendable, CustomTestStringConvertible {
  let scheme: String
  let clientID: String
  let secret: String
  let nonce: String
  let timestamp: Int64
  let uri: String
  let authentication: String

  enum CodingKeys: String, CodingKey {
    case scheme, secret, nonce, timestamp, uri, authentication
    case clientID = "client_id"
  }

  var testDescription: String { "\(scheme) \(nonce) \(uri)" }

  static func all() throws -> [SigningVector] {
    let file = try #require(Bundle.module.url(forResource: "signing-vectors", withExtension: "json"))
    return try JSONDecoder().decode([SigningVector].self, from: Data(contentsOf: file))
  }
}

@Suite struct RequestSignerTests {
  @Test func vectorsAreThereForBothSchemes() throws {
    let schemes = Set(try SigningVector.all().map(\.scheme))
    #expect(schemes == ["documented", "client"])
  }

  @Test(arguments: try SigningVector.all())
  func signsAsTheVectorsSay(_ vector: SigningVector) throws {
    let scheme = try #require(SigningScheme(rawValue: vector.scheme))
    let signer = try RequestSigner(clientID: vector.clientID, secret: Secret(vector.secret), scheme: scheme)
    let header = signer.authentication(nonce: vector.nonce, timestamp: String(vector.timestamp), uri: vector.uri)
    #expect(header == vector.authentication)
  }

  @Test(arguments: try SigningVector.all())
  func refusesASignatureOverAnotherTime(_ vector: SigningVector) throws {
    let scheme = try #require(SigningScheme(rawValue: vector.scheme))
    let signer = try RequestSigner(clientID: vector.clientID, secret: Secret(vector.secret), scheme: scheme)
    let received = try #require(UnverifiedAuthentication(header: vector.authentication))
    #expect(received.isMade(by: signer, timestamp: String(vector.timestamp), uri: vector.uri))
    #expect(!received.isMade(by: signer, timestamp: String(vector.timestamp + 1), uri: vector.uri))
  }

  @Test(arguments: ["", "18446744073709551616", "-1", "1 ", "٣", "000000000000000000001"])
  func refusesWhatIsNotANonce(_ text: String) {
    #expect(RequestSigner.nonceValue(text) == nil)
  }

  @Test func documentedSchemeNeeds24Bytes() {
    #expect(throws: SigningError.secretIsNot24Bytes) {
      try RequestSigner(clientID: "a", secret: Secret("short"), scheme: .documented)
    }
  }

  @Test(arguments: SigningScheme.allCases)
  func signsNothingThatCouldBeReadAsTheEndOfAnAddress(_ scheme: SigningScheme) throws {
    let signer = try RequestSigner(clientID: "a", secret: Secret("yNGfB51YbmwxAscRuzOl8G5U"), scheme: scheme)
    for uri in [
      "https://h/for/bob?x=://h/for/alice", "https://h/a://b", "https://h/?x=http://h/", "https://h/://://",
      "https://://h/",
    ] {
      #expect(signer.signature(nonce: "1", timestamp: "2", uri: uri) == nil, "\(uri)")
      #expect(signer.headers(nonce: 1, timestamp: 2, uri: uri, dialect: .iampass) == nil, "\(uri)")
    }
    for uri in ["https://h/for/https%3A%2F%2Fexample.org%2Falice", "https://h/a:/b?x=:/y&z=//", "https://[::1]:8/a"] {
      #expect(signer.signature(nonce: "1", timestamp: "2", uri: uri) != nil, "\(uri)")
    }
  }

  /// Computed with Python's hmac and hashlib.
  @Test func aRepliesSignatureOverItsTargetIsAsItsVectorSays() {
    let secret = Secret("yNGfB51YbmwxAscRuzOl8G5U")
    func signature(
      _ nonce: String = "4711", _ method: String = "GET", _ address: String = "https://h/a?b=c", _ status: Int = 200,
      _ body: String = "{}"
    ) -> String {
      ReplySignature.targetSignature(
        secret: secret, nonce: nonce, method: method, address: address, status: status, body: Array(body.utf8))
    }
    #expect(signature() == "XI47wazrwAtdk3q00qPTtoBTScaThBh0bgPMeja3gLQ=")
    let others = [
      signature("4712"), signature("4711", "POST"), signature("4711", "GET", "https://h/a?b=d"),
      signature("4711", "GET", "https://h/a?b=c", 202), signature("4711", "GET", "https://h/a?b=c", 200, "{ }"),
      ReplySignature.signature(secret: secret, nonce: "4711", status: 200, body: Array("{}".utf8)),
    ]
    #expect(Set(others + [signature()]).count == 7)
  }

  @Test func sendsEachSpellingOfItsDialect() throws {
    let signer = try RequestSigner(clientID: "a", secret: Secret("yNGfB51YbmwxAscRuzOl8G5U"), scheme: .client)
    let headers = signer.headers(nonce: 1, timestamp: 2, uri: "https://h/", dialect: .activeconnect)
    let names = try #require(headers).map(\.name)
    #expect(names.contains("X-Activeconnect-Authenticiation-Timestamp"))
    #expect(names.contains("X-Sonikpass-Authentication-Timestamp"))
    #expect(!names.contains { $0.contains("IAMPASS") })
  }

  @Test func aSecretPrintsAsRedacted() {
    let secret = Secret("canary")
    #expect("\(secret) \(String(reflecting: secret)) \(String(describing: [secret]))".contains("canary") == false)
    var dumped = ""
    dump(secret, to: &dumped)
    #expect(!dumped.contains("canary"))
  }
}
