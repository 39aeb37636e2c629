import PostgreSQLLink

extension PostgreSQLStorage {
  /// The settings of the server that break what a commit promises. They cannot be changed for one connection.
  public func problems() async throws -> [String] {
    try await read { db in
      let off = try db.all(
        """
        SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name
        """)
      return try off.map { "\(try $0.get("name") as String) is off: a power cut can damage the database" }
    }
  }
}
