import Testing

@testable import PostgreSQLLink

@Suite("A database's address")
struct PostgreSQLAddressTests {
  @Test(arguments: [
    "postgresql://iampass:geheim@db.example/iampass", "postgresql://db.example/iampass?password=geheim",
    "postgresql://db.example/iampass?sslpassword=geheim",
  ])
  func aPasswordIsRefusedAndNotQuoted(_ url: String) {
    #expect(throws: PostgreSQLError(.passwordInAddress)) { try PostgreSQLAddress(validating: url) }
  }

  @Test(arguments: [
    "", "iampass.db", "host=db.example password=geheim", "postgresql://[geheim", "postgresql://db/?wrong=geheim",
    "postgresql://db/iam\0pass",
  ])
  func whatLibpqCannotReadIsRefusedAndNotQuoted(_ url: String) {
    let error = #expect(throws: PostgreSQLError.self) { try PostgreSQLAddress(validating: url) }
    #expect(error?.code == .addressInvalid)
    #expect(error?.detail.contains("geheim") == false)
  }

  @Test func theServersCertificateIsCheckedUnlessTheAddressSaysOtherwise() throws {
    #expect(try PostgreSQLAddress(validating: "postgresql://db.example/iampass").parameters["sslmode"] == "verify-full")
    let weaker = try PostgreSQLAddress(validating: "postgresql://db.example/iampass?sslmode=require")
    #expect(weaker.parameters["sslmode"] == "require")
  }

  @Test func theAddressCannotLiftABound() throws {
    let address = try PostgreSQLAddress(
      validating: "postgresql://db/iampass?tcp_user_timeout=0&options=-c%20statement_timeout%3D0")
    #expect(address.parameters["tcp_user_timeout"] == "10000")
  }

  /// PgBouncer refuses a connection that begins with some.
  @Test func anAddressWithoutOptionsSendsNone() throws {
    #expect(try PostgreSQLAddress(validating: "postgresql://db/iampass").parameters["options"] == nil)
  }

  @Test(arguments: ["standby", "prefer-standby", "read-only", "primary,standby", ""])
  func aServerThatCannotWriteIsNotAskedFor(_ role: String) {
    let error = #expect(throws: PostgreSQLError.self) {
      try PostgreSQLAddress(validating: "postgresql://db/iampass?target_session_attrs=\(role)")
    }
    #expect(error?.code == .addressInvalid)
  }

  @Test(
    arguments: [
      ("postgresql:///iampass", [PostgreSQLHost()]),
      ("postgresql://192.0.2.1/iampass", [PostgreSQLHost(name: "192.0.2.1", address: "192.0.2.1")]),
      (
        "postgresql://192.0.2.1:5433,[2001:db8::1]/iampass?hostaddr=192.0.2.7,",
        [
          PostgreSQLHost(name: "192.0.2.1", address: "192.0.2.7", port: "5433"),
          PostgreSQLHost(name: "2001:db8::1", address: "2001:db8::1"),
        ]
      ),
      (
        "postgresql:///iampass?host=/run/a,@b&port=5433",
        [PostgreSQLHost(name: "/run/a", port: "5433"), PostgreSQLHost(name: "@b", port: "5433")]
      ),
      ("postgresql://no.such.name.invalid/iampass", [PostgreSQLHost(name: "no.such.name.invalid")]),
    ] as [(String, [PostgreSQLHost])])
  func hostsAreTriedInTheOrderOfTheAddress(_ url: String, _ hosts: [PostgreSQLHost]) throws {
    #expect(try PostgreSQLAddress(validating: url).hosts() == hosts)
  }

  @Test func aNameThatIsNotFoundAnyMoreIsTriedWhereItAnsweredLast() throws {
    let address = try PostgreSQLAddress(validating: "postgresql://other.invalid:1,db.invalid:1/iampass")
    let known = PostgreSQLHost(name: "db.invalid", address: "127.0.0.1", port: "1")
    let last = LastHost()
    last.keep(known)
    #expect(address.hosts(last: last) == [PostgreSQLHost(name: "other.invalid", port: "1"), known])
    // Nobody listens there: what libpq says has the address.
    let error = #expect(throws: PostgreSQLError.self) { try PostgreSQLConnection(to: address, last: last) }
    #expect(error?.detail.contains("127.0.0.1") == true)
    // The port is another server's.
    last.keep(PostgreSQLHost(name: "db.invalid", address: "127.0.0.1", port: "2"))
    #expect(address.hosts(last: last).allSatisfy { $0.address == nil })
  }

  @Test func theHostThatAnsweredLastComesFirst() {
    let hosts = ["a", "b", "c"].map { PostgreSQLHost(name: $0) }
    let last = LastHost()
    #expect(last.first(of: hosts) == hosts)
    last.keep(hosts[1])
    #expect(last.first(of: hosts).map(\.name) == ["b", "a", "c"])
    last.keep(PostgreSQLHost(name: "gone"))
    #expect(last.first(of: hosts) == hosts)
  }
}
