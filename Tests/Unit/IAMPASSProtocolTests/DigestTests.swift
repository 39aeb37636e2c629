import IAMPASSProtocol
import Testing

@Suite struct DigestTests {
  @Test func sha256IsTheStandards() {
    // FIPS 180-4's example, and the empty message.
    #expect(
      Digest.hexadecimal(Digest.sha256(Array("abc".utf8)))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      Digest.hexadecimal(Digest.sha256([]))
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  /// Test cases 1, 2 and 6 of RFC 4231: a short key, a text as key, and a key longer than a block.
  @Test(arguments: [
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func hmacIsTheStandards(_ key: [UInt8], _ message: String, _ expected: String) {
    #expect(Digest.hexadecimal(Digest.hmacSHA256(key: key, Array(message.utf8))) == expected)
  }

  /// For each differing bit, at each length.
  @Test func onlyTheSameBytesAreEqual() {
    for length in [0, 1, 7, 8, 32, 33] {
      let bytes = [UInt8](repeating: 0x5A, count: length)
      #expect(Digest.areEqual(bytes, bytes))
      #expect(!Digest.areEqual(bytes, bytes + [0]) && !Digest.areEqual(bytes + [0], bytes))
      for bit in 0..<8 * length {
        var other = bytes
        other[bit / 8] ^= 1 << (bit % 8)
        #expect(!Digest.areEqual(bytes, other))
      }
    }
  }
}
