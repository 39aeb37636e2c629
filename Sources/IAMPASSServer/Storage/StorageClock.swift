import GRDB
import Glibc
import Synchronization

/// The clocks of the machine that the storage is on.
public struct MachineClocks: Sendable {
  /// Names the time from one start of the machine to the next; nil if the kernel does not tell.
  let bootID: @Sendable () -> String?
  /// Milliseconds since that start, suspended or not. Nobody can set this clock.
  let sinceBoot: @Sendable () -> Int64
  /// Unix time, which people and the network set.
  let wall: @Sendable () -> UnixTime

  init(
    bootID: @escaping @Sendable () -> String?, sinceBoot: @escaping @Sendable () -> Int64,
    wall: @escaping @Sendable () -> UnixTime
  ) {
    self.bootID = bootID
    self.sinceBoot = sinceBoot
    self.wall = wall
  }

  public static let system = MachineClocks(bootID: kernelsBootID, sinceBoot: bootTime, wall: UnixTime.now)

  @Sendable private static func bootTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }

  @Sendable private static func kernelsBootID() -> String? {
    guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 64)
    guard fgets(&line, Int32(line.count), file) != nil else { return nil }
    let text = String(decoding: line.map(UInt8.init(bitPattern:)).prefix { $0 > 0x20 }, as: UTF8.self)
    return text.utf8.count == 36 ? text : nil
  }
}

/// The one place where the service's time comes from.
///
/// Deadlines and ages are in *service time*. It looks like Unix time, and only time that passes moves it: the machine's
/// boot clock, from a point that the database has. No step of the wall clock, forward or back, ends, prolongs or prunes
/// anything. Another storage has another clock here: a database server's own.
///
/// The boot clock says nothing of the time between two boots, nor on another machine that the database was moved to.
/// There only the wall clock knows, and just after a start it may be wrong: so service time goes on from where it was
/// known last, and makes up for the gap as soon as a computer's signed request confirms the wall clock.
///
/// For people the database also has how far service time and confirmed Unix time are apart.
public final class StorageClock: Sendable {
  /// What is kept of it: service time at a point of one boot, and what belongs to it.
  struct Anchor: Sendable, Equatable {
    var bootID: String?
    /// Milliseconds after boot.
    var sinceBoot: Int64
    /// Service time then.
    var time: UnixTime
    /// Unix time then, as last confirmed.
    var unixTime: UnixTime
    /// The time before this boot is made up for.
    var isSettled: Bool

    /// How far Unix time is ahead of service time, in milliseconds.
    fileprivate var offset: Int64 { unixTime.milliseconds(since: time) }

    /// The same, said of a later point of this boot.
    fileprivate func advanced(to sinceBoot: Int64) -> Anchor {
      var anchor = self
      let passed = max(sinceBoot - self.sinceBoot, 0)
      anchor.sinceBoot += passed
      anchor.time = anchor.time.advanced(milliseconds: passed)
      anchor.unixTime = anchor.unixTime.advanced(milliseconds: passed)
      return anchor
    }
  }

  /// Milliseconds that the wall clock may be off its own course without what people are shown following it: whoever
  /// looks twice should see the same times.
  private static let tolerance: Int64 = 2_000

  private let clocks: MachineClocks
  private let state: Mutex<Anchor>

  /// - Parameter stored: the database's; nil for a database that has none yet, whose times are of the wall clock.
  init(_ clocks: MachineClocks, stored: Anchor?) {
    self.clocks = clocks
    let wall = clocks.wall()
    let sinceBoot = clocks.sinceBoot()
    let bootID = clocks.bootID()
    var anchor =
      stored ?? Anchor(bootID: bootID, sinceBoot: sinceBoot, time: wall, unixTime: wall, isSettled: false)
    // Within one boot, a time namespace (time_namespaces(7)) can have a boot clock that is behind the stored one.
    if bootID == nil || anchor.bootID != bootID || sinceBoot < anchor.sinceBoot {
      anchor.bootID = bootID
      anchor.sinceBoot = sinceBoot
      anchor.isSettled = false
    }
    state = Mutex(anchor)
  }

  /// Service time.
  func now() -> UnixTime { anchor.time }

  /// The wall clock's time, which may be wrong: for what others say of their own clocks.
  func wall() -> UnixTime { clocks.wall() }

  /// For people, and for whatever leaves the service.
  func unixTime(of time: UnixTime) -> UnixTime { time.advanced(milliseconds: state.withLock(\.offset)) }

  /// What is to be stored of it now.
  var anchor: Anchor { state.withLock { $0.advanced(to: clocks.sinceBoot()) } }

  /// A computer's own clock agrees with the wall clock, as its signed request shows.
  ///
  /// - Parameter stamp: the request's time stamp, in seconds.
  /// - Returns: whether there is something new to be kept.
  func confirm(by stamp: Int64) -> Bool {
    let wall = clocks.wall()
    guard (wall.seconds - stamp).magnitude <= SignatureCheck.clockWindow else { return false }
    return state.withLock { state in
      var anchor = state.advanced(to: clocks.sinceBoot())
      let ahead = wall.milliseconds(since: anchor.unixTime)
      guard !anchor.isSettled || ahead.magnitude >= Self.tolerance else { return false }
      // The machine was away for so long.
      if !anchor.isSettled, ahead > 0 { anchor.time = anchor.time.advanced(milliseconds: ahead) }
      anchor.unixTime = wall
      anchor.isSettled = true
      state = anchor
      return true
    }
  }
}

extension StorageClock {
  static let schema = """
    CREATE TABLE service_clock (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      boot_id TEXT,
      since_boot INTEGER NOT NULL,
      time INTEGER NOT NULL,
      unix_time INTEGER NOT NULL,
      is_settled INTEGER NOT NULL
    ) STRICT;

    ALTER TABLE audit ADD COLUMN noted_at INTEGER;
    UPDATE audit SET noted_at = at;
    CREATE INDEX audit_noted_at ON audit (noted_at);

    -- Entries are dated in Unix time, for people, and grow old in service time. Most come in service time; these few have
    -- the time of the database's own clock.
    CREATE TRIGGER audit_noted AFTER INSERT ON audit
    WHEN NEW.event NOT IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
      'credential renamed', 'settings changed')
    BEGIN
      UPDATE audit SET noted_at = NEW.at, at = NEW.at + coalesce((SELECT unix_time - time FROM service_clock), 0)
      WHERE id = NEW.id;
    END;
    CREATE TRIGGER audit_noted_late AFTER INSERT ON audit
    WHEN NEW.event IN ('walked away', 'back', 'user added', 'user deleted', 'application secret renewed',
      'credential renamed', 'settings changed')
    BEGIN
      UPDATE audit SET noted_at = coalesce((SELECT time FROM service_clock), NEW.at) WHERE id = NEW.id;
    END;

    ALTER TABLE spent_nonce ADD COLUMN spent_at INTEGER NOT NULL DEFAULT 0;
    UPDATE spent_nonce SET spent_at = forget_at - 600000;
    DROP INDEX spent_nonce_age;
    CREATE INDEX spent_nonce_time ON spent_nonce (spent_at);

    CREATE TABLE forgotten_nonces (
      first INTEGER NOT NULL,
      last INTEGER NOT NULL
    ) STRICT;
    """

  /// Goes on from what the database knows, and tells it which boot this is.
  convenience init(_ clocks: MachineClocks, keptIn pool: DatabasePool) throws {
    let stored = try pool.read(Self.stored)
    self.init(clocks, stored: stored)
    guard isNews(to: stored) else { return }
    do {
      try pool.write { db in
        // Another process may have done it meanwhile: then this one is of the same boot, and nothing is lost.
        guard try Self.stored(in: db) == stored else { return }
        try anchor.store(in: db)
      }
    } catch  where [.full, .locked].contains(StorageTrouble(error)) {
      // It is kept with the next look.
    }
  }

  /// Milliseconds after which what the database has of the clock is too old for what it stamps with it.
  private static let freshTime: Int64 = 3_600_000

  private func isNews(to stored: Anchor?) -> Bool {
    let anchor = anchor
    guard let stored, stored.bootID == anchor.bootID, stored.isSettled == anchor.isSettled else { return true }
    return !(0..<Self.freshTime).contains(anchor.sinceBoot - stored.sinceBoot)
  }

  static func stored(in db: Database) throws -> Anchor? {
    guard let row = try Row.fetchOne(db, sql: "SELECT * FROM service_clock") else { return nil }
    return try Anchor(
      bootID: row.get("boot_id"), sinceBoot: row.get("since_boot"),
      time: UnixTime(milliseconds: row.get("time")), unixTime: UnixTime(milliseconds: row.get("unix_time")),
      isSettled: row.get("is_settled"))
  }
}

extension StorageClock.Anchor {
  func store(in db: Database) throws {
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO service_clock (id, boot_id, since_boot, time, unix_time, is_settled)
        VALUES (1, ?, ?, ?, ?, ?)
        """,
      arguments: [bootID, sinceBoot, time.milliseconds, unixTime.milliseconds, isSettled])
  }
}

extension Storage {
  /// Service time: see ``StorageClock``.
  public func now() -> UnixTime { clock.now() }

  /// Keeps how far time has come, for the next boot. A power cut may undo the last of it.
  func keepTime() async throws {
    let anchor = clock.anchor
    try await note { try anchor.store(in: $0) }
  }
}
