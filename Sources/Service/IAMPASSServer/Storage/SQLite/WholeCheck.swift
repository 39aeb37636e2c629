import GRDB
import Glibc
import NIOPosix
import Synchronization

extension SQLiteStorage {
  /// How often an interruption is repeated: SQLite ignores one between two statements.
  private static let reminder = Duration.milliseconds(20)
  /// nice(2)'s lowest priority, only for the check's thread.
  private static let lowestPriority: Int32 = 19

  private final class Flag: Sendable { let isSet = Atomic(false) }

  /// Checks every page of the database, which takes a second for some hundred megabytes.
  public func checkWhole() throws {
    try explainingDamage { try pool.read(Self.requireWhole) }
  }

  /// The same while others work, with its own connection and thread, at the lowest priority.
  ///
  /// - Returns: false if that took longer than `bound`, or if the task was cancelled.
  /// - Throws: ``StorageError`` with `databaseDamaged`, and why the file could not be read.
  public func checkWhole(within bound: Duration) async throws -> Bool {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cell_size_check = ON") }
    let connection = try explainingDamage { try DatabaseQueue(path: pool.path, configuration: configuration) }
    let (isBrokenOff, isOver) = (Flag(), Flag())
    async let end: Void = Self.breakOff(connection, after: bound, isBrokenOff, isOver)
    let thread = NIOThreadPool(numberOfThreads: 1)
    thread.start()
    let found = await Task.detached {
      try await thread.runIfActive {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.lowestPriority)
        if !isBrokenOff.isSet.load(ordering: .relaxed) { try connection.read(Self.requireWhole) }
      }
    }.result
    isOver.isSet.store(true, ordering: .relaxed)
    thread.shutdownGracefully { _ in }
    // An interrupted check reports pages that it did not reach as unused.
    if isBrokenOff.isSet.load(ordering: .relaxed) {
      await end
      return false
    }
    try explainingDamage { try found.get() }
    return true
  }

  /// Interrupts the check after the bound. Returns when the check is over.
  private static func breakOff(
    _ connection: DatabaseQueue, after bound: Duration, _ isBrokenOff: Flag, _ isOver: Flag
  ) async {
    let end = ContinuousClock.now + bound
    while !isOver.isSet.load(ordering: .relaxed), ContinuousClock.now < end, !Task.isCancelled {
      try? await Task.sleep(for: reminder)
    }
    guard !isOver.isSet.load(ordering: .relaxed) else { return }
    isBrokenOff.isSet.store(true, ordering: .relaxed)
    while !isOver.isSet.load(ordering: .relaxed) {
      connection.interrupt()
      // This sleep must not end early if this task was cancelled.
      await Task.detached { try? await Task.sleep(for: reminder) }.value
    }
  }

  private static func requireWhole(_ db: Database) throws {
    let found = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? ""
    guard found == "ok" else {
      throw DatabaseError(
        resultCode: .SQLITE_CORRUPT, message: found.split(separator: "\n").joined(separator: " "))
    }
  }

  private func explainingDamage<Value>(_ look: () throws -> Value) throws -> Value {
    do { return try look() } catch  where StorageTrouble(error) == .damaged {
      let text = (error as? DatabaseError)?.message ?? "\(error)"
      throw StorageError(.databaseDamaged, path: pool.path, detail: text)
    }
  }
}
