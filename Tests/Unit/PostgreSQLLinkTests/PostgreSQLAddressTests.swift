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
    let options = try #require(address.parameters["options"])
    #expect(options.hasPrefix("-c statement_timeout=0 -c statement_timeout=5s"))
  }
}
