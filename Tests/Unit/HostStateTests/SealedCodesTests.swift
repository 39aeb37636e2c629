import Glibc
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem

struct SealedCodesTests {
  private let opener: SealedCodes.Opener
  private let codes: SealedCodes

  init() throws {
    opener = try SealedCodes.Opener()
    let drawn = (1...RecoverySet.codeCount).compactMap { _ in RecoveryCode.draw() }
    codes = SealedCodes(computer: "desk-1", user: UnixUsername(validating: "alice")!, codes: drawn)
  }

  /// As the computer makes it, to which the key came as text.
  private func sealed(for opener: SealedCodes.Opener) throws -> String {
    try codes.sealed(for: try #require(SealedCodes.Receiver(opener.receiver.text)))
  }

  @Test func whoeverMadeTheKeyReadsTheCodes() throws {
    #expect(opener.opened(try sealed(for: opener)) == codes)
  }

  @Test func anotherKeyOpensNoCodes() throws {
    #expect(try SealedCodes.Opener().opened(sealed(for: opener)) == nil)
  }

  @Test func noTwoTextsAreTheSame() throws {
    #expect(try sealed(for: opener) != sealed(for: opener))
  }

  @Test func whatCarriesThemSeesNoCode() throws {
    let text = try sealed(for: opener)
    let bytes = try #require(Base64URL.decode(String(text.dropFirst(SealedCodes.beginning.count))))
    let seen = text + String(decoding: bytes, as: UTF8.self)
    for code in codes.codes { #expect(!seen.contains(code.exposedText) && !seen.contains(code.exposedText.prefix(5))) }
    #expect(!seen.contains("alice") && !seen.contains("desk-1"))
  }

  @Test func aChangedTextIsRefusedAtEachPlace() throws {
    let text = Array(try sealed(for: opener))
    for place in text.indices {
      var changed = text
      changed[place] = text[place] == "A" ? "B" : "A"
      #expect(opener.opened(String(changed)) == nil, "at \(place)")
    }
  }

  @Test func aCutTextIsRefusedAtEachLength() throws {
    let text = try sealed(for: opener)
    for length in 0..<text.count { #expect(opener.opened(String(text.prefix(length))) == nil, "of \(length)") }
    #expect(opener.opened(text + String(repeating: "A", count: 1_000_000)) == nil)
  }

  @Test func aTextThatIsTooLongIsRefusedThoughItIsRight() throws {
    let long = SealedCodes(
      computer: String(repeating: "x", count: 4_096), user: UnixUsername(validating: "alice")!, codes: codes.codes)
    #expect(opener.opened(try long.sealed(for: opener.receiver)) == nil)
  }

  @Test func littleOfATextThatIsTooLongIsKept() {
    let found = SealedCodes.texts(in: SealedCodes.beginning + String(repeating: "A", count: 1_000_000))
    #expect(found.map(\.utf8.count) == [4_097])
  }

  @Test func fewerCodesThanASetAreRefused() throws {
    let few = SealedCodes(
      computer: "desk-1", user: UnixUsername(validating: "alice")!, codes: Array(codes.codes.dropLast()))
    #expect(opener.opened(try few.sealed(for: opener.receiver)) == nil)
  }

  @Test(arguments: ["", "B", "no key", String(repeating: "A", count: 87), String(repeating: "B", count: 1_000_000)])
  func whatIsNotAKeyIsRefused(text: String) {
    #expect(SealedCodes.Receiver(text) == nil)
  }

  @Test func aPointOffTheCurveIsRefused() throws {
    var point = try #require(Base64URL.decode(opener.receiver.text))
    point[64] ^= 1
    #expect(SealedCodes.Receiver(Base64URL.encode(point)) == nil)
  }

  @Test func textsAreFoundInAnyOutput() throws {
    let (first, second) = (try sealed(for: opener), try sealed(for: opener))
    let output = "desk-1 | CHANGED | rc=0 >>\n\(first)\n{\"stdout\": \"\(second)\", \"rc\": 0}\nnothing"
    #expect(SealedCodes.texts(in: output) == [first, second])
    #expect(SealedCodes.texts(in: "no codes").isEmpty)
  }
}
