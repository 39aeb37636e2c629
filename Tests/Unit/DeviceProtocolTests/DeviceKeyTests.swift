import DeviceProtocol
import IAMPASSProtocol
import Testing

@Suite struct DeviceKeyTests {
  private let message = Array("approve".utf8)

  @Test func aSignatureVerifies() throws {
    let key = try DeviceKey.generate()
    #expect(try key.publicKey.verifies(try key.signature(over: message), over: message))
  }

  @Test func aSignatureIs64Bytes() throws {
    let key = try DeviceKey.generate()
    // A short r or s occurs once in some hundred signatures.
    for _ in 0..<600 { #expect(try key.signature(over: message).count == 64) }
  }

  @Test func anotherMessageDoesNotVerify() throws {
    let key = try DeviceKey.generate()
    #expect(try !key.publicKey.verifies(try key.signature(over: message), over: Array("deny".utf8)))
  }

  @Test func anotherKeyDoesNotVerify() throws {
    let signature = try DeviceKey.generate().signature(over: message)
    #expect(try !DeviceKey.generate().publicKey.verifies(signature, over: message))
  }

  @Test(arguments: [[], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xFF, count: 64), [1, 2, 3]])
  func anInvalidSignatureDoesNotVerify(_ signature: [UInt8]) throws {
    #expect(try !DeviceKey.generate().publicKey.verifies(signature, over: message))
  }

  @Test func anExportedKeyIsTheSameKey() throws {
    let key = try DeviceKey.generate()
    #expect(try DeviceKey(exported: try key.exported()).publicKey.text == key.publicKey.text)
  }

  /// WebCrypto's own P-256 key and signature over "approve" would look the same; this one is OpenSSL's.
  @Test func aPointThatIsNotOnTheCurveIsNotAKey() throws {
    var bytes = try #require(Base64.decode(try DeviceKey.generate().publicKey.text))
    bytes[bytes.count - 1] ^= 1
    #expect(throws: DeviceKeyError.notAKey) { try DevicePublicKey(Base64.encode(bytes)) }
  }
}
