import IAMPASSProtocol
import Testing

@Suite struct LinkSealTests {
  private static let secret = Secret("yNGfB51YbmwxAscRuzOl8G5U")
  private static let link = "https://iampass.test/register/0123456789abcdef0123456789abcdef"
  private static let salt = (0..<LinkSeal.saltLength).map { UInt8($0) }
  private let seal = LinkSeal(secret: secret, nonce: "4711")

  /// Computed with Python's hmac and hashlib.
  @Test func sealsAsItsVectorSays() {
    let sealed =
      "AAECAwQFBgcICQoLDA0ODxHUVIIH7Yvk6H+dRLukfumiqutCWWwabaIKmpMFOJl3P8c1pAU/oJaVirMxriifxNsgLv52/Omv2G//"
      + "UAPjEDDTzwoEBCWqC656ZjFJdVtrFBVLJzBkT2IHS1BeCnY="
    #expect(seal.sealed(Self.link, salt: Self.salt) == sealed)
    #expect(seal.opened(sealed) == Self.link)
  }

  @Test func onlyTheSecretAndTheNonceThatSealedItOpenIt() {
    let sealed = seal.sealed(Self.link, salt: Self.salt)
    #expect(LinkSeal(secret: Self.secret, nonce: "4712").opened(sealed) == nil)
    #expect(LinkSeal(secret: Secret("yNGfB51YbmwxAscRuzOl8G5V"), nonce: "4711").opened(sealed) == nil)
  }

  @Test func whatWasChangedIsNotOpened() throws {
    let bytes = try #require(Base64.decode(seal.sealed(Self.link, salt: Self.salt)))
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 1
      #expect(seal.opened(Base64.encode(changed)) == nil, "byte \(place)")
      #expect(seal.opened(Base64.encode(Array(bytes[..<place]))) == nil, "cut at \(place)")
    }
    #expect(seal.opened("") == nil)
    #expect(seal.opened("no base64") == nil)
  }

  @Test func theSameLinkLooksOtherwiseUnderEachSalt() throws {
    var other = Self.salt
    other[0] ^= 1
    let texts = try [Self.salt, other].map { try #require(Base64.decode(seal.sealed(Self.link, salt: $0))) }
    let (first, second) = (texts[0].dropFirst(LinkSeal.saltLength), texts[1].dropFirst(LinkSeal.saltLength))
    #expect(zip(first, second).count { $0 == $1 } < first.count / 4)
  }

  @Test func aReplyWithTheLinkBothWaysIsRefused() {
    #expect(throws: MessageError.contradiction("register_url")) {
      try SealedLinkReply(parsing: Array(#"{"status":true,"register_url":"a","sealed_register_url":"b"}"#.utf8))
    }
    #expect(throws: MessageError.member("register_url")) {
      try SealedLinkReply(parsing: Array(#"{"status":true}"#.utf8))
    }
  }
}
