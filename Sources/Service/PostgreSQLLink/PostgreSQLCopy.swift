import CPostgreSQL
import Glibc

// Whole tables at once, by `COPY` in its binary form.
extension PostgreSQLConnection {
  /// The beginning of a copy (PostgreSQL's manual, COPY, "File Header"): no flags, no extension.
  private static let header: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 13, 10, 0] + [UInt8](repeating: 0, count: 8)
  /// The bytes that are sent at once.
  private static let portion = 65_536

  /// Reads every row of the table. The caller has begun a transaction.
  ///
  /// - Parameter body: takes a row in the form of ``PostgreSQLTuple``, which it may not keep.
  public func copyOut(
    _ table: PostgreSQLTable, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    try begin("COPY (SELECT \(table.columnList) FROM \(table.quotedName)) TO STDOUT (FORMAT binary)", PGRES_COPY_OUT)
    var isFirst = true
    while let message = try nextMessage(until: .now + patience) {
      defer { PQfreemem(message.start) }
      var tuple = UnsafeRawBufferPointer(start: message.start, count: message.count)
      if isFirst {
        guard tuple.starts(with: Self.header.prefix(11)), tuple.count >= Self.header.count else {
          throw lost(.answerInvalid)
        }
        tuple = UnsafeRawBufferPointer(rebasing: tuple.dropFirst(Self.header.count))
        isFirst = false
      }
      // The end is marked by a row of -1 columns.
      if tuple.isEmpty || (tuple.count == 2 && tuple.allSatisfy { $0 == 0xFF }) { continue }
      do { try body(tuple) } catch {
        // Otherwise the server would go on sending.
        close()
        throw error
      }
    }
    try endCopy()
  }

  /// Adds rows to the table. The caller has begun a transaction, and rolls back after an error.
  ///
  /// - Parameter body: passes rows to `add`, each in the form of ``PostgreSQLTuple``.
  public func copyIn(
    _ table: PostgreSQLTable, _ body: (_ add: (UnsafeRawBufferPointer) throws -> Void) throws -> Void
  ) throws {
    try begin("COPY \(table.quotedName) (\(table.columnList)) FROM STDIN (FORMAT binary)", PGRES_COPY_IN)
    var unsent = Self.header
    do {
      try body { tuple in
        unsent.append(contentsOf: tuple)
        if unsent.count >= Self.portion { try put(&unsent) }
      }
      unsent += [0xFF, 0xFF]
      try put(&unsent)
    } catch {
      // The server adds no rows of a copy whose connection has ended.
      close()
      throw error
    }
    guard PQputCopyEnd(connection, nil) >= 0 else { throw lost(.connectionLost) }
    try endCopy()
  }

  private func begin(_ sql: String, _ status: ExecStatusType) throws(PostgreSQLError) {
    guard connection != nil else { throw PostgreSQLError(.connectionLost, detail: "closed before") }
    let end = ContinuousClock.now + patience
    try settle(until: end)
    guard PQsendQuery(connection, sql) == 1 else { throw lost(.connectionLost) }
    guard let result = try next(until: end) else { throw outOfOrder() }
    defer { PQclear(result) }
    guard PQresultStatus(result) == status else {
      let refusal = PreparedCall.refusal(of: result)
      while let further = try next(until: end) { PQclear(further) }
      throw refusal
    }
  }

  private func put(_ bytes: inout [UInt8]) throws(PostgreSQLError) {
    let end = ContinuousClock.now + patience
    let isPut = bytes.withUnsafeBytes {
      PQputCopyData(connection, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
    }
    guard isPut == 1 else { throw lost(.connectionLost) }
    bytes.removeAll(keepingCapacity: true)
    while true {
      let unsent = PQflush(connection)
      guard unsent >= 0 else { throw lost(.connectionLost) }
      guard unsent > 0 else { return }
      guard wait(for: Int16(POLLIN) | Int16(POLLOUT), until: end) else { throw lost(.timedOut) }
      guard PQconsumeInput(connection) == 1 else { throw lost(.connectionLost) }
    }
  }

  private func nextMessage(
    until end: ContinuousClock.Instant
  ) throws(PostgreSQLError) -> (start: UnsafeMutablePointer<CChar>, count: Int)? {
    while true {
      var start: UnsafeMutablePointer<CChar>?
      let count = PQgetCopyData(connection, &start, 1)
      if count > 0, let start { return (start, Int(count)) }
      guard count == 0 else {
        guard count == -1 else { throw lost(.connectionLost) }
        return nil
      }
      guard wait(for: Int16(POLLIN), until: end) else { throw lost(.timedOut) }
      guard PQconsumeInput(connection) == 1 else { throw lost(.connectionLost) }
    }
  }

  private func endCopy() throws(PostgreSQLError) {
    let end = ContinuousClock.now + patience
    var refusal: PostgreSQLError?
    while let result = try next(until: end) {
      defer { PQclear(result) }
      if PQresultStatus(result) != PGRES_COMMAND_OK { refusal = refusal ?? PreparedCall.refusal(of: result) }
    }
    if let refusal { throw refusal }
  }
}

// A few rows of a table.
extension PostgreSQLConnection {
  /// The number of statements that are sent at once.
  private static let batch = 200

  /// Deletes the rows with these keys. The caller has begun a transaction.
  public func delete(_ keys: [PostgreSQLTuple], from table: PostgreSQLTable) throws(PostgreSQLError) {
    _ = try inBatches(keys.map(table.deletion))
  }

  /// Updates existing rows. Columns that the database counts do not change.
  public func update(_ rows: [PostgreSQLTuple], in table: PostgreSQLTable) throws(PostgreSQLError) {
    _ = try inBatches(rows.map(table.update))
  }

  /// The rows with these keys, as far as they exist.
  public func rows(
    _ keys: [PostgreSQLTuple], of table: PostgreSQLTable
  ) throws(PostgreSQLError) -> [PostgreSQLTuple] {
    try inBatches(keys.map(table.look)).compactMap { $0.first.map(PostgreSQLTuple.init) }
  }

  private func inBatches(_ calls: [PostgreSQLCall]) throws(PostgreSQLError) -> [[PostgreSQLRow]] {
    var rows: [[PostgreSQLRow]] = []
    for start in stride(from: 0, to: calls.count, by: Self.batch) {
      rows += try ask(Array(calls[start..<min(start + Self.batch, calls.count)]))
    }
    return rows
  }
}

// Operations on whole tables. The caller has begun a transaction.
extension PostgreSQLConnection {
  /// Deletes every row of all these tables.
  public func empty(_ tables: [PostgreSQLTable]) throws(PostgreSQLError) {
    _ = try ask([PostgreSQLCall(composed: "TRUNCATE \(tables.map(\.quotedName).joined(separator: ", "))")])
  }

  /// Blocks writers until the transaction ends. It waits for writers at work.
  public func lock(_ tables: [PostgreSQLTable]) throws(PostgreSQLError) {
    let list = tables.map(\.quotedName).joined(separator: ", ")
    _ = try ask([PostgreSQLCall(composed: "LOCK TABLE \(list) IN SHARE ROW EXCLUSIVE MODE")])
  }

  /// Switches the tables' own triggers on or off. Foreign keys still apply.
  public func setTriggers(of tables: [PostgreSQLTable], on areOn: Bool) throws(PostgreSQLError) {
    _ = try inBatches(
      tables.map {
        PostgreSQLCall(composed: "ALTER TABLE \($0.quotedName) \(areOn ? "ENABLE" : "DISABLE") TRIGGER USER")
      })
  }

  /// Sets the counters to continue after the greatest number of a row.
  public func countOn(in tables: [PostgreSQLTable]) throws(PostgreSQLError) {
    _ = try inBatches(
      tables.flatMap { table in
        table.columns.filter(\.isCounted).map { column in
          let name = PostgreSQLTable.quoted(column.name)
          return PostgreSQLCall(
            composed: """
              SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max(\(name)), 1), max(\(name)) IS NOT NULL)
              FROM \(table.quotedName)
              """, [.text(table.quotedName), .text(column.name)])
        }
      })
  }

  /// Updates the planner's statistics of the tables.
  public func analyze(_ tables: [PostgreSQLTable]) throws(PostgreSQLError) {
    _ = try ask([PostgreSQLCall(composed: "ANALYZE \(tables.map(\.quotedName).joined(separator: ", "))")])
  }

  /// The number of rows in the table.
  public func count(_ table: PostgreSQLTable) throws(PostgreSQLError) -> Int64 {
    try ask([PostgreSQLCall(composed: "SELECT count(*) FROM \(table.quotedName)")])[0].first?.integer(0) ?? 0
  }

  /// Adds a trigger of this name that runs the function before each change of the tables.
  public func addTrigger(_ name: String, calling function: String, to tables: [String]) throws(PostgreSQLError) {
    _ = try inBatches(
      tables.map {
        PostgreSQLCall(
          composed: """
            CREATE TRIGGER \(PostgreSQLTable.quoted(name)) BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE
            ON \(PostgreSQLTable.quoted($0)) FOR EACH STATEMENT EXECUTE FUNCTION \(PostgreSQLTable.quoted(function))()
            """)
      })
  }

  /// Removes the trigger of this name.
  public func removeTrigger(_ name: String, from tables: [String]) throws(PostgreSQLError) {
    _ = try inBatches(
      tables.map {
        PostgreSQLCall(
          composed: "DROP TRIGGER IF EXISTS \(PostgreSQLTable.quoted(name)) ON \(PostgreSQLTable.quoted($0))")
      })
  }
}
