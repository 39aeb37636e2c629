import DeviceProtocol
import IAMPASSProtocol
import Logging
import NIOHTTP1
import Synchronization
import Testing

@testable import IAMPASSServer

/// How often a phone is rung, and what the log says about it.
@Suite struct PushSenderTests {
  /// Answers by a script, which must be played to its end.
  private final class ScriptedPushes: PushPosting {
    private let replies: Mutex<[PushReply]>
    private let count = Mutex(0)
    var posts: Int { count.withLock { $0 } }
    var isOver: Bool { replies.withLock(\.isEmpty) }

    init(_ replies: [PushReply]) { self.replies = Mutex(replies) }

    func post(to subscription: PushSubscription, headers: HTTPHeaders, body: [UInt8]) async throws -> PushReply {
      count.withLock { $0 += 1 }
      return try replies.withLock { replies in
        try #require(!replies.isEmpty, "a message too many")
        return replies.removeFirst()
      }
    }
  }

  private struct Rung {
    let pauses: [Int64]
    let posts: Int
    let warnings: [String]
    let isStillRung: Bool
    let results: [PushCounts.Kind: Int64]
  }

  /// - Parameters:
  ///   - late: seconds that pass before the phone is rung.
  ///   - meanwhile: what happens while the push service wants to be waited for.
  private func ring(
    _ replies: [PushReply], late: Int64 = 0, meanwhile: @escaping @Sendable (TestPhone) async throws -> Void = { _ in }
  ) async throws -> Rung {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await phone.subscribe(PushTests.subscription)
    let started = try await fixture.started("alice")
    let storage = fixture.service.storage
    let name = try #require(started.name)
    let session = try #require(await storage.session(name))
    let user = try #require(session.user)
    let pushes = ScriptedPushes(replies)
    let pauses = Mutex<[Int64]>([])
    let lines = LogLines()
    let counts = PushCounts()
    let sender = PushSender(
      storage: storage, trust: PushTrust(), counts: counts, logger: lines.logger, client: pushes,
      sleep: { [clock = fixture.clock] seconds in
        pauses.withLock { $0.append(seconds) }
        clock.advance(seconds: seconds)
        try await meanwhile(phone)
      })
    fixture.clock.advance(seconds: late)
    await sender.send(session, of: user, contact: Fixture.origin)
    #expect(pushes.isOver)
    return Rung(
      pauses: pauses.withLock { $0 }, posts: pushes.posts,
      warnings: lines.all.filter { $0.level == .warning }.map { $0.metadata["error"] ?? $0.message },
      isStillRung: try await !storage.pushTargets(of: user).isEmpty, results: counts.counts)
  }

  @Test func isTriedAgainAfterTheTimeThatTheServiceNames() async throws {
    let rung = try await ring([PushReply(status: 429, retryAfter: 7), PushReply(status: 503), PushReply(status: 201)])
    #expect(rung.pauses == [7, 4])
    #expect(rung.warnings.isEmpty && rung.isStillRung)
  }

  @Test func theLastRefusalIsLoggedAndNotWaitedFor() async throws {
    let rung = try await ring(Array(repeating: PushReply(status: 429, retryAfter: 3), count: 3))
    #expect(rung.pauses == [3, 4])
    #expect(rung.warnings == ["status 429, after 3 attempts"])
  }

  @Test func aServiceThatWantsMoreTimeThanThereIsIsNotWaitedFor() async throws {
    for (pause, late) in [(21, 0), (15, 50)] as [(Int64, Int64)] {
      let rung = try await ring([PushReply(status: 503, retryAfter: pause)], late: late)
      #expect(rung.pauses.isEmpty)
      #expect(rung.warnings == ["status 503, and no other attempt for \(pause) s"])
    }
  }

  @Test func aRequestThatHasEndedIsNotRungAndThatIsSaid() async throws {
    let rung = try await ring([], late: 60)
    #expect(rung.posts == 0)
    #expect(rung.warnings == ["the request has ended"])
  }

  @Test func aRequestThatIsAnsweredMeanwhileIsNotRungAgain() async throws {
    let rung = try await ring([PushReply(status: 429, retryAfter: 7)]) { try await $0.approveOnly() }
    #expect(rung.posts == 1 && rung.pauses == [7])
    #expect(rung.warnings.isEmpty && rung.isStillRung)
    #expect(rung.results == [PushCounts.Kind(service: .web, result: .failed): 1])
  }

  @Test func anEndedSubscriptionIsForgotten() async throws {
    for status in [404, 410] {
      let rung = try await ring([PushReply(status: status)])
      #expect(rung.warnings.isEmpty && !rung.isStillRung)
    }
  }

  @Test func anyOtherRefusalIsLoggedAtOnce() async throws {
    let rung = try await ring([PushReply(status: 400)])
    #expect(rung.warnings == ["status 400"])
    #expect(rung.isStillRung)
  }

  @Test(
    arguments: [
      ([201], .delivered), ([503, 201], .delivered), ([410], .gone), ([400], .failed), ([503, 503, 503], .failed),
    ] as [([Int], PushCounts.Result)])
  func aMessageIsCountedOnceByWhatBecameOfIt(_ replies: [Int], _ result: PushCounts.Result) async throws {
    let rung = try await ring(replies.map { PushReply(status: $0) })
    #expect(rung.results == [PushCounts.Kind(service: .web, result: result): 1])
  }

  @Test func applesReasonIsLogged() async throws {
    let rung = try await ring([PushReply(status: 403, reason: "BadJwtToken")])
    #expect(rung.warnings == ["status 403 BadJwtToken"])
  }

  @Test(
    arguments: [
      (#"{"reason":"BadJwtToken"}"#, "BadJwtToken"), (#"{"reason":"x\nforged=1"}"#, ""), (#"{"reason":7}"#, ""),
      (#"{"message":"no such subscription: https://push.example/abc"}"#, ""), ("", ""), ("BadJwtToken", ""),
      (#"{"reason":"\#(String(repeating: "a", count: 61))"}"#, ""),
    ] as [(String, String)])
  func onlyOneOfApplesWordsIsAReason(_ text: String, _ reason: String) {
    #expect(PushReply.reason(in: Array(text.utf8)) == reason)
  }

  @Test(
    arguments: [
      "mailto:admin@example.org", "https://iampass.example.org", "https://iampass.example.org:8443",
    ])
  func aContactIsAMailOrWebAddress(_ text: String) { #expect(PushContact(text)?.text == text) }

  @Test(
    arguments: [
      "", "admin@example.org", "mailto:", "mailto:admin", "mailto:@example.org", "mailto:a@b@c",
      "mailto:a b@example.org",
      "mailto:a@example.org\n", "mailto:a'@example.org", "mailto:ä@example.org", "mailto:a@example.org?subject=x",
      "http://iampass.example.org", "https://192.0.2.1", "mailto:a@\(String(repeating: "b", count: 300))",
    ])
  func anythingElseIsNoContact(_ text: String) { #expect(PushContact(text) == nil) }

  @Test(
    arguments: [
      ("iampass.example.org", true), ("iampass.local", false), ("iampass.lan", false), ("a.home.arpa", false),
      ("a.internal", false), ("LOCALHOST", false), ("iampass", false), ("iampass.Local", false), (nil, false),
    ] as [(String?, Bool)])
  func applesServiceTakesPublicNamesOnly(_ host: String?, _ isTaken: Bool) {
    #expect(PushContact.isPublic(host: host) == isTaken)
  }

  @Test(
    arguments: [
      ("7", 7), ("0", 0), ("-1", nil), ("", nil), ("soon", nil), ("1e3", nil), ("99999999999999999999", nil),
      ("Fri, 15 Jan 2027 08:00:30 GMT", 30), ("Fri, 15 Jan 2027 07:00:00 GMT", 0), ("Fri, 15 Jan 2027", nil),
    ] as [(String, Int64?)])
  func readsBothFormsOfRetryAfter(_ text: String, _ seconds: Int64?) {
    #expect(PushReply.seconds(text, at: UnixTime(seconds: 1_800_000_000)) == seconds)
  }
}

/// Keeps what is logged.
final class LogLines: Sendable {
  struct Line: Sendable {
    let level: Logger.Level
    let message: String
    let metadata: [String: String]
  }

  private struct Handler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    init(_ lines: LogLines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let line = Line(
        level: event.level, message: "\(event.message)", metadata: (event.metadata ?? [:]).mapValues { "\($0)" })
      lines.lines.withLock { $0.append(line) }
    }
  }

  private let lines = Mutex<[Line]>([])
  var all: [Line] { lines.withLock { $0 } }
  var logger: Logger { Logger(label: "test") { _ in Handler(self) } }
}
