/// Every wait at the server is bounded, and the address cannot change that.
///
/// They are set after connecting: PgBouncer refuses connections whose first message has `options`.
enum PostgreSQLBounds {
  /// The locks of a service that vanished with its computer in a transaction are freed before waiting servers give up.
  ///
  /// The last four bound the server's side of the connection: locks of a vanished computer are freed after half a
  /// minute, not hours.
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
