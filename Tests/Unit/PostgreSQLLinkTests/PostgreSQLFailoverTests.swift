import Foundation
import LocalPostgreSQL
import PostgreSQLLink
import Testing

/// Hosts that are silent, and services that vanish.
struct PostgreSQLFailoverTests {
  /// A listener whose machine is there and says nothing, as one that hangs.
  private final class SilentHost {
    private let socket: Int32
    let port: UInt16

    init() throws {
      let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(socket, $0, length) == 0 && listen(socket, 8) == 0 && getsockname(socket, $0, &length) == 0
        }
      }
      try #require(isBound)
      self.socket = socket
      port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(socket) }

    /// How many have connected since the last call.
    func visitors() -> Int {
      var count = 0
      while case let visitor = accept(socket, nil, nil), visitor >= 0 {
        close(visitor)
        count += 1
      }
      return count
    }
  }

  /// Half of it is the silent host's, and half is enough for the next on a busy machine.
  private static let limit = Duration.seconds(12)

  /// The server of the tests, after a host that is silent.
  private func address(after silent: SilentHost) throws -> PostgreSQLAddress {
    let url = try LocalPostgreSQL.url().replacingOccurrences(of: "host=", with: "host=127.0.0.1,")
    return try PostgreSQLAddress(validating: url + "&port=\(silent.port),5432")
  }

  @Test func aSilentHostLeavesTimeForTheNext() throws {
    let silent = try SilentHost()
    let connection = try PostgreSQLConnection(to: address(after: silent), within: Self.limit)
    #expect(try connection.run([PostgreSQLCall("SELECT 1::bigint")])[0][0].integer(0) == 1)
    #expect(silent.visitors() == 1)
  }

  @Test func onlyTheFirstConnectionWaitsForASilentHost() throws {
    let silent = try SilentHost()
    let last = LastHost()
    for count in [1, 0, 0] {
      _ = try PostgreSQLConnection(to: address(after: silent), within: Self.limit, last: last)
      #expect(silent.visitors() == count)
    }
  }

  @Test func eachHostThatIsNotThereIsNamed() throws {
    let address = try PostgreSQLAddress(validating: "postgresql:///iampass?host=/nonexistent/a,/nonexistent/b")
    let error = #expect(throws: PostgreSQLError.self) { try PostgreSQLConnection(to: address) }
    #expect(error?.code == .notConnected)
    #expect(error?.detail.contains("/nonexistent/a") == true)
    #expect(error?.detail.contains("/nonexistent/b") == true)
  }

  @Test func aServiceThatVanishesInATransactionLosesItsLocksBeforeOthersGiveUp() throws {
    let (vanished, other) = (try LocalPostgreSQL.connection(), try LocalPostgreSQL.connection())
    try other.run([PostgreSQLCall("CREATE TABLE held (n bigint)"), PostgreSQLCall("INSERT INTO held VALUES (0)")])
    let take = PostgreSQLCall("UPDATE held SET n = n + 1")
    let bound = PostgreSQLCall(
      """
      SELECT setting::bigint FROM pg_settings
      WHERE name IN ('idle_in_transaction_session_timeout', 'lock_timeout') ORDER BY name
      """)
    let bounds = try other.run([bound])[0].compactMap { try $0.integer(0) }
    #expect(bounds.count == 2 && 0 < bounds[0] && bounds[0] < bounds[1])
    // A busy server may end the first late. Here the other waits until it does.
    try other.run([PostgreSQLCall("SET lock_timeout = 0"), PostgreSQLCall("SET statement_timeout = 0")])
    _ = try vanished.ask([PostgreSQLCall("BEGIN"), take])
    try other.run([take])
    #expect(try other.run([PostgreSQLCall("SELECT n FROM held")])[0][0].integer(0) == 1)
    #expect(throws: PostgreSQLError.self) { try vanished.commit(after: [take]) }
    #expect(!vanished.isOpen)
  }
}
