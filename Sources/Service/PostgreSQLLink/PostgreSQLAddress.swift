import CPostgreSQL

/// The address of a PostgreSQL database: a URL as libpq reads it, with what the service adds. It has no password.
///
/// libpq takes a password from `PGPASSFILE`, `~/.pgpass` or the service file (`service=`).
public struct PostgreSQLAddress: Equatable, Sendable {
  /// libpq's keywords and their values.
  let parameters: [String: String]

  /// - Parameter url: `postgresql://…`. Several hosts may be listed.
  /// - Throws: ``PostgreSQLError`` with `addressInvalid` or `passwordInAddress`. Neither quotes the address.
  public init(validating url: String) throws(PostgreSQLError) {
    guard url.hasPrefix("postgresql://") || url.hasPrefix("postgres://") else {
      throw PostgreSQLError(.addressInvalid, detail: "it does not begin with postgresql://")
    }
    // A C string would end there, and what follows would be ignored.
    guard !url.utf8.contains(0) else { throw PostgreSQLError(.addressInvalid, detail: "it has a NUL byte") }
    guard let options = PQconninfoParse(url, nil) else {
      // libpq's own message quotes the address, which may have a password.
      throw PostgreSQLError(.addressInvalid, detail: "libpq cannot read it")
    }
    defer { PQconninfoFree(options) }
    var given: [String: String] = [:]
    var option = options
    // SAFETY: libpq ends the list by an option without a keyword.
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { given[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    let role = given["target_session_attrs"] ?? Self.writing[0]
    guard Self.writing.contains(role) else {
      throw PostgreSQLError(
        .addressInvalid, detail: "target_session_attrs is read-write or primary: the service writes")
    }
    guard given["password"] == nil, given["sslpassword"] == nil else { throw PostgreSQLError(.passwordInAddress) }
    parameters = given.merging(Self.defaults) { given, _ in given }.merging(Self.bounds) { _, ours in ours }
  }

  /// The allowed values of `target_session_attrs`.
  private static let writing = ["read-write", "primary", "any"]

  /// They apply unless the address sets them, and have priority over the environment and the service file. libpq
  /// ignores `sslmode` at a Unix socket.
  private static let defaults = [
    "sslmode": "verify-full",
    // Otherwise a Kerberos ticket would replace TLS.
    "gssencmode": "disable",
    // If the address has several hosts, the primary is used.
    "target_session_attrs": writing[0],
  ]

  /// The client's side of ``PostgreSQLBounds``: the address cannot change it.
  private static let bounds = [
    "keepalives": "1", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
    // In milliseconds; the keepalive times are in seconds.
    "tcp_user_timeout": "10000",
    "client_encoding": "UTF8",
    "fallback_application_name": "iampass-server",
  ]
}
