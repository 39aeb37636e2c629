import PostgreSQLLink

/// The servers on a database, each with shared advisory locks that say what it has. They end with its connection.
enum PostgreSQLServers {
  /// Takes the locks, which the connection holds until it ends.
  static func show(_ server: RunningServer, by connection: PostgreSQLConnection) throws {
    for mark in server.marks.sorted() {
      try connection.run([
        PostgreSQLCall(
          "SELECT pg_advisory_lock_shared(hashtext('iampass_server_' || current_schema()), $1::int8::int4)::text",
          .integer(mark))
      ])
    }
  }

  static func all(in db: PostgreSQLTransaction) throws -> [RunningServer] {
    let locks = try db.all(
      """
      SELECT held.pid::int8 AS pid, held.objid::int8 AS mark, coalesce(host(activity.client_addr), '') AS address
      FROM pg_locks AS held LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid
      WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.granted
        AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND held.classid::int8 = hashtext('iampass_server_' || current_schema())::int8 & 4294967295
      ORDER BY held.pid
      """)
    var servers: [Int64: RunningServer] = [:]
    for lock in locks {
      let (pid, mark): (Int64, Int64) = (try lock.get("pid"), try lock.get("mark"))
      let marks = servers[pid]?.marks ?? []
      servers[pid] = RunningServer(marks: marks.union([mark]), address: try lock.get("address"))
    }
    return servers.keys.sorted().compactMap { servers[$0] }
  }
}
