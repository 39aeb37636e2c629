import DeviceProtocol
import Foundation
import IAMPASSPhone
import IAMPASSProtocol
import Testing

/// The cases of `offline-vectors.json`, made by other people's code; the page's script is held against the same.
@Suite struct OfflineDigitsTests {
  struct Vector: Decodable {
    let link: String
    let origin: String
    let phonePrivateDer: String
    let digits: String
  }

  static let vectors: [Vector] = {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = tests.appending(path: "Support/Service/offline-vectors.json")
    guard let data = try? Data(contentsOf: file) else { return [] }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return (try? decoder.decode([Vector].self, from: data)) ?? []
  }()

  private func account(of vector: Vector) throws -> PhoneAccount {
    PhoneAccount(
      server: try ServerURL(vector.origin), device: "d", key: try DeviceKey.generate(),
      agreementKey: try DeviceKey(exported: Secret(vector.phonePrivateDer)), application: "office", user: "Alice",
      authority: nil)
  }

  @Test func thereAreVectors() { #expect(Self.vectors.count == 3) }

  @Test(arguments: OfflineDigitsTests.vectors.indices)
  func thePhoneShowsTheVectorsDigits(_ place: Int) throws {
    let vector = Self.vectors[place]
    let account = try account(of: vector)
    let challenge = try account.offlineChallenge(in: vector.link)
    let digits = try account.offlineDigits(for: challenge)
    #expect(digits.exposedText.filter { $0 != " " } == vector.digits)
    #expect(challenge.link(to: account.server) == vector.link)
    #expect(OfflineDigits(typed: Secret(vector.digits)) == digits)
  }

  @Test func aChangedLinkIsRefusedOrHasOtherDigits() throws {
    let vector = try #require(Self.vectors.first)
    let account = try account(of: vector)
    let parts = vector.link.split(separator: "=", maxSplits: 1).map(String.init)
    for place in parts[1].indices {
      var fragment = parts[1]
      fragment.replaceSubrange(place...place, with: fragment[place] == "B" ? "C" : "B")
      guard let challenge = try? account.offlineChallenge(in: "\(parts[0])=\(fragment)") else { continue }
      let digits = try account.offlineDigits(for: challenge)
      #expect(digits.exposedText.filter { $0 != " " } != vector.digits, "changed at \(fragment)")
    }
  }

  @Test func theLinkOfAnotherServiceIsRefused() throws {
    let vector = try #require(Self.vectors.first)
    let other = vector.link.replacingOccurrences(of: "iam.example", with: "iam.example.net")
    #expect(throws: OfflineLinkError.otherService("https://iam.example.net/phone/")) {
      try account(of: vector).offlineChallenge(in: other)
    }
  }

  @Test(arguments: [
    "", "x", "#offline=", "https://iam.example/phone/", "https://iam.example/phone/#offline=a.b.1.device.e30",
  ])
  func anotherTextIsRefused(_ text: String) throws {
    let vector = try #require(Self.vectors.first)
    #expect(throws: OfflineLinkError.notALink) { try account(of: vector).offlineChallenge(in: text) }
  }

  @Test(arguments: ["1234567", "123456789", "1234  5678", "1234_5678", "12 345678", "１２３４５６７８", "abcdefgh"])
  func otherTextIsNotDigits(_ text: String) { #expect(OfflineDigits(typed: Secret(text)) == nil) }

  @Test(arguments: ["12345678", "1234 5678", "1234-5678", " 1234 5678 "])
  func digitsMayHaveABlankInTheMiddle(_ text: String) {
    #expect(OfflineDigits(typed: Secret(text))?.exposedText == "1234 5678")
  }

  @Test func anAccountKeepsItsKey() throws {
    let key = try DeviceKey.generate()
    let agreement = try DeviceKey.generate()
    let account = PhoneAccount(
      server: try ServerURL("https://iam.example"), device: "d", key: key, agreementKey: agreement,
      application: "office", user: "Alice", authority: nil)
    let read = try #require(PhoneAccount(parsing: try account.encoded(with: key, agreementKey: agreement)))
    #expect(try read.agreementKey?.publicKeyText == agreement.publicKeyText)
    #expect(PhoneAccount(parsing: try account.encoded(with: key))?.agreementKey == nil)
  }
}
