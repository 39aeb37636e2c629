/// What other servers on the same database do: who waits here for a session is woken by an answer there.
protocol OtherServers: Sendable {
  /// Waits for news, a second at most. To be asked by one task, again and again.
  ///
  /// - Throws: ``StorageError`` with `databaseTooNew` if a newer server changed the tables so that this program must not
  ///   work with them any more; what goes wrong with the database.
  func news() async throws -> [ServerNews]

  /// Whether this server keeps house for all of them. One does at a time. If it ends, another one takes over within
  /// seconds, and within a minute or so if its process is stopped: see ``HouseDuty``.
  var keepsHouse: Bool { get }
}

/// Something that a server stored, this one perhaps; or what the database itself did.
enum ServerNews: Equatable, Sendable {
  case changed(ChangeBoard.Topic)
  /// Something may have been missed: everyone who waits has to look again.
  case missed
  /// The database's clock was set forward, or back if this is negative.
  case clockStepped(milliseconds: Int64)
  /// The database may lack what it knew before, and this server has begun a higher epoch.
  case historyBegan
}
