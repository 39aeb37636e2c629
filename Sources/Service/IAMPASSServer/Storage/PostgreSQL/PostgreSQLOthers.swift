import NIOPosix
import PostgreSQLLink
import Synchronization

/// Listens to notifications of the triggers of the table `session`, over its own connection.
///
/// Each message has the history's counter, and messages come in the order of commits. Each second the counter is read:
/// if it was ahead of the messages a second ago, a message was lost. A new connection may have missed any message. Each
/// second the tables are also checked, because a newer server may have changed them.
final class PostgreSQLOthers: OtherServers {
  private static let sweepTime = Duration.seconds(1)

  fileprivate struct Ear {
    let connection: PostgreSQLConnection
    /// The counter of the last message.
    var heard: Int64
    /// The counter at the last sweep.
    var swept: Int64
    var nextSweep: ContinuousClock.Instant
    var hasLock: Bool
    var keepsHouse: Bool
  }

  /// SAFETY: only the one thread uses it.
  private final class Place: @unchecked Sendable { var ear: Ear? }

  private let pool: PostgreSQLPool
  private let time: PostgreSQLTime
  private let house: PostgreSQLHouse
  private let place = Place()
  private let isHousekeeper = Atomic(false)
  private let thread = NIOThreadPool(numberOfThreads: 1)

  init(_ pool: PostgreSQLPool, _ time: PostgreSQLTime, _ house: PostgreSQLHouse) {
    self.pool = pool
    self.time = time
    self.house = house
  }

  deinit { thread.shutdownGracefully { _ in } }

  func news() async throws -> [ServerNews] {
    thread.start()
    return try await thread.runIfActive { [self] in
      defer { isHousekeeper.store(place.ear?.keepsHouse ?? false, ordering: .relaxed) }
      do {
        let news = try hear()
        let steps = time.takeSteps().map { ServerNews.clockStepped(milliseconds: $0) }
        return news + steps + (pool.history.takeBeginning() ? [.historyBegan] : [])
      } catch {
        place.ear = nil
        throw error
      }
    }
  }

  var keepsHouse: Bool { isHousekeeper.load(ordering: .relaxed) }

  private func hear() throws -> [ServerNews] {
    guard var ear = place.ear else {
      place.ear = try begin()
      return [.missed]
    }
    defer { place.ear = ear }
    var news: [ServerNews] = []
    if let first = try ear.connection.notification(within: max(ContinuousClock.now.duration(to: ear.nextSweep), .zero))
    {
      ear.note(first, in: &news)
      while let next = try ear.connection.notification(within: .zero) { ear.note(next, in: &news) }
    }
    if ContinuousClock.now >= ear.nextSweep, try sweep(&ear) { news = [.missed] }
    return news
  }

  private func begin() throws -> Ear {
    let connection = try pool.connected()
    // The triggers' channel: see ``PostgreSQLMigration/changeChannel``.
    try connection.run([
      PostgreSQLCall("DO $$ BEGIN EXECUTE format('LISTEN %I', change_channel(current_schema())); END $$")
    ])
    let counter = try Self.counter(connection)
    try PostgreSQLSchema.refuseNewer(connection)
    var hasLock = false
    let keepsHouse = try house.keeps(by: connection, hasLock: &hasLock)
    return Ear(
      connection: connection, heard: counter, swept: counter, nextSweep: .now + Self.sweepTime, hasLock: hasLock,
      keepsHouse: keepsHouse)
  }

  /// Whether a message was lost.
  private func sweep(_ ear: inout Ear) throws -> Bool {
    let isLost = ear.heard < ear.swept
    if isLost { ear.heard = ear.swept }
    ear.swept = try Self.counter(ear.connection)
    ear.nextSweep = .now + Self.sweepTime
    try PostgreSQLSchema.refuseNewer(ear.connection)
    try pool.history.check(ear.connection)
    ear.keepsHouse = try house.keeps(by: ear.connection, hasLock: &ear.hasLock)
    try time.measure(ear.connection)
    return isLost
  }

  private static func counter(_ connection: PostgreSQLConnection) throws -> Int64 {
    let row = try connection.ask([PostgreSQLCall("SELECT counter FROM service_mark")])[0].first
    guard let counter: Int64 = try row?.get("counter") else { throw DamagedRow(column: "counter") }
    return counter
  }
}

extension PostgreSQLOthers.Ear {
  /// `COUNTER session ID` or `COUNTER user NUMBER`.
  fileprivate mutating func note(_ notification: PostgreSQLNotification, in news: inout [ServerNews]) {
    let words = notification.payload.split(separator: " ")
    guard words.count == 3, let counter = Int64(words[0]) else {
      news.append(.missed)
      return
    }
    heard = max(heard, counter)
    switch words[1] {
    case "session": news.append(.changed(.session(String(words[2]))))
    case "user": news.append(Int64(words[2]).map { .changed(.user($0)) } ?? .missed)
    default: news.append(.missed)
    }
  }
}
