import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

/// Gives one reply to whatever is asked.
private final class OneReply: HTTPTransport {
  private let status: Int
  private let body: String

  init(status: Int, body: String) {
    self.status = status
    self.body = body
  }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    HTTPReply(status: status, headers: [], body: Array(body.utf8))
  }
}

/// What counts as the end of a session, for the module and for the helper.
@Suite struct EndedSessionTests {
  private static let credential = ServiceCredential(applicationID: "app", secret: Secret("abcdefghijklmnopqrstuvwx"))
  private static let settings = ServiceSettings(
    server: try! ServerURL("https://h"), scheme: .documented, dialect: .iampass, signedReplies: false)

  private func session() throws -> RemoteSession {
    try RemoteSession(
      statusURL: "/status", logoutURL: "/logout", token: Secret("token"), secret: Secret("0123456789abcdef01234567"),
      name: nil, settings: Self.settings)
  }

  /// As the module asks.
  private func end(_ status: Int, _ body: String) throws {
    let client = try AuthenticationClient(
      settings: Self.settings, credential: Self.credential, transport: OneReply(status: status, body: body),
      unixTime: { 0 })
    try client.end(session(), deadline: .now().advanced(milliseconds: 60_000))
  }

  /// As the helper asks.
  private func confirm(_ status: Int, _ body: String) throws {
    let inquiry = SessionInquiry(
      seal: RequestSeal(settings: Self.settings, credential: Self.credential, unixTime: { 0 }))
    let reply = HTTPReply(status: status, headers: [], body: Array(body.utf8))
    try inquiry.confirmEnd(reply, to: inquiry.end(session()))
  }

  @Test(arguments: [
    (200, #"{"status":true}"#), (404, #"{"status":false}"#), (410, #"{"status":false,"reason":"UNKNOWN_SESSION"}"#),
    (404, #"{"authentication_status":{}}"#),
  ])
  func aSessionThatWasEndedOrIsGoneCountsAsEnded(_ status: Int, _ body: String) throws {
    try end(status, body)
    try confirm(status, body)
  }

  @Test(arguments: [
    (404, "<html>"), (404, ""), (410, #"{"status":404}"#), (404, #"{"status":true}"#), (404, #"{"error":"x"}"#),
  ])
  func aProxysPageForAWrongPathDoesNotCountAsEnded(_ status: Int, _ body: String) {
    #expect(throws: ServiceError.notFound) { try end(status, body) }
    #expect(throws: ServiceError.notFound) { try confirm(status, body) }
  }

  @Test func aFailureOfTheServiceDoesNotCountAsEnded() {
    #expect(throws: ServiceError.serverFailed(status: 503)) { try end(503, #"{"status":false}"#) }
    #expect(throws: ServiceError.serverFailed(status: 503)) { try confirm(503, #"{"status":false}"#) }
  }
}
