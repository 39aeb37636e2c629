import DeviceProtocol
import Foundation
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@Suite struct PinnedPhonesTests {
  private let alice = UnixUsername(validating: "alice")!
  private let bob = UnixUsername(validating: "bob")!

  private func key() throws -> P256PublicKey { try #require(P256PublicKey(try DeviceKey.generate().publicKey.text)) }

  private func phone(_ id: String, lock: Bool = false, name: String = "Pixel: 8") throws -> PinnedPhone {
    let credential = lock ? PinnedPhone.Credential(id: "AQID", key: try key()) : nil
    return try #require(PinnedPhone(id: id, key: try key(), credential: credential, since: 1_700_000_000, name: name))
  }

  /// The line that the editor writes.
  private func line(_ user: UnixUsername, _ phone: PinnedPhone) throws -> String {
    let folder = try TemporaryFolder()
    try PinnedPhonesEditor(path: folder.path + "/phones").pin(phone, for: user, replacing: true)
    return try String(contentsOfFile: folder.path + "/phones", encoding: .utf8)
  }

  private func trouble(_ text: String, _ user: UnixUsername) -> PinnedPhonesError? {
    do throws(PinnedPhonesError) {
      _ = try PinnedPhones(parsing: Array(text.utf8)).phones(of: user)
      return nil
    } catch { return error }
  }

  @Test func readsWhatItWrites() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/phones"
    let editor = PinnedPhonesEditor(path: path)
    let first = try phone("p1", lock: true)
    let second = try phone("p2")
    try editor.pin(first, for: alice, replacing: false)
    try editor.pin(second, for: alice, replacing: false)
    try editor.pin(try phone("p3"), for: bob, replacing: false)
    #expect(try PinnedPhones(path: path).phones(of: alice) == [first, second])
    #expect(try PinnedPhones(path: path).users() == [alice, bob])
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o644)
    try editor.pin(second, for: alice, replacing: true)
    #expect(try PinnedPhones(path: path).phones(of: alice) == [second])
    #expect(try editor.forget(alice, phone: "p9") == false)
    #expect(try editor.forget(alice, phone: "p2"))
    #expect(try PinnedPhones(path: path).phones(of: alice) == [])
    #expect(try PinnedPhones(path: path).phones(of: bob).count == 1)
  }

  @Test func aMissingFileHasNoPhone() throws {
    let folder = try TemporaryFolder()
    #expect(try PinnedPhones(path: folder.path + "/phones").phones(of: alice) == [])
  }

  @Test func aFileThatOthersWriteOrALinkIsRefused() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("phones", "", mode: 0o666)
    #expect(throws: PinnedPhonesError.self) { try PinnedPhones(path: path) }
    try #require(symlink(path, folder.path + "/link") == 0)
    #expect(throws: PinnedPhonesError.file(FileError(.symbolicLink, path: folder.path + "/link"))) {
      try PinnedPhones(path: folder.path + "/link")
    }
  }

  @Test func aBadLineRefusesItsOwnUserAlone() throws {
    let good = try line(bob, try phone("p1"))
    let whole = try line(alice, try phone("p1", lock: true)).dropLast()
    let fields = whole.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    let bad = (2...5).map { place in fields.enumerated().map { $0 == place ? "!" : $1 }.joined(separator: ":") }
    let more = [
      "alice:", "alice:p1", "alice:p1:\(fields[2]):::", "alice:p1:\(fields[2]):AQID::1:x",
      "alice:p1:\(fields[2])::\(fields[2]):1:x", "alice:p1:\(fields[2]):::-1:x", "alice:p1:\(fields[2]):::01:x",
      "alice::\(fields[2]):::1:x", whole + "\r", whole + "\0", "\0" + whole,
    ]
    for text in bad + more {
      #expect(trouble(text + "\n" + good, alice) == .badLine(1), "\(text.debugDescription)")
      #expect(trouble(text + "\n" + good, bob) == nil, "\(text.debugDescription)")
    }
    #expect(trouble(whole + "\n" + whole + "\n", alice) == .phoneTwice(2))
    let many = try (0...PinnedPhones.greatestCount).map { try line(alice, try phone("p\($0)")) }.joined()
    #expect(trouble(many, alice) == .tooMany)
  }

  @Test func aCommentAndALongerNameAreOtherLines() throws {
    let own = try line(alice, try phone("p1"))
    #expect(try PinnedPhones(parsing: Array("#\(own)x\(own)".utf8)).phones(of: alice) == [])
  }

  @Test func saysWhichLinesNobodyTakes() throws {
    let own = try line(alice, try phone("p1"))
    #expect(PinnedPhones(parsing: Array("# x\n\nword\n\(own)a b:x\n\(own.dropLast(9))".utf8)).badLines() == [3, 5])
  }
}
