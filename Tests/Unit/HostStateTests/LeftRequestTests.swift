import Glibc
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem

/// Requests that lockers have stopped waiting for.
@Suite struct LeftRequestTests {
  private typealias Owner = LeftRequest.Owner

  private let folder: TemporaryFolder
  private let requests: LeftRequests
  private let mark = "what is asked"
  private let owner = Owner(uid: 1_000, service: "swaylock", process: ProcessIdentity(pid: 42, startTime: 7))

  init() throws {
    folder = try TemporaryFolder()
    requests = LeftRequests(run: RunFolder(path: folder.path + "/run"))
  }

  private func request(challenge: ApprovalChallenge? = ApprovalChallenge(Array(0..<32))) throws -> LeftRequest {
    let settings = ServiceSettings(
      server: try ServerURL("https://iam.example"), scheme: .documented, dialect: .iampass, signedReplies: false)
    let remote = try RemoteSession(
      statusURL: "/s/1", logoutURL: "/l/1", token: Secret("t"), secret: Secret("yNGfB51YbmwxAscRuzOl8G5U"),
      name: "session-1", settings: settings)
    let origin = OpenSession.Origin(machine: "m", boot: "b", start: 1)
    return LeftRequest(
      owner: owner, mark: mark, began: 100, session: OpenSession(remote, id: owner.id, origin: origin, end: 1),
      name: "session-1", challenge: challenge)
  }

  @Test(arguments: [nil, ApprovalChallenge(Array(0..<32))])
  func whatIsLeftIsTakenAsItWas(_ challenge: ApprovalChallenge?) throws {
    let left = try request(challenge: challenge)
    try requests.leave(left)
    #expect(try requests.take(for: owner) == left)
  }

  @Test func itIsTakenOnce() throws {
    try requests.leave(try request())
    #expect(try requests.take(for: owner) != nil)
    #expect(try requests.take(for: owner) == nil)
  }

  @Test func nothingIsLeftAtFirst() throws { #expect(try requests.take(for: owner) == nil) }

  @Test func anotherUserOrServiceHasItsOwn() throws {
    try requests.leave(try request())
    #expect(try requests.take(for: Owner(uid: 1_001, service: owner.service, process: owner.process)) == nil)
    #expect(try requests.take(for: Owner(uid: owner.uid, service: "i3lock", process: owner.process)) == nil)
    #expect(try requests.take(for: owner) != nil)
  }

  /// The same locker, started again, has another start time, whatever its number.
  @Test func nobodyButItsOwnerTakesItUp() throws {
    let left = try request()
    #expect(left.isOpen(to: owner, mark: mark, now: 130))
    let others = [
      Owner(uid: 1_001, service: "swaylock", process: owner.process),
      Owner(uid: 1_000, service: "i3lock", process: owner.process),
      Owner(uid: 1_000, service: "swaylock", process: ProcessIdentity(pid: 42, startTime: 8)),
      Owner(uid: 1_000, service: "swaylock", process: ProcessIdentity(pid: 43, startTime: 7)),
    ]
    for other in others { #expect(!left.isOpen(to: other, mark: mark, now: 130)) }
  }

  /// The administrator may give the user another name or another phone meanwhile.
  @Test func nothingElseIsAnsweredByIt() throws {
    #expect(try !request().isOpen(to: owner, mark: "something else", now: 130))
  }

  @Test func itIsTakenUpForAShortTimeOnly() throws {
    let left = try request()
    #expect(left.isOpen(to: owner, mark: mark, now: 100 + LeftRequest.greatestAge))
    #expect(!left.isOpen(to: owner, mark: mark, now: 101 + LeftRequest.greatestAge))
    #expect(!left.isOpen(to: owner, mark: mark, now: 99))
  }

  @Test(arguments: ["", "{}", "nonsense", #"{"version":2}"#])
  func aDamagedFileIsNotTakenUpAndGoes(_ text: String) throws {
    try requests.leave(try request())
    try folder.write("run/left/" + owner.id, text)
    #expect(throws: LedgerError.self) { try requests.take(for: owner) }
    #expect(try requests.take(for: owner) == nil)
  }

  @Test func aFileThatOthersCanReadIsNotTakenUp() throws {
    try requests.leave(try request())
    chmod(folder.path + "/run/left/" + owner.id, 0o644)
    #expect(throws: LedgerError.self) { try requests.take(for: owner) }
  }

  @Test func theWaitAtALockerIsShortUnlessItIsSet() throws {
    #expect(Configuration().unlockTimeout == 8)
    #expect(try Configuration(parsing: Array("unlock_timeout = 20s".utf8)).unlockTimeout == 20)
    for text in ["2s", "91s", "0", "-1", "soon"] {
      #expect(throws: ConfigurationError.self) { try Configuration(parsing: Array("unlock_timeout = \(text)".utf8)) }
    }
  }
}
