/// A table of the connection's schema, as the database's catalog describes it. Its names become SQL only by quoting.
public struct PostgreSQLTable: Equatable, Sendable {
  /// A column of a table.
  public struct Column: Equatable, Sendable {
    /// The name in the catalog.
    public let name: String
    /// Whether it is a `bigint`; otherwise it is a `text`.
    public let isInteger: Bool
    /// Whether the database counts it by itself.
    public let isCounted: Bool
  }

  /// The name in the catalog.
  public let name: String
  /// The columns of the primary key first.
  public let columns: [Column]
  /// The number of columns of the primary key; 0 for a table without one.
  public let keyCount: Int
  /// The tables that its foreign keys refer to.
  let references: Set<String>

  /// All tables except `others`. Each comes after the tables that it refers to.
  ///
  /// - Throws: ``PostgreSQLError``, also for a table with a column of another type.
  public static func all(
    in connection: PostgreSQLConnection, except others: Set<String>
  ) throws(PostgreSQLError) -> [PostgreSQLTable] {
    let rows = try connection.ask([
      PostgreSQLCall(
        """
        SELECT c.relname::text, a.attname::text, a.atttypid::int8, (a.attidentity <> '')::int::int8,
          coalesce(array_position(i.indkey::int2[], a.attnum), -1)::int8
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
          LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
        ORDER BY c.relname, array_position(i.indkey::int2[], a.attnum) NULLS LAST, a.attnum
        """),
      PostgreSQLCall(
        """
        SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
        WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND conrelid <> confrelid
        """),
    ])
    var columns: [String: [Column]] = [:]
    var keys: [String: Int] = [:]
    for row in rows[0] {
      guard let table = try row.text(0), let name = try row.text(1), let type = try row.integer(2),
        !others.contains(table)
      else { continue }
      guard type == 20 || type == 25 else {
        throw PostgreSQLError(.answerInvalid, detail: "the type of \(table).\(name) is \(type)")
      }
      columns[table, default: []].append(
        Column(name: name, isInteger: type == 20, isCounted: try row.integer(3) == 1))
      if try row.integer(4) ?? -1 >= 0 { keys[table, default: 0] += 1 }
    }
    var references: [String: Set<String>] = [:]
    for row in rows[1] {
      if let from = try row.text(0), let to = try row.text(1) { references[from, default: []].insert(to) }
    }
    return inOrder(
      columns.keys.sorted().map {
        PostgreSQLTable(
          name: $0, columns: columns[$0] ?? [], keyCount: keys[$0] ?? 0, references: references[$0] ?? [])
      })
  }

  private static func inOrder(_ tables: [PostgreSQLTable]) -> [PostgreSQLTable] {
    let names = Set(tables.map(\.name))
    var ordered: [PostgreSQLTable] = []
    var placed: Set<String> = []
    while ordered.count < tables.count {
      let ready = tables.filter { !placed.contains($0.name) && $0.references.intersection(names).isSubset(of: placed) }
      // Tables that refer to each other in a circle may have any order.
      let next = ready.isEmpty ? tables.filter { !placed.contains($0.name) } : ready
      ordered += next
      placed.formUnion(next.map(\.name))
    }
    return ordered
  }
}

// SQL of a table.
extension PostgreSQLTable {
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }

  var quotedName: String { Self.quoted(name) }
  var columnList: String { columns.map { Self.quoted($0.name) }.joined(separator: ", ") }

  /// `a = $N AND b = $M`, from parameter `first`.
  private func keyCondition(from first: Int) -> String {
    columns.prefix(keyCount).enumerated().map { "\(Self.quoted($1.name)) = $\(first + $0)" }.joined(separator: " AND ")
  }

  func deletion(of key: PostgreSQLTuple) -> PostgreSQLCall {
    PostgreSQLCall(
      composed: "DELETE FROM \(quotedName) WHERE \(keyCondition(from: 1))", key.values(columns.prefix(keyCount)))
  }

  func update(to row: PostgreSQLTuple) -> PostgreSQLCall {
    let values = row.values(columns[...])
    let changed = columns.dropFirst(keyCount)
    let settings = changed.enumerated().filter { !$1.isCounted }
    let list = settings.enumerated().map { "\(Self.quoted($1.element.name)) = $\($0 + 1)" }.joined(separator: ", ")
    return PostgreSQLCall(
      composed: "UPDATE \(quotedName) SET \(list) WHERE \(keyCondition(from: settings.count + 1))",
      settings.map { values[keyCount + $0.offset] } + values.prefix(keyCount))
  }

  func look(at key: PostgreSQLTuple) -> PostgreSQLCall {
    PostgreSQLCall(
      composed: "SELECT \(columnList) FROM \(quotedName) WHERE \(keyCondition(from: 1))",
      key.values(columns.prefix(keyCount)))
  }
}
