/// Every wait at the server is bounded, and the address cannot change that.
///
/// They are set after connecting: PgBouncer refuses connections whose first message has `options`.
enum PostgreSQLBounds {
  /// A service that vanished in a transaction, with its machine, loses its locks before those who wait for them give up.
  ///
  /// The last four are the server's side of the connection's own: what a machine held that has vanished is free after
  /// half a minute, not hours.
  static let calls = [
    PostgreSQLCall("SET statement_timeout = '5s'"),
    PostgreSQLCall("SET lock_timeout = '3s'"),
    PostgreSQLCall("SET idle_in_transaction_session_timeout = '2s'"),
    PostgreSQLCall("SET tcp_keepalives_idle = 10"),
    PostgreSQLCall("SET tcp_keepalives_interval = 5"),
    PostgreSQLCall("SET tcp_keepalives_count = 3"),
    PostgreSQLCall("SET tcp_user_timeout = '10s'"),
  ]
}
