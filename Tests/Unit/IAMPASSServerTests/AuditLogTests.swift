import IAMPASSProtocol
import Logging
import Synchronization
import Testing

@testable import IAMPASSServer

/// What the log says about sign-ins.
@Suite struct AuditLogTests {
  /// Keeps the lines at the usual level.
  private final class Lines: Sendable {
    private let lines = Mutex<[(message: String, metadata: [String: String])]>([])
    var all: [(message: String, metadata: [String: String])] { lines.withLock { $0 } }
    func add(_ message: String, _ metadata: [String: String]) { lines.withLock { $0.append((message, metadata)) } }
  }

  private struct Handler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(_ lines: Lines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add("\(event.message)", (event.metadata ?? [:]).mapValues { "\($0)" }) }
  }

  private func office() async throws -> (Fixture, TestPhone, () -> [(message: String, metadata: [String: String])]) {
    let lines = Lines()
    let fixture = try await Fixture(logger: Logger(label: "test") { _ in Handler(lines) })
    let phone = try await TestPhone.registered(in: fixture)
    let before = lines.all.count
    return (fixture, phone, { Array(lines.all.dropFirst(before)) })
  }

  @Test func aSignInIsOneLineAtTheUsualLevel() async throws {
    let (fixture, phone, lines) = try await office()
    let session = try await fixture.started("alice")
    fixture.clock.advance(seconds: 7)
    try await phone.approveOnly()
    #expect(try await fixture.status(of: session).status == .active)
    #expect(try await fixture.logOut(session).status == 200)
    #expect(lines().map(\.message) == ["request ended"])
    let told = try #require(lines().first).metadata
    #expect(told["user"] == "1" && told["application"] == fixture.application.id && told["host"] == "web-1")
    #expect(told["answer"] == "APPROVED" && told["seconds"] == "7")
  }

  @Test func aDenialIsLogged() async throws {
    let (fixture, phone, lines) = try await office()
    _ = try await fixture.started("alice")
    try await phone.answer(.deny, to: try #require(try await phone.list().first))
    #expect(lines().map { $0.metadata["answer"] } == ["DENIED"])
  }

  @Test func aRequestThatNobodyAnswersIsLogged() async throws {
    let (fixture, _, lines) = try await office()
    _ = try await fixture.started("alice")
    fixture.clock.advance(seconds: 60)
    try await fixture.service.tidy()
    #expect(lines().map { $0.metadata["answer"] } == ["NOT_ANSWERED"])
    #expect(lines().map { $0.metadata["seconds"] } == ["60"])
  }
}
