import Synchronization

/// Translates PostgreSQL's statements for SQLite.
///
/// The tables are the same except for a few names: `user` is a function of PostgreSQL, and `number` replaces SQLite's
/// rowid. If an operation needs more of PostgreSQL, its words are added here, or each engine has its own operation. A
/// column of an answer must not be called `number`, because it would become `rowid`.
///
/// SQLite has no statistics of the rows. If two indices have the same columns, it may take the one that also has ended
/// sessions. So `/*SQLite INDEXED BY live_session */` after a table's name tells SQLite the index. To PostgreSQL it is a
/// comment.
enum SQLiteDialect {
  private static let words = [
    "app_user": "user", "user_id": "user", "number": "rowid",
    "greatest": "max", "least": "min", "strpos": "instr", "json_array_elements_text": "json_each",
  ]

  /// The beginning of a comment with words for SQLite alone.
  private static let onlyHere = "/*SQLite "

  /// The translated statements, by their addresses in the program. There are some hundred.
  private static let known = Mutex<[UInt: String]>([:])

  /// A statement; its parameters are `?1`, `?2`, and so on.
  static func statement(_ sql: StaticString) -> String {
    let place = UInt(bitPattern: sql.utf8Start)
    if let statement = known.withLock({ $0[place] }) { return statement }
    let statement = translated("\(sql)")
    known.withLock { $0[place] = statement }
    return statement
  }

  /// The column's name in SQLite.
  static func column(_ column: String) -> String { column == "user_id" ? "user" : column }

  /// The statement with SQLite's words, parameters and collation by bytes, and without casts.
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
      case "/" where rest.hasPrefix(onlyHere):
        let comment = rest.dropFirst(onlyHere.count)
        let end = comment.firstIndex(of: "*") ?? comment.endIndex
        statement.append(contentsOf: comment[..<end])
        rest = comment[end...].dropFirst(2)
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
