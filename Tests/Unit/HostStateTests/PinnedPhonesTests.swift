import DeviceProtocol
import Foundation
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState

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

  @Test func aPhoneWithoutALockIsFoundAmongOthers() throws {
    let locum = try line(try #require(UnixUsername(validating: PinnedPhones.locum)), phone("l"))
    let locked = try line(alice, phone("p1", lock: true, name: "a:::b"))
    let open = try line(bob, phone("p2", name: "c:::d"))
    func look(_ text: String) -> (has: Bool, open: Bool) {
      let phones = PinnedPhones(parsing: Array(text.utf8))
      return (phones.hasPhone, phones.hasPhoneWithoutLock)
    }
    #expect(look("") == (false, false) && look("\n#" + open + "\nx\n" + locum) == (false, false))
    #expect(look("\n\n" + locum + locked) == (true, false))
    #expect(look(locked + open) == (true, true) && look(open + locked) == (true, true))
    #expect(look(String((locked + open).dropLast())) == (true, true))
    #expect(look("bad:::\n" + locked + "bob:::\n") == (true, false))
  }

  @Test func aLocumAnswersForRootOnlyIfTheLineSaysSo() throws {
    let all = try #require(UnixUsername(validating: PinnedPhones.locum))
    let roots = try #require(UnixUsername(validating: PinnedPhones.rootsLocum))
    let usual = try line(all, phone("p1"))
    let ofRoot = try line(roots, phone("p2"))
    func locums(_ text: String, _ name: String) throws -> [String] {
      let user = try #require(UnixUsername(validating: name))
      return try PinnedPhones(parsing: Array(text.utf8)).locums(for: user).map(\.id)
    }
    #expect(try locums(usual, "bin") == ["p1"])
    #expect(try locums(usual, "root").isEmpty)
    #expect(try locums(usual + ofRoot, "root") == ["p2"])
    #expect(try locums(ofRoot, "bin").isEmpty)
    // Nobody knows what such a user may be.
    #expect(try locums(usual, "nobody-knows-this-name").isEmpty)
  }

  /// What is left of a file with alice's two phones, both of which may answer for others, and bob's.
  private func left(_ change: (PinnedPhonesEditor) throws -> Void) throws -> [String] {
    let folder = try TemporaryFolder()
    let path = folder.path + "/phones"
    let (first, second, other) = (try phone("p1"), try phone("p2"), try phone("p3", name: "bob"))
    func named(_ phone: PinnedPhone) throws -> PinnedPhone {
      try #require(PinnedPhone(id: phone.id, key: phone.key, credential: nil, since: 1, name: "alice"))
    }
    let lines = [
      try line(alice, first), try line(alice, second), try line(bob, other),
      try line(UnixUsername(validating: "@locum")!, named(first)),
      try line(UnixUsername(validating: "@locum-root")!, named(second)),
      try line(UnixUsername(validating: "@locum")!, other),
    ]
    _ = try folder.write("phones", lines.joined(), mode: 0o644)
    try change(PinnedPhonesEditor(path: path))
    return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
      line.split(separator: ":")[..<2].joined(separator: ":")
    }
  }

  @Test func aForgottenPhoneAnswersForNobodyElse() throws {
    #expect(try left { try $0.forget(alice) } == ["bob:p3", "@locum:p3"])
    #expect(try left { try $0.forget(alice, phone: "p2") } == ["alice:p1", "bob:p3", "@locum:p1", "@locum:p3"])
    // Also if this computer has the phone as a locum alone.
    let withoutOwn = try left { editor in
      try editor.forget(bob, phone: "p3")
      try editor.forget(alice, phone: "p1")
    }
    #expect(withoutOwn == ["alice:p2", "@locum-root:p2"])
  }

  @Test func aReplacedPhoneAnswersForNobodyElse() throws {
    let new = try phone("p9")
    #expect(
      try left { try $0.pin(new, for: alice, replacing: true) } == ["bob:p3", "@locum:p3", "alice:p9"])
    #expect(try left { try $0.pin(new, for: alice, replacing: false) }.contains("@locum:p1"))
  }

  @Test func theFormerKeyOfAPhoneThatIsRegisteredAgainAnswersForNobodyElse() throws {
    let again = try phone("p1")
    #expect(
      try left { try $0.pin(again, for: alice, replacing: false) }
        == ["alice:p2", "bob:p3", "@locum-root:p2", "@locum:p3", "alice:p1"])
    #expect(try left { try $0.pin(again, for: alice, replacing: true) } == ["bob:p3", "@locum:p3", "alice:p1"])
  }

  @Test func aLocumDecidesNothingButSignIns() throws {
    let folder = try TemporaryFolder()
    let bin = try #require(UnixUsername(validating: "bin"))
    let role = try #require(UnixUsername(validating: PinnedPhones.locum))
    let path = try folder.write("phones", try line(bin, phone("p1")) + line(role, phone("p2", lock: true)), mode: 0o644)
    let trust = PhoneTrust(path: path)
    #expect(try trust.demand(of: bin, asked: []).phoneIDs == ["p1", "p2"])
    #expect(try trust.demand(of: bin, asked: [], takesLocums: false).phoneIDs == ["p1"])
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
