import GRDB
import Synchronization

/// Checks that the file answers, over a connection that is kept only for this and never writes. Callers during a check
/// share its result. So strangers cause at most one check at a time, and it does not wait for other work.
final class SQLiteHealth: Sendable {
  private struct State {
    /// Nil until the first check: commands have none.
    var connection: DatabaseQueue?
    var isClosed = false
  }

  private let path: String
  private let busyTime: Double
  private let current = Mutex<Task<SealMark, any Error>?>(nil)
  private let state = Mutex(State())

  /// - Parameter busyTime: how long a check waits for another process that holds the file, in seconds.
  init(_ path: String, busyTime: Double) {
    self.path = path
    self.busyTime = busyTime
  }

  /// Whether its connection was made.
  var isConnected: Bool { state.withLock { $0.connection != nil } }

  /// - Returns: what the database says of its sealed secrets.
  func check() async throws -> SealMark {
    let check = current.withLock { current in
      if let current { return current }
      let check = Task.detached { try await self.ask() }
      current = check
      return check
    }
    return try await check.value
  }

  /// Closes the connection. Checks fail from then on.
  func close() throws {
    let connection = state.withLock { state in
      state.isClosed = true
      defer { state.connection = nil }
      return state.connection
    }
    try connection?.close()
  }

  private func ask() async throws -> SealMark {
    defer { current.withLock { $0 = nil } }
    let connection = try connection()
    return try await connection.unsafeRead { db in
      // It was closed meanwhile. SQLite itself would read through a null pointer.
      guard db.sqliteConnection != nil else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
      return try SealMark.stored(in: db)
    }
  }

  private func connection() throws -> DatabaseQueue {
    try state.withLock { state throws -> DatabaseQueue in
      if let connection = state.connection { return connection }
      guard !state.isClosed else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
      var configuration = Configuration()
      configuration.readonly = true
      configuration.busyMode = .timeout(busyTime)
      configuration.label = "iampass-health"
      configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cell_size_check = ON") }
      let connection = try DatabaseQueue(path: path, configuration: configuration)
      state.connection = connection
      return connection
    }
  }
}
