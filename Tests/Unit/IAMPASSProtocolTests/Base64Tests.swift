import Foundation
import IAMPASSProtocol
import Testing

@Suite struct Base64Tests {
  /// RFC 4648 §10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func isTheStandards(_ text: String, _ encoded: String) {
    #expect(Base64.encode(Array(text.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(text.utf8))
  }

  @Test func isFoundationsForEveryByteAndLength() {
    for length in 0...300 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ length) }
      let encoded = Base64.encode(bytes)
      #expect(encoded == Data(bytes).base64EncodedString())
      #expect(Base64.decode(encoded) == bytes)
    }
  }

  /// Missing, excess or early padding, leftover bits, another alphabet, and other characters between or after.
  @Test(arguments: [
    "Zg", "Zg=", "Zg===", "=", "==", "====", "Z===", "Zg==Zm8=", "Zm=v", "=m9v", "Zh==", "Zm9=", "Zm9v\n", "Zm 9v",
    " Zm9v", "Zm-_", "Zm9é", "Zm9\0", "Zm9v====", "Z\u{131}==",
  ])
  func anotherSpellingIsRefused(_ text: String) {
    #expect(Base64.decode(text) == nil)
  }
}
