import Foundation
import HostState
import Testing

@testable import IAMPASSProtocol
@testable import LoginModule

/// Whoever reads a line at the terminal finds it in a manual page, with what helps.
@Suite struct ManualMessagesTests {
  private static let project = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
    url.deletingLastPathComponent()
  }

  /// The page in one line, as its reader sees it.
  private static func page(_ name: String) throws -> String {
    let text = try String(contentsOf: project.appending(path: "packaging/man/\(name)"), encoding: .utf8)
    let lines = text.split(separator: "\n").map { line in
      let words = String(line).replacing(#/^\.(BR|BI|IR|RI|RB|B|I|TP|TQ) ?/#, with: "")
      return words.replacing("\\-", with: "-").replacing("\\(aq", with: "'").replacing("\\", with: "")
    }
    return lines.joined(separator: " ")
  }

  /// What is written in the text and does not come from elsewhere, of literals that begin with `prefix`.
  static func fixedParts(of source: String, beginning prefix: String) -> [String] {
    var parts: [String] = []
    for line in source.split(separator: "\n") where !line.contains(#/^ *///#) {
      var rest = Substring(line)
      while let start = rest.firstRange(of: "\"\(prefix)") {
        rest = rest[start.upperBound...]
        var (part, depth) = (prefix, 0)
        reading: while let letter = rest.popFirst() {
          switch letter {
          case "\"" where depth == 0: break reading
          case "\\" where depth == 0 && rest.first == "(":
            parts.append(part)
            part = ""
            depth = 1
            rest.removeFirst()
          case "(" where depth > 0: depth += 1
          case ")" where depth > 0: depth -= 1
          case _ where depth == 0: part.append(letter)
          default: break
          }
        }
        parts.append(part)
      }
    }
    return parts.map(bare).filter { $0.contains(#/[a-z]{2}/#) }
  }

  /// Without what many lines begin with, and without punctuation around what is put in.
  private static func bare(_ text: String) -> String {
    var text = text
    for start in ["IAMPASS: ", "not asked: ", "not approved: "] where text.hasPrefix(start) {
      text.removeFirst(start.count)
    }
    // What follows a word that is put in is the same in many lines.
    guard !text.hasSuffix("your administrator") || text.count > 40, !text.hasPrefix(")") else { return "" }
    return text.trimmingCharacters(in: CharacterSet(charactersIn: " :;,("))
  }

  private func source(_ name: String) throws -> String {
    let path = "Sources/Computer/LoginModule/\(name).swift"
    return try String(contentsOf: Self.project.appending(path: path), encoding: .utf8)
  }

  @Test func eachLineOfARefusalStandsInThePage() throws {
    let page = try Self.page("pam_iampass.8")
    let parts = Self.fixedParts(of: try source("Attempt/RefusalMessages"), beginning: "IAMPASS")
    #expect(parts.count > 15 && parts.contains("denied on your phone"))
    #expect(parts.filter { !page.contains($0.replacing(#/ \(.*/#, with: "")) } == [])
  }

  @Test func eachSentenceAboutTheServerStandsInThePage() throws {
    let page = try Self.page("pam_iampass.8")
    let text = try source("Attempt/ServiceErrorWords")
    let sentences = ["the server ", "this computer", "the network ", "your phone ", "the phone ", "server "]
    let parts = sentences.flatMap { Self.fixedParts(of: text, beginning: $0) }
    #expect(parts.count > 10)
    #expect(parts.filter { !page.contains($0.replacing(#/ \(.*/#, with: "")) } == [])
  }

  @Test func eachReasonOfTheServiceStandsInAPage() throws {
    let pages = try Self.page("pam_iampass.8") + Self.page("iampassctl.1")
    #expect(ReasonWord.meanings.count > 40)
    #expect(ReasonWord.meanings.values.filter { !pages.contains($0) } == [])
  }

  /// The page has typographical apostrophes.
  @Test func eachSentenceOfThePhonesPageAboutARefusalStandsInThePage() throws {
    let page = try Self.page("iampass-server.8")
    let path = "Sources/Service/IAMPASSServer/PhonePage/refusals.js"
    let source = try String(contentsOf: Self.project.appending(path: path), encoding: .utf8)
    let sentences = source.matches(of: #/(?m)^ +[A-Z_]+: "(.+)",$/#).map { $0.1.replacing("\u{2019}", with: "'") }
    #expect(sentences.count > 20)
    #expect(sentences.filter { !page.contains($0) } == [])
  }

  @Test func thePartsOfALineAreFound() {
    let text = #"""
      // "IAMPASS: a comment"
      row(.failed, "IAMPASS: not asked: one thing: \(a(b) ?? c), another", log: "not for users")
      """#
    #expect(Self.fixedParts(of: text, beginning: "IAMPASS") == ["one thing", "another"])
  }
}
