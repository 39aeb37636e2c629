import IAMPASSProtocol
import PostgreSQLLink
import Synchronization
import Testing

@testable import IAMPASSServer

/// An administrator, or a restarted proxy, ends the database's processes one by one while people sign in.
@Suite struct EndedConnectionTests {
  private static let users = 40
  private static let signIns = 3
  /// The steps of a sign-in: the start, the status, the answer, and the status again.
  private static let steps = 4

  /// What each user's task has done, and how many connections were ended.
  ///
  /// A step begins after as many deaths as its number, and a death comes once everybody is as far as the one before. So
  /// there is a death for each step, and no operation is at work during two of them.
  private final class Progress: Sendable {
    private struct State {
      var done: [Int]
      var deaths = 0
    }

    private let state: Mutex<State>

    init(users: Int) { state = Mutex(State(done: [Int](repeating: 0, count: users))) }

    var deaths: Int { state.withLock(\.deaths) }
    func addDeath() { state.withLock { $0.deaths += 1 } }

    /// Whether everybody has done as many steps as there were deaths.
    var mayOneEnd: Bool { state.withLock { state in state.done.allSatisfy { $0 >= state.deaths } } }

    var isOver: Bool { state.withLock { state in state.done.allSatisfy { $0 == .max } } }

    /// A task that is over keeps no other one waiting, also if it failed.
    func finish(_ user: Int) { state.withLock { $0.done[user] = .max } }

    func step<Value>(_ user: Int, _ work: () async throws -> Value) async throws -> Value {
      let number = state.withLock { $0.done[user] }
      while deaths < number { try await Task.sleep(for: .milliseconds(2)) }
      let value = try await work()
      state.withLock { $0.done[user] += 1 }
      return value
    }
  }

  @Test(.timeLimit(.wholeRun)) func whoeverSignsInMeanwhileDoesSoOnce() async throws {
    let room = try await StorageFixture(.postgresql)
    // Nobody is refused because others have their turn before.
    let storage = try PostgreSQLStorage(
      url: StorageEngine.url(of: room.folder), clocks: room.clock.clocks, isMoving: false, patience: .seconds(600))
    var phones: [ActingPhone] = []
    for user in 0..<Self.users { phones.append(try await room.phone(of: "user \(user)")) }
    let progress = Progress(users: Self.users)
    let connection = try Self.connection(to: room)
    var sessions: Set<String> = []
    try await withThrowingTaskGroup(of: [String].self) { group in
      for (user, phone) in phones.enumerated() {
        group.addTask {
          defer { progress.finish(user) }
          var sessions: [String] = []
          for number in 0..<Self.signIns {
            let ask = room.ask(for: "user \(user)", host: "web-\(number)")
            let session = try await progress.step(user) { try await room.started(ask, on: storage) }
            let before = try await progress.step(user) { try await storage.sessionView(session.id) }
            #expect(before?.session.lifecycle.isApproved == false)
            _ = try await progress.step(user) {
              try await room.answer(session.id, .approve, by: phone, on: storage).get()
            }
            let after = try await progress.step(user) { try await storage.sessionView(session.id) }
            #expect(after?.session.lifecycle.isApproved == true)
            sessions.append(session.id)
          }
          return sessions
        }
      }
      while !progress.isOver {
        if progress.mayOneEnd, try Self.endOne(connection) { progress.addDeath() }
        try await Task.sleep(for: .milliseconds(2))
      }
      for try await one in group { sessions.formUnion(one) }
    }
    // The last step needs no further one.
    #expect(progress.deaths >= Self.signIns * Self.steps - 1)
    let count = Self.users * Self.signIns
    #expect(sessions.count == count)
    let stored = try connection.ask([
      PostgreSQLCall("SELECT count(*) FROM session"),
      PostgreSQLCall("SELECT count(*) FROM audit WHERE event = 'asked'"),
      PostgreSQLCall("SELECT count(*) FROM audit WHERE event = 'approved'"),
    ]).map { try $0.first?.integer(0) }
    #expect(stored == Array(repeating: Int64(count), count: 3))
  }

  /// The first connection is ended by its own set-up.
  @Test func aConnectionThatEndsWhileItIsMadeIsReplaced() async throws {
    let room = try await StorageFixture(.postgresql)
    let user = try await room.addUser()
    let url = try StorageEngine.url(of: room.folder) + "%2Cpg_catalog"
    let server = try PostgreSQLStorage(url: url, clocks: room.clock.clocks)
    let connection = try Self.connection(to: room)
    try connection.run(
      script: """
        CREATE SEQUENCE set_ups;
        CREATE FUNCTION current_setting(name text) RETURNS text LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('set_ups') = 1 THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
            PERFORM pg_sleep(1);
          END IF;
          RETURN pg_catalog.current_setting(name);
        END $$;
        """)
    server.pool.closeAll()
    #expect(try await server.managed(user, of: room.application.id)?.user.name == "alice")
    let setUps = try connection.ask([PostgreSQLCall("SELECT last_value FROM set_ups")])[0].first?.integer(0)
    #expect(setUps == 2)
  }

  /// Ends the oldest of the room's connections, one that is at work if there is one. A connection that is being made is
  /// left alone.
  ///
  /// - Returns: false if there is none.
  private static func endOne(_ connection: PostgreSQLConnection) throws -> Bool {
    let end = PostgreSQLCall(
      """
      SELECT pg_terminate_backend(pid, 4000)::text FROM (
        SELECT pid FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND application_name = current_schema() AND query <> '' AND query NOT LIKE 'SET %'
        ORDER BY state <> 'idle' DESC, backend_start LIMIT 1) AS oldest
      """)
    return try connection.ask([end])[0].first?.text(0) == "true"
  }

  private static func connection(to room: StorageFixture) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
  }
}
