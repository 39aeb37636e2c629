import Glibc
import HostSystem
import IAMPASSProtocol
import Testing

@testable import SessionHelper

/// Look-ups in a process of their own.
@Suite struct ForkedLookupTests {
  private static let bytes: [UInt8] = [1, 2, 3]

  @Test func whatIsToldIsTheAnswer() {
    let bytes = Self.bytes
    let answer = ForkedLookups(milliseconds: 60_000).answer { tell in
      tell(bytes)
      tell(bytes)
    }
    #expect(answer == LookupAnswer(bytes: [1, 2, 3, 1, 2, 3], isWhole: true))
  }

  @Test func aLookUpThatNeverReturnsEndsWithItsTime() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    defer { close(ends[0]) }
    let lookups = ForkedLookups(milliseconds: 100)
    let answer = lookups.answer { _ in
      while true { pause() }
    }
    #expect(!answer.isWhole && answer.bytes.isEmpty)
    // Its process held this end of the pipe too. It is closed once the process is gone.
    close(ends[1])
    var entry = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
    #expect(poll(&entry, 1, 60_000) == 1 && entry.revents & Int16(POLLHUP) != 0)
  }

  @Test func whatAProcessToldBeforeItDiedIsNotWhole() {
    let bytes = Self.bytes
    let answer = ForkedLookups(milliseconds: 60_000).answer { tell in
      tell(bytes)
      kill(getpid(), SIGKILL)
    }
    #expect(answer == LookupAnswer(bytes: bytes, isWhole: false))
  }

  @Test func anAnswerWithoutEndIsNotWhole() {
    let bytes = [UInt8](repeating: 1, count: 4_096)
    let answer = ForkedLookups(milliseconds: 60_000).answer { tell in
      while true { tell(bytes) }
    }
    #expect(!answer.isWhole)
  }
}

@Suite struct TokenReplyTests {
  private func token(_ bytes: [UInt8], isWhole: Bool = true) throws -> Secret? {
    try TokenReply.token(LookupAnswer(bytes: bytes, isWhole: isWhole))
  }

  @Test func aTokenAndNoneAreToldAsTheyAre() throws {
    #expect(try token(TokenReply.told { Secret("token") }) == Secret("token"))
    #expect(try token(TokenReply.told { nil }) == nil)
  }

  /// A use without a token is given up, so it must be certain.
  @Test func onlyAWholeAnswerSaysThatThereIsNone() {
    #expect(throws: LookupFailure.self) { try token(TokenReply.told { nil }, isWhole: false) }
    #expect(throws: LookupFailure.self) { try token([]) }
    #expect(throws: LookupFailure.self) { try token(TokenReply.told { Secret("") }) }
  }

  @Test func aFailureIsNotNone() {
    let error = UserLookupError.listedAndUnknown
    #expect(throws: LookupFailure(explanation: error.explanation)) { try token(TokenReply.told { throw error }) }
  }
}

@Suite struct UserQuestionTests {
  private let lookups = TestLookups()
  private let users: [UnixUsername]

  init() throws { users = try ["ann", "bob", "cid", "dan"].map { try #require(UnixUsername(validating: $0)) } }

  private func those(_ questions: inout UserQuestions, silent: Set<UnixUsername>) -> Set<UnixUsername> {
    questions.those(Set(users)) { user in
      if silent.contains(user) { lookups.hangs = true }
      return user.text != "cid"
    }
  }

  @Test func thoseForWhomItHoldsAreFoundByOneLookUp() {
    var questions = UserQuestions(lookups)
    let found = those(&questions, silent: [])
    #expect(found == [users[0], users[1], users[3]])
    #expect(lookups.count == 1)
  }

  @Test func aUserWhomTheSystemDoesNotSayIsLeftOutAlone() {
    var questions = UserQuestions(lookups)
    let found = those(&questions, silent: [users[1]])
    #expect(found == [users[0], users[3]])
    #expect(lookups.count == 2)
  }

  /// Otherwise those behind them would never be asked about.
  @Test func thoseWhoWereNotAnsweredComeLastTheNextTime() {
    var questions = UserQuestions(lookups)
    let silent: Set<UnixUsername> = [users[0], users[1]]
    let first = those(&questions, silent: silent)
    #expect(first.isEmpty)
    let second = those(&questions, silent: silent)
    #expect(second == [users[3]])
    let third = those(&questions, silent: [])
    #expect(third == [users[0], users[1], users[3]])
    #expect(lookups.count == 5)
  }
}
