import Synchronization

/// PostgreSQL's statements in SQLite's words.
///
/// The tables are the same but for a few names: `user` is a function of PostgreSQL, and `number` takes the place of
/// SQLite's rowid. An operation that uses anything further of PostgreSQL's has its word added here, or is an engine's own.
/// No column of an answer may be called `number`: it would be called `rowid`.
enum SQLiteDialect {
  private static let words = [
    "app_user": "user", "user_id": "user", "number": "rowid",
    "greatest": "max", "least": "min", "strpos": "instr", "json_array_elements_text": "json_each",
  ]

  /// The statements that were asked for, by their places in the program: there are some hundred.
  private static let known = Mutex<[UInt: String]>([:])

  /// A statement; its parameters are `?1`, `?2`, and so on.
  static func statement(_ sql: StaticString) -> String {
    let place = UInt(bitPattern: sql.utf8Start)
    if let statement = known.withLock({ $0[place] }) { return statement }
    let statement = translated("\(sql)")
    known.withLock { $0[place] = statement }
    return statement
  }

  /// What an operation calls `column`.
  static func column(_ column: String) -> String { column == "user_id" ? "user" : column }

  /// The same with SQLite's words, its parameters, and its name of the order of bytes; without casts.
  static func translated(_ sql: String) -> String {
    var rest = sql[...]
    var statement = ""
    while let first = rest.first {
      switch first {
      case "'", "\"":
        let end = rest.dropFirst().firstIndex(of: first).map(rest.index(after:)) ?? rest.endIndex
        let quoted = rest[..<end]
        statement.append(contentsOf: quoted == "\"C\"" ? "BINARY" : quoted)
        rest = rest[end...]
      case "$":
        statement.append("?")
        rest.removeFirst()
      case ":" where rest.hasPrefix("::"):
        rest = rest.dropFirst(2).drop(while: \.isPartOfWord)
      case _ where first.isPartOfWord:
        let word = rest.prefix(while: \.isPartOfWord)
        statement.append(words[String(word)] ?? String(word))
        rest = rest[word.endIndex...]
      default:
        statement.append(rest.removeFirst())
      }
    }
    return statement
  }
}

extension Character {
  fileprivate var isPartOfWord: Bool { isLetter || isNumber || self == "_" }
}
