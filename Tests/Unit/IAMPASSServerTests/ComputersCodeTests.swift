import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Match codes that the computer drew.
@Suite struct ComputersCodeTests {
  private static let challenge = ApprovalChallenge(Array(0..<32))

  private func start(_ code: String, host: String, remote: String? = nil) -> StartRequest {
    StartRequest(
      context: SignInContext(host: host, remoteHost: remote), challenge: Self.challenge, matchCode: Secret(code))
  }

  private func scene(matchCodes: MatchCodes = .off) async throws -> (Fixture, TestPhone) {
    let fixture = try await Fixture(matchCodes: matchCodes)
    return (fixture, try await TestPhone.registered(in: fixture))
  }

  @Test(arguments: [MatchCodes.off, .on, .required])
  func thePhoneAsksForTheComputersCode(_ setting: MatchCodes) async throws {
    let (fixture, phone) = try await scene(matchCodes: setting)
    let session = try await fixture.started("alice", start("07", host: "web-1"))
    #expect(session.matchCode == "07")
    let request = try #require(try await phone.list().first)
    #expect(request.asksCode)
    #expect(try await phone.answer(.approve, to: request).reason == "CODE_MISSING")
    #expect(try await phone.answer(.approve, to: request, code: "07").status == 200)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func anotherCodeThanTheComputersDenies() async throws {
    let (fixture, phone) = try await scene()
    let session = try await fixture.started("alice", start("07", host: "web-1"))
    let request = try #require(try await phone.list().first)
    #expect(try await phone.answer(.approve, to: request, code: "70").reason == "WRONG_CODE")
    #expect(try await fixture.status(of: session).status == .cancelled)
  }

  @Test func withoutACodeTheServiceDrawsOne() async throws {
    let (fixture, _) = try await scene(matchCodes: .on)
    let session = try await fixture.started(
      "alice", StartRequest(context: SignInContext(host: "web-1"), challenge: Self.challenge))
    #expect(session.matchCode?.utf8.count == 2)
  }

  private func without(_ context: SignInContext) -> StartRequest {
    var context = context
    context.isWithoutCode = true
    return StartRequest(context: context, challenge: Self.challenge)
  }

  private let locker = SignInContext(host: "desk", service: "swaylock", user: "alice")

  @Test(arguments: [MatchCodes.off, .on])
  func aProgramThatShowsNothingIsAskedForWithoutDigits(_ setting: MatchCodes) async throws {
    let (fixture, phone) = try await scene(matchCodes: setting)
    let session = try await fixture.started("alice", without(locker))
    #expect(session.matchCode == nil)
    let request = try #require(try await phone.list().first)
    #expect(!request.asksCode && request.context.isWithoutCode)
    #expect(try await phone.answer(.approve, to: request).status == 200)
    #expect(try await fixture.status(of: session).status == .active)
  }

  @Test func noRequestGoesWithoutACodeIfCodesAreRequired() async throws {
    let (fixture, phone) = try await scene(matchCodes: .required)
    #expect(try await fixture.start("alice", without(locker)) == .notStarted(reason: "CODE_REQUIRED"))
    #expect(try await phone.list() == [])
  }

  /// Strangers could begin such a request: from the network, for another user, or without a name that the phone shows.
  @Test func onlyAUserAtTheComputerIsAskedForWithoutDigits() async throws {
    let (fixture, phone) = try await scene(matchCodes: .on)
    var others = [locker, locker, locker, locker, locker]
    others[0].remoteHost = "192.0.2.1"
    others[1].askedBy = "mallory"
    others[2].service = nil
    others[3].user = nil
    others[4].host = nil
    for context in others {
      let target = "/authentication/authenticate_user/\(fixture.application.id)/alice"
      let reply = await fixture.respond(try fixture.signed("POST", target, without(context).encoded()))
      #expect(reply.status == 400 && reply.reason == "BAD_REQUEST")
    }
    #expect(try await phone.list() == [])
  }

  @Test func aCodeThatATerminalShowsIsInUse() async throws {
    let (fixture, phone) = try await scene()
    _ = try await fixture.started("alice", start("07", host: "web-1"))
    #expect(try await fixture.start("alice", start("07", host: "web-2")) == .notStarted(reason: "CODE_IN_USE"))
    #expect(try await phone.list().count == 1)
    #expect(try await fixture.started("alice", start("08", host: "web-2")).matchCode == "08")
  }

  @Test func anAnsweredOrEndedRequestsCodeRests() async throws {
    let (fixture, phone) = try await scene()
    _ = try await fixture.started("alice", start("07", host: "web-1"))
    try await phone.answer(.approve, to: try #require(try await phone.list().first), code: "07")
    let given = try await fixture.started("alice", start("08", host: "web-2"))
    _ = try await fixture.logOut(given)
    for code in ["07", "08"] {
      #expect(try await fixture.start("alice", start(code, host: "web-3")) == .notStarted(reason: "CODE_IN_USE"))
    }
    fixture.clock.advance(seconds: MatchCodesInUse.rest + 1)
    for code in ["07", "08"] {
      #expect(try await fixture.started("alice", start(code, host: "web-\(code)")).matchCode == code)
    }
  }

  @Test func anotherUsersCodeIsFree() async throws {
    let (fixture, _) = try await scene()
    _ = try await TestPhone.registered(in: fixture, user: "bob")
    _ = try await fixture.started("alice", start("07", host: "web-1"))
    #expect(try await fixture.started("bob", start("07", host: "web-1")).matchCode == "07")
  }

  /// As with codes that the service draws: strangers leave thirty codes to those at the computer itself.
  @Test func requestsOverTheNetworkLeaveCodesForTheComputerItself() async throws {
    let (fixture, _) = try await scene()
    for number in 0..<70 {
      let code = String(String(100 + number).suffix(2))
      let given = try await fixture.started("alice", start(code, host: "web-1", remote: "192.0.2.\(number)"))
      _ = try await fixture.logOut(given)
    }
    let reserved = try await fixture.start("alice", start("70", host: "web-1", remote: "198.51.100.1"))
    #expect(reserved == .notStarted(reason: "CODE_IN_USE"))
    // A code of a request that nobody answered, of another source, may be taken over the network.
    #expect(
      try await fixture.started("alice", start("33", host: "web-1", remote: "198.51.100.1")).matchCode == "33")
    #expect(try await fixture.started("alice", start("71", host: "web-1")).matchCode == "71")
  }

  /// Drawing again would not help.
  @Test func ifNoCodeIsLeftTheComputerWaits() async throws {
    let (fixture, _) = try await scene()
    for number in 100..<200 {
      let given = try await fixture.started("alice", start(String(String(number).suffix(2)), host: "web-1"))
      _ = try await fixture.logOut(given)
    }
    #expect(try await fixture.start("alice", start("07", host: "web-1")) == .notStarted(reason: "TOO_MANY_REQUESTS"))
  }

  @Test func aSourceThatUsedUpItsCodesWaits() async throws {
    let (fixture, _) = try await scene()
    for number in 0..<MatchCodesInUse.greatestOfSource {
      let code = String(String(100 + number).suffix(2))
      let given = try await fixture.started("alice", start(code, host: "web-1", remote: "192.0.2.1"))
      _ = try await fixture.logOut(given)
    }
    #expect(
      try await fixture.start("alice", start("99", host: "web-1", remote: "192.0.2.1"))
        == .notStarted(reason: "TOO_MANY_REQUESTS"))
  }
}
