import DeviceProtocol
import HostState
import IAMPASSClient
import IAMPASSProtocol
import Testing

@Suite struct LibcryptoVerifierTests {
  private func signature(_ key: DeviceKey, over text: String) throws -> ECDSASignature {
    try #require(ECDSASignature(raw: try key.signature(over: Array(text.utf8))))
  }

  @Test func knowsARightSignatureFromAWrongOne() throws {
    let verifier = LibcryptoVerifier()
    try verifier.prepare()
    let key = try DeviceKey.generate()
    let own = try #require(P256PublicKey(try key.publicKey.text))
    let other = try #require(P256PublicKey(try DeviceKey.generate().publicKey.text))
    let digest = Digest.sha256(Array("text".utf8))
    let right = try signature(key, over: "text")
    #expect(try verifier.verifies(right, over: digest, by: own))
    #expect(try !verifier.verifies(right, over: digest, by: other))
    #expect(try !verifier.verifies(right, over: Digest.sha256(Array("texts".utf8)), by: own))
    #expect(try !verifier.verifies(try signature(key, over: "texts"), over: digest, by: own))
  }

  /// What is read as a key is one to libcrypto, too, so that only its own trouble is left to fail.
  @Test func eachKeyThatLibcryptoMakesIsRead() throws {
    let verifier = LibcryptoVerifier()
    try verifier.prepare()
    let digest = Digest.sha256(Array("text".utf8))
    for _ in 0..<200 {
      let key = try DeviceKey.generate()
      let read = try #require(P256PublicKey(try key.publicKey.text))
      #expect(try verifier.verifies(try signature(key, over: "text"), over: digest, by: read))
    }
  }
}
