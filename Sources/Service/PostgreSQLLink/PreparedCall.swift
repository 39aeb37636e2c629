import CPostgreSQL

/// Converts calls and results for libpq. Both are in the server's binary format.
enum PreparedCall {
  /// Prepares a statement. Returns whether libpq accepted it.
  static func prepare(_ call: PostgreSQLCall, as name: String, on connection: OpaquePointer?) -> Bool {
    let types = call.values.map(\.typeNumber)
    return PQsendPrepare(connection, name, call.sql, Int32(types.count), types) == 1
  }

  /// Sends a call. Returns whether libpq accepted it.
  static func send(_ call: PostgreSQLCall, as name: String, on connection: OpaquePointer?) -> Bool {
    let binaries = call.values.map(\.binary)
    // One buffer for all, so that every pointer is valid until libpq has copied the bytes.
    let joined = binaries.compactMap { $0 }.joined() + [0]
    let lengths = binaries.map { Int32($0?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: binaries.count)
    return joined.withUnsafeBytes { bytes in
      guard let start = bytes.bindMemory(to: CChar.self).baseAddress else { return false }
      var offset = 0
      var pointers: [UnsafePointer<CChar>?] = []
      for binary in binaries {
        // SAFETY: the offset is at most the buffer's length less one. libpq reads `lengths` bytes from there.
        pointers.append(binary == nil ? nil : start + offset)
        offset += binary?.count ?? 0
      }
      return PQsendQueryPrepared(connection, name, Int32(binaries.count), pointers, lengths, formats, 1) == 1
    }
  }

  /// All rows of a result.
  static func rows(of result: OpaquePointer) -> [PostgreSQLRow] {
    let names = (0..<PQnfields(result)).map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
    return (0..<PQntuples(result)).map { row in
      PostgreSQLRow(
        columns: (0..<PQnfields(result)).map { column in
          PostgreSQLRow.Column(
            typeNumber: PQftype(result, column), bytes: bytes(of: result, row: row, column: column))
        }, names: names)
    }
  }

  private static func bytes(of result: OpaquePointer, row: Int32, column: Int32) -> [UInt8]? {
    guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
    // SAFETY: libpq keeps that many bytes there until the result is cleared.
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
    return Array(bytes)
  }

  /// The tag of a command, such as `COMMIT` or `UPDATE 1`.
  static func tag(of result: OpaquePointer) -> String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

  /// The server's refusal, by its SQLSTATE.
  static func refusal(of result: OpaquePointer) -> PostgreSQLError {
    // libpq's PG_DIAG_SQLSTATE is the character C, a macro that Swift does not see as a number.
    guard let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))) else {
      return PostgreSQLError(.connectionLost, detail: PQresultErrorMessage(result).map { String(cString: $0) } ?? "")
    }
    return PostgreSQLError(
      .refused(sqlState: String(cString: state)),
      detail: PQresultErrorMessage(result).map { String(cString: $0) } ?? "")
  }
}
