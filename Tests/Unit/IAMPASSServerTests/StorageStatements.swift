import Foundation

@testable import IAMPASSServer

/// What the storage asks, as its sources have it. Each folder is searched once for all tests, because that takes longer
/// than explaining what is found.
enum StorageStatements {
  /// What both engines ask.
  static let operations = Result { try read("Operations") }
  /// What one engine asks alone.
  static let sqlite = Result { try read("SQLite") }
  static let postgreSQL = Result { try read("PostgreSQL") }

  private static func read(_ name: String) throws -> [String] {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let folder = tests.appending(path: "../../../Sources/Service/IAMPASSServer/Storage/" + name).standardized
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
    var statements: [String] = []
    for file in files.sorted() {
      let source = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      let long = #/"""\n(?<text>(?s:.*?))\n\s*"""/#
      let found =
        source.matches(of: long).map { String($0.text) }
        + source.replacing(long, with: "").matches(of: #/"((SELECT|UPDATE|DELETE|INSERT|WITH) [^\n]*?)"[,)\n]/#).map {
          String($0.1)
        }
      statements += found.map { $0.replacing(#/\\\n\s*/#, with: "") }.filter {
        $0.firstMatch(of: #/^\s*(SELECT|UPDATE|DELETE|INSERT|WITH)\s/#) != nil
      }
    }
    return statements
  }
}

/// The names in SQLite's plans.
enum SQLitePlan {
  /// The tables that a step reads, which the plan may name by the statement's aliases. None for a subquery, a function or a
  /// row of constants, whose own steps are in the plan. A name that stands for nothing known is given as it is, so that it
  /// is not overlooked.
  ///
  /// - Parameter tables: all tables.
  static func tables(in step: String, of sql: String, _ tables: Set<String>) -> Set<String> {
    let words = step.split(separator: " ").map(String.init)
    guard words.count > 1, ["SCAN", "SEARCH"].contains(words[0]) else { return [] }
    let name = words[1]
    if tables.contains(name) { return [name] }
    guard name != "CONSTANT", !name.hasPrefix("("), !words.contains("VIRTUAL") else { return [] }
    let tokens = sql.matches(of: #/[A-Za-z0-9_]+|[^\sA-Za-z0-9_]/#).map { String($0.output) }
    var found: Set<String> = []
    var isDerived = false
    for (index, token) in tokens.enumerated() where token == name {
      let hasWord = index > 1 && tokens[index - 1] == "AS"
      let named = hasWord ? tokens[index - 2] : index > 0 ? tokens[index - 1] : ""
      if tables.contains(named) { found.insert(named) }
      if hasWord, named == ")" { isDerived = true }
      let next = tokens.dropFirst(index + 1).prefix(2)
      if next.first == "AS", let last = next.last, ["(", "MATERIALIZED"].contains(last) { isDerived = true }
    }
    return found.isEmpty && !isDerived ? [name] : found
  }
}
