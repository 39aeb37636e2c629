/// A script of several statements without parameters. It is written in the source, so that no value can become SQL.
public struct PostgreSQLScript: Sendable {
  let sql: String

  /// A script from the source.
  public init(_ sql: StaticString) { self.init(composed: "\(sql)") }

  init(composed sql: String) { self.sql = sql }

  /// The indices that the script makes of these tables, and the script without them.
  ///
  /// A statement `CREATE INDEX` begins its own line, and `;` ends its last one.
  ///
  /// - Returns: `rest` is nil if there are no other statements.
  public func separatingIndices(of tables: Set<String>) -> (rest: PostgreSQLScript?, indices: [PostgreSQLIndex]) {
    var lines = sql.split(separator: "\n", omittingEmptySubsequences: false)[...]
    var rest: [Substring] = []
    var indices: [PostgreSQLIndex] = []
    while let line = lines.popFirst() {
      let words = line.split(separator: " ")
      guard line.hasPrefix("CREATE INDEX "), words.count > 4, words[3] == "ON", tables.contains(String(words[4])) else {
        rest.append(line)
        continue
      }
      let name = String(words[2])
      var definition = String(line.dropFirst("CREATE INDEX \(name) ".count))
      while !definition.hasSuffix(";"), let next = lines.popFirst() { definition += "\n\(next)" }
      indices.append(PostgreSQLIndex(name: name, definition: String(definition.dropLast())))
    }
    let hasStatements = rest.contains { !$0.isEmpty && !$0.hasPrefix("--") }
    return (hasStatements ? PostgreSQLScript(composed: rest.joined(separator: "\n")) : nil, indices)
  }
}

/// An index of a script.
public struct PostgreSQLIndex: Equatable, Sendable {
  /// Its name, which needs no quotes.
  public let name: String
  /// What follows the name: `ON …`.
  let definition: String
}

extension PostgreSQLConnection {
  /// Builds the index while others read and write its table, unless it is there. The caller has begun no transaction, and
  /// sees to it that nobody builds the same index. The caller's ``patience`` must be longer than an hour.
  ///
  /// The build waits for transactions that began before it, and nobody waits for the build. If it is ended, it leaves an
  /// invalid index, which is never used: that one is removed, and the index is built again.
  ///
  /// - Throws: ``PostgreSQLError``. The index may be there all the same.
  public func build(_ index: PostgreSQLIndex) throws(PostgreSQLError) {
    _ = try ask([PostgreSQLCall("SET statement_timeout = '3600s'"), PostgreSQLCall("SET lock_timeout = 0")])
    do throws(PostgreSQLError) {
      let invalid = PostgreSQLCall(
        "SELECT 1::int8 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid", .text(index.name))
      if try !ask([invalid])[0].isEmpty {
        try run(PostgreSQLScript(composed: "DROP INDEX CONCURRENTLY IF EXISTS \(index.name)"))
      }
      try run(
        PostgreSQLScript(composed: "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(index.name) \(index.definition)"))
    } catch {
      // Without its bounds the connection must not be used again.
      if (try? ask(PostgreSQLBounds.calls)) == nil { close() }
      throw error
    }
    _ = try ask(PostgreSQLBounds.calls)
  }
}
