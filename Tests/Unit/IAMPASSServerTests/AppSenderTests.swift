import DeviceProtocol
import IAMPASSProtocol
import JWTKit
import NIOHTTP1
import NIOSSL
import Synchronization
import Testing

@testable import IAMPASSServer

/// Messages for apps: how often senders prove who they are, and what follows from each reply.
@Suite struct AppSenderTests {
  private func time(_ seconds: Int64) -> NotificationTime {
    NotificationTime(service: UnixTime(seconds: seconds), wall: UnixTime(seconds: 1_800_000_000 + seconds))
  }

  private func reply(_ status: Int, _ body: String = "", retryAfter: Int64? = nil) -> HTTP2Reply {
    HTTP2Reply(push: PushReply(status: status, retryAfter: retryAfter), body: Array(body.utf8))
  }

  // MARK: Apple

  private func token(_ tokens: AppleTokens, _ key: Secret, at seconds: Int64, team: String = "DEF123GHIJ") async throws
    -> Secret
  {
    try await tokens.token(of: team, key: key, keyID: "ABC123DEFG", teamID: team, at: time(seconds))
  }

  @Test func aTokenIsMadeAgainBetweenTwentyAndSixtyMinutes() async throws {
    let (tokens, key) = (AppleTokens(), NotificationSettingsTests.tokenKey())
    let first = try await token(tokens, key, at: 0)
    #expect(try await token(tokens, key, at: 49 * 60) == first)
    let second = try await token(tokens, key, at: 50 * 60)
    #expect(second != first)
    #expect(try await token(tokens, key, at: 51 * 60) == second)
  }

  @Test func aTokenThatAppleCallsExpiredIsMadeAgainAfterTwentyMinutes() async throws {
    let (tokens, key) = (AppleTokens(), NotificationSettingsTests.tokenKey())
    let first = try await token(tokens, key, at: 0)
    #expect(await !tokens.refuse(tokenOf: "DEF123GHIJ", at: time(19 * 60)))
    #expect(try await token(tokens, key, at: 19 * 60) == first)
    #expect(await tokens.refuse(tokenOf: "DEF123GHIJ", at: time(20 * 60)))
    #expect(try await token(tokens, key, at: 20 * 60) != first)
  }

  @Test func eachSenderHasATokenOfItsOwn() async throws {
    let (tokens, key) = (AppleTokens(), NotificationSettingsTests.tokenKey())
    #expect(try await token(tokens, key, at: 0) != token(tokens, key, at: 0, team: "AAAAAAAAAA"))
  }

  @Test(
    arguments: [
      (200, "", .delivered), (410, #"{"reason":"Unregistered"}"#, .gone),
      (
        410, #"{"reason":"Unregistered","timestamp":999}"#,
        .failed("status 410 Unregistered, for an earlier registration")
      ),
      (410, #"{"reason":"Unregistered","timestamp":1000}"#, .gone), (400, #"{"reason":"BadDeviceToken"}"#, .gone),
      (400, #"{"reason":"BadTopic"}"#, .failed("status 400 BadTopic")), (400, "", .failed("status 400")),
      (403, #"{"reason":"InvalidProviderToken"}"#, .failed("status 403 InvalidProviderToken")),
      (403, #"{"reason":"ExpiredProviderToken"}"#, .again(seconds: 2)), (429, "", .again(seconds: 2)),
      (500, "", .again(seconds: 2)), (503, #"{"reason":"Shutdown"}"#, .again(seconds: 2)),
      (404, #"{"reason":"x\nforged=1"}"#, .failed("status 404")), (302, "", .failed("status 302")),
    ] as [(Int, String, PushVerdict)])
  func appleAnswers(_ status: Int, _ body: String, _ verdict: PushVerdict) {
    let found = AppleSender.verdict(
      of: reply(status, body), attempt: 1, secondsLeft: 50, toldAt: UnixTime(milliseconds: 1_000), canRenew: true)
    #expect(found == verdict)
  }

  // MARK: Google

  @Test(
    arguments: [
      (200, "{}", .delivered),
      (404, #"{"error":{"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}"#, .gone),
      // A project that is not there is no phone's end.
      (404, #"{"error":{"status":"NOT_FOUND"}}"#, .failed("status 404 NOT_FOUND")),
      (400, #"{"error":{"status":"INVALID_ARGUMENT"}}"#, .failed("status 400 INVALID_ARGUMENT")),
      (403, #"{"error":{"details":[{"errorCode":"SENDER_ID_MISMATCH"}]}}"#, .failed("status 403 SENDER_ID_MISMATCH")),
      (401, "", .again(seconds: 2)), (503, "", .again(seconds: 2)), (500, "<html>", .again(seconds: 2)),
      (429, "", .failed("status 429, and no other attempt for 60 s")), (302, "", .failed("status 302")),
    ] as [(Int, String, PushVerdict)])
  func googleAnswers(_ status: Int, _ body: String, _ verdict: PushVerdict) {
    #expect(GoogleSender.verdict(of: reply(status, body), attempt: 1, secondsLeft: 50) == verdict)
  }

  @Test func googleNamesATimeAfterWhichItIsAskedAgain() {
    let verdict = GoogleSender.verdict(of: reply(429, retryAfter: 5), attempt: 1, secondsLeft: 50)
    #expect(verdict == .again(seconds: 5))
  }

  /// Grants access as often as it is asked.
  private final class Granting: HTTP2Posting {
    private let count = Mutex(0)
    var grants: Int { count.withLock { $0 } }
    let body: String

    init(_ body: String) { self.body = body }

    func post(
      _ body: [UInt8], to path: String, at endpoint: HTTP2Endpoint, headers: HTTPHeaders,
      tls: @Sendable () throws -> NIOSSLContext
    ) async throws -> HTTP2Reply {
      let number = count.withLock { count in
        count += 1
        return count
      }
      await Task.yield()
      return HTTP2Reply(push: PushReply(status: 200), body: Array(self.body.replacing("#", with: "\(number)").utf8))
    }
  }

  private func grants(_ body: String) throws -> (Granting, GoogleGrants, GoogleNotifications) {
    let key = try Insecure.RSA.PrivateKey(pem: Self.accountKey)
    let client = Granting(body)
    let account = try GoogleNotifications(
      projectID: "p", account: "a@p.test", keyID: "1", key: Secret(key.pemRepresentation))
    return (client, GoogleGrants(client: client, endpoints: NotificationEndpoints(PushTrust())), account)
  }

  @Test func aGrantIsKeptUntilShortlyBeforeItsEnd() async throws {
    let (client, grants, account) = try grants(#"{"access_token":"t#","expires_in":3599}"#)
    #expect(try await grants.grant(of: "s", account, at: time(0)).exposedValue == "t1")
    #expect(try await grants.grant(of: "s", account, at: time(3_538)).exposedValue == "t1")
    #expect(try await grants.grant(of: "s", account, at: time(3_539)).exposedValue == "t2")
    await grants.forget(grantOf: "s")
    #expect(try await grants.grant(of: "s", account, at: time(3_540)).exposedValue == "t3")
    #expect(client.grants == 3)
  }

  @Test func aGrantForAgesIsKeptForADay() async throws {
    let (_, grants, account) = try grants(#"{"access_token":"t#","expires_in":9223372036854775807}"#)
    #expect(try await grants.grant(of: "s", account, at: time(0)).exposedValue == "t1")
    #expect(try await grants.grant(of: "s", account, at: time(86_399)).exposedValue == "t1")
    #expect(try await grants.grant(of: "s", account, at: time(86_400)).exposedValue == "t2")
  }

  @Test func manyMessagesAtOnceAskForOneGrant() async throws {
    let (client, grants, account) = try grants(#"{"access_token":"t#","expires_in":3599}"#)
    let tokens = try await withThrowingTaskGroup(of: String.self) { [now = time(0)] group in
      for _ in 0..<20 { group.addTask { try await grants.grant(of: "s", account, at: now).exposedValue } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(tokens == ["t1"] && client.grants == 1)
  }

  @Test(
    arguments: [
      "", "{}", #"{"access_token":"","expires_in":1}"#, #"{"access_token":"a\r\nb","expires_in":1}"#,
      #"{"access_token":"t"}"#, #"{"access_token":"t","expires_in":0}"#, #"{"access_token":1,"expires_in":9}"#,
    ])
  func aReplyThatGrantsNothingIsRefused(_ body: String) async throws {
    let (_, grants, account) = try grants(body)
    await #expect(throws: GrantRefused.self) { try await grants.grant(of: "s", account, at: time(0)) }
  }

  // MARK: Tokens of phones

  @Test(arguments: StorageEngine.allCases)
  func aPhoneHasOneWayToBeRung(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let storage = room.storage
    let told = PushWay.app(UnverifiedAppToken(service: .apple, token: Secret(String(repeating: "0a", count: 32))))
    #expect(try await storage.keepPush(told, of: phone, at: room.now))
    // Without settings nobody delivers to it.
    #expect(try await storage.pushTargets(of: phone.user).isEmpty)
    try await storage.setNotifications(try NotificationSettingsTests.apple(), of: "shop", at: room.now)
    let target = try #require(await storage.pushTargets(of: phone.user).first)
    guard case .app(let token, .apple) = target.way else { throw StorageFixture.NotStarted() }
    #expect(token.toldAt == room.now)
    // The same token, told again later, is not the one that has ended.
    room.clock.advance(seconds: 1)
    #expect(try await storage.keepPush(told, of: phone, at: room.now))
    try await storage.forget(target)
    let again = try #require(await storage.pushTargets(of: phone.user).first)
    try await storage.forget(again)
    #expect(try await storage.pushTargets(of: phone.user).isEmpty)
    #expect(try await storage.keepPush(.browser(PushTests.subscription), of: phone, at: room.now))
    guard case .browser = try #require(await storage.pushTargets(of: phone.user).first).way else {
      throw StorageFixture.NotStarted()
    }
    #expect(try await storage.keepPush(told, of: phone, at: room.now))
    guard case .app = try #require(await storage.pushTargets(of: phone.user).first).way else {
      throw StorageFixture.NotStarted()
    }
  }

  /// Made for these tests: Google does not know it.
  private static let accountKey = """
    -----BEGIN PRIVATE KEY-----
    MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDDhHYKyjQFR2Lo
    oPc/JjS+2Ykk0rCWz6kq5kCkXWeIQScLijILLLhPnJ5wx44NNJJ3fWQWYFT0ffcI
    AoyB7nBqf+TrzCqMmzPCLnLelafel5S+6m5fLL4R3hHsHuZjEx3cPi87so7eq5V7
    QWaOWKVWTRMlPEkgb/E6LOLnlIOFP1XdpcKZnw+bPOubY8KzcvNZ9sgzUR+b2LLx
    iIskULDhd6UrFNqnKSv5Zl3hje0pd9PW+Og9mODvbUMbhFxgHQTM8crlr+VDzCP7
    NW6q398hrZg9FzJ6LSrvTY3zjZbURkocRBV52rzjqva0FBpr46JzTQEEXL7ndxC4
    NymOwmLRAgMBAAECggEAKRVNZIkGk1FjxDQGoBtcG/pD6hvnhVkPV/dX//GsjqH6
    HV+lklmMRRZI6LPV8opoeHk9rcICN/m8Dc/TTH4Y2xgSt0WIb1ExeA0gkArsYkaB
    t/g0xwT0z3ZVV8NKb+kVbjEW5blocfumBmdAsIqJ+29opXtcdldvXeUOrNC1Lis5
    zoSg9mNfy2uZYz8iNntKcEGXk/mUccmjKFqp720XstaeN3soHOCP1hUVeI965b7l
    7Li8bD4Y90ypohlbvDjjyvPic/zrt2B24OEC7+8+ye2aUaLiMBH7wIZ0L8F7ONqF
    6H+jdXlDktEQlU+9oL/h/de2gS99P4/+CnYGZSGxPQKBgQDhZeeFcuP6YOLYjBrs
    zZ1rnHOL2C2GRdgsFvhImkI/AETS8WjFYY5luQhGTwEbymAmb/G7mR7WK4XLck3m
    wi0D3LQTFGagTyD8qBjKzalQht5TXMJm9re3xRs/cWurMP7GBFU0UaId0jcphxGr
    FnBpfiKvmt/qtVGPl98M5M6OIwKBgQDeEAEF5vFmHa3X9zN3otiBju0SDb8wDh0j
    Ma24J7wIsy7Sx/hYkPlAyIoL8R4DolEk/2VwxkNnHKiim5rr96Plk8NL9kEdKwWR
    0bXcTcCXZPwj5MB4ZkBEjP9WvV2hm2brJ6ZhUCN74E7DXzusinVrwAXIWfcavkDW
    uVF/JlEIewKBgQCDZYGjVQe8BVEYxgxIMdFsU0c0pfBcD0lm4nkY8fxed8ynYB4g
    uq9lc4l0W0gdKEwG/EligG/ukG6t3FO3i0jssHO1j7YIDDkBsQjK6Tuj+wuOc0vM
    9FTDZ79rq7YFlUlgrFPzbQdh9RM9PUU6hJlBlkuoLVQNomgKmpFoFdaoGwKBgQDN
    Xjuz+6uRZy1ZqDMfF6nn2AkEQ1Zn2QW1gMJKp+TMnvpU0b+qGRmLgmu5M5swfTNS
    ZiiorZO0jtqe2A3k4TfgoFFjtTDvCtSx0SLBxd6xpSFTCMHAF8CkJUoYLDWluhTq
    sda79ON8Myxkn3SO09ZYelRewGU5hG5upyDp2MPkdQKBgHh2INraNDV9h97D3ydq
    I/aPiR9hUEFYoxaCId/oiQpoVEemynk8MJCK0dGtoJjo+kHtG7Fp0NpWKzg06ak5
    fLenxy3baT9tR0ggkqzZg9bFmDnWW2nU3/2vFMVjUDDdoABOoHEX89545LUbXPMS
    hgCA4lC0Q1XtZjQqwaDzZ1TP
    -----END PRIVATE KEY-----
    """
}
