import IAMPASSProtocol
import Testing

@testable import HostDoctor

@Suite struct PageDigestsTests {
  private static let page = Array("<!doctype html>".utf8)
  private static let script = Array("void 0;".utf8)

  private static func digest(_ bytes: [UInt8]) -> String { Digest.hexadecimal(Digest.sha256(bytes)) }

  private static let text = "\(digest(page))  phone/\n\(digest(script))  phone/app.js\n"

  private func findings(_ script: PageDigests.Served) throws -> [Finding] {
    try #require(PageDigests(Array(Self.text.utf8))).findings { path in
      path == ["phone", ""] ? .file(Self.page) : path == ["phone", "app.js"] ? script : .refused(404)
    }
  }

  @Test func thePageOfTheFileIsWell() throws {
    #expect(try findings(.file(Self.script)).map(\.level) == [.ok])
  }

  @Test(arguments: [PageDigests.Served.file(Array("void 1;".utf8)), .file([]), .refused(404), .refused(503)])
  func anotherFileIsAProblemAndIsNamed(_ served: PageDigests.Served) throws {
    let finding = try #require(try findings(served).first)
    #expect(finding.level == .problem)
    #expect(finding.text.hasSuffix(": phone/app.js"))
  }

  @Test func whatIsNotServedIsNotCompared() throws {
    #expect(try findings(.unreachable).map(\.level) == [.warning])
  }

  @Test(arguments: [
    "", "phone/\n", "00  phone/\n", "\(String(repeating: "g", count: 64))  phone/\n",
    "\(String(repeating: "A", count: 64))  phone/\n", "\(String(repeating: "0", count: 64)) phone/\n",
    "\(String(repeating: "0", count: 64))  phone/app.js\n", "\(String(repeating: "0", count: 64))  /phone/\n",
    "\(text)\(String(repeating: "0", count: 64))  phone/../console\n",
    "\(text)\(String(repeating: "0", count: 64))  phone/a?b\n", "\(text)# more\n",
  ])
  func anotherFormIsRefused(_ text: String) {
    #expect(PageDigests(Array(text.utf8)) == nil)
  }
}
