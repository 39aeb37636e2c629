/// Changes by other servers on the same database: a request that waits here is woken by an answer there.
protocol ChangeListener: Sendable {
  /// Waits for news, at most a second. One task must call it repeatedly.
  ///
  /// - Throws: ``StorageError`` with `databaseTooNew` if a newer server changed the tables so that this program must
  ///   stop using them. Also throws errors of the database.
  func events() async throws -> [ServerEvent]

  /// Whether this server does the housekeeping for all of them. One server does it at a time. If it ends, another one
  /// takes over within seconds, or within about a minute if its process is stopped: see ``HousekeeperDuty``. One whose
  /// housekeeping gets nowhere for five minutes leaves it to another.
  var holdsHousekeeperLease: Bool { get }
}

/// A change that a server has stored, perhaps this one, or an event of the database itself.
enum ServerEvent: Equatable, Sendable {
  case changed(ChangeBoard.Topic)
  /// News may have been missed, so all waiting requests must look again.
  case missed
  /// The database's clock was set forward, or back if the number is negative.
  case clockStepped(milliseconds: Int64)
  /// This server has stored that service time is further ahead of the database's clock than before, or less far if the
  /// number is negative.
  case timeCorrected(milliseconds: Int64)
  /// This server's housekeeping got nowhere for minutes, and is left to another server.
  case housekeepingStalled
  /// The database may lack data that it had before, and this server has begun a higher epoch.
  case historyBegan
}
