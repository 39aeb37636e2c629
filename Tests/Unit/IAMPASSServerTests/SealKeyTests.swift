import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The keys that seal secrets, and sealed values by themselves.
@Suite struct SealKeyTests {
  /// A file with a new key, followed by the keys of another file.
  static func newFile(before other: Secret? = nil) throws -> Secret {
    Secret("# keys\n\n" + (try SealKeys.newLine()).exposedValue + (other?.exposedValue ?? ""))
  }

  static func newKeys() throws -> SealKeys { try SealKeys(file: newFile(), place: "keys") }

  private func fault(_ work: () throws -> Void) -> SealFault.Code? {
    do {
      try work()
      return nil
    } catch { return (error as? SealFault)?.code }
  }

  @Test func aFileHasOneWholeKeyOnEachLine() throws {
    let good = (try SealKeys.newLine()).exposedValue
    for (text, code) in [
      ("", SealFault.Code.noKeyInFile), ("# nothing\n\n", .noKeyInFile), ("key\n", .badLine), (good + good, .badLine),
      (String(good.dropLast(6)) + "\n", .badLine), (good + "iampass-seal-key-1 AAAA\n", .badLine),
      (good.replacing("key-1", with: "key-2"), .badLine),
    ] {
      #expect(fault { _ = try SealKeys(file: Secret(text), place: "keys") } == code, "\(code)")
    }
    #expect(fault { _ = try SealKeys(file: Secret(good), place: "keys") } == nil)
  }

  @Test func aFileSaysWhetherTheDatabaseIsSealed() throws {
    let file = try Self.newFile(before: Self.newFile())
    let sealed = SealKeys.noted(isSealed: true, in: file)
    let ids = try SealKeys(file: file, place: "keys").ids
    for (text, isSealed) in [(file, false), (sealed, true), (SealKeys.noted(isSealed: true, in: sealed), true)] {
      let keys = try SealKeys(file: text, place: "keys")
      #expect(keys.requiresSeal == isSealed && keys.ids == ids)
    }
    #expect(SealKeys.noted(isSealed: false, in: sealed) == file)
    // A file whose last line has no end.
    let cut = Secret(String(file.exposedValue.dropLast()))
    #expect(try SealKeys(file: SealKeys.noted(isSealed: true, in: cut), place: "keys").ids == ids)
  }

  @Test func aServerShowsWhichKeysItHas() throws {
    let file = try Self.newFile(before: Self.newFile())
    let keys = try SealKeys(file: file, place: "keys")
    let server = RunningServer(with: keys)
    #expect(keys.ids.allSatisfy(server.has(key:)) && !server.requiresSeal)
    #expect(try !server.has(key: Self.newKeys().firstID) && !RunningServer(with: nil).has(key: keys.firstID))
    #expect(
      try RunningServer(with: SealKeys(file: SealKeys.noted(isSealed: true, in: file), place: "keys")).requiresSeal)
  }

  @Test func keysPrintNothingOfThemselves() throws {
    let line = try SealKeys.newLine()
    let keys = try SealKeys(file: line, place: "keys")
    let key = line.exposedValue.split(separator: " ")[1].dropLast()
    #expect(!"\(keys)".contains(key) && !String(reflecting: keys).contains(key))
  }

  @Test func aValueOpensInItsOwnPlaceAlone() throws {
    let keys = try Self.newKeys()
    let place = SealedPlace.notifications(application: "a", service: "apple")
    let stored = try keys.seal(Secret("secret"), at: place, by: keys.firstID)
    #expect(SealedText.isSealed(stored) && !stored.contains("secret"))
    let sealed = try #require(SealedText(stored))
    #expect(try keys.open(sealed, at: place) == Secret("secret"))
    for other in [
      SealedPlace.notifications(application: "a", service: "google"),
      .notifications(application: "b", service: "apple"),
      .signingKey("a"), .pushKey,
    ] {
      #expect(fault { _ = try keys.open(sealed, at: other) } == .changed)
    }
  }

  @Test func aChangedValueDoesNotOpen() throws {
    let keys = try Self.newKeys()
    let sealed = try #require(SealedText(try keys.seal(Secret("secret"), at: .pushKey, by: keys.firstID)))
    for place in [0, 12, sealed.box.count - 1] {
      var box = sealed.box
      box[place] ^= 1
      #expect(fault { _ = try keys.open(SealedText(keyID: sealed.keyID, box: box), at: .pushKey) } == .changed)
    }
    #expect(fault { _ = try keys.open(SealedText(keyID: sealed.keyID, box: []), at: .pushKey) } == .changed)
    #expect(fault { _ = try Self.newKeys().open(sealed, at: .pushKey) } == .otherKey)
    for text in ["sealed:", "sealed:2:a:AAAA", "sealed:1::AAAA", "sealed:1:a:?", "sealed:1:a:AAAA:b", "MHcC"] {
      #expect(SealedText(text) == nil, "\(text)")
    }
  }

  @Test func theSameSecretIsSealedDifferentlyEachTime() throws {
    let keys = try Self.newKeys()
    let values = try (0..<10).map { _ in try keys.seal(Secret("secret"), at: .pushKey, by: keys.firstID) }
    #expect(Set(values).count == 10)
  }
}
