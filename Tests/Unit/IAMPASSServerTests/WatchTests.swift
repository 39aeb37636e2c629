import Logging
import Synchronization
import Testing

@testable import IAMPASSServer

/// What held requests wait on.
struct WatchTests {
  private let board = ChangeBoard()
  private let topic = ChangeBoard.Topic.session("a")

  /// Longer than any test takes, in milliseconds.
  private static let long: Int64 = 600_000

  @Test func aChangeBeforeTheWaitIsNotMissed() async {
    let watch = board.watch(topic)
    board.changed(topic)
    board.changed(topic)
    #expect(await watch.wait(milliseconds: Self.long))
    // Two changes said as much as one.
    board.stop()
    #expect(await !watch.wait(milliseconds: Self.long))
  }

  @Test func aChangeOfAnotherTopicWakesNobody() async {
    let watch = board.watch(topic)
    board.changed(.session("b"))
    watch.abandon()
    #expect(await !watch.wait(milliseconds: Self.long))
  }

  @Test(arguments: [-1, 0, 5])
  func theTimeEndsAWait(_ milliseconds: Int64) async {
    let watch = board.watch(topic)
    #expect(await watch.wake(milliseconds: milliseconds) == .time)
  }

  @Test func aChangeEndsAWait() async {
    let watch = board.watch(topic)
    async let wake = watch.wake(milliseconds: Self.long)
    board.changed(topic)
    #expect(await wake == .change)
  }

  @Test func theClientsGoingEndsAWait() async {
    let watch = board.watch(topic)
    async let isWoken = watch.wait(milliseconds: Self.long)
    watch.abandon()
    #expect(await !isWoken)
  }

  @Test func cancellingTheTaskEndsAWait() async {
    let watch = board.watch(topic)
    let task = Task { await watch.wait(milliseconds: Self.long) }
    task.cancel()
    #expect(await !task.value)
  }

  @Test func nobodyWaitsAtABoardThatStopped() async {
    board.stop()
    let watch = board.watch(topic)
    #expect(await !watch.wait(milliseconds: Self.long))
    #expect(board.heldCount == 0)
  }

  @Test func aWatchThatIsDroppedIsForgotten() {
    var watch: ChangeBoard.Watch? = board.watch(topic)
    #expect(board.heldCount == 1)
    _ = watch
    watch = nil
    #expect(board.heldCount == 0)
  }

  /// Whoever is told nothing at the last look would otherwise look for ever.
  @Test func aHeldReplyThatHasNothingToTellAtItsEndIsRefused() async {
    let watch = board.watch(topic)
    watch.abandon()
    let held = HeldReply(watch, patience: Self.long) { _ in .nothingYet(milliseconds: Self.long) }
    #expect(await held.reply().status == 503)
  }

  /// A database that hangs answers when the service has long ended.
  @Test(.timeLimit(.wholeRun), arguments: [true, false])
  func aLastLookThatHangsIsGivenUp(_ hasBegun: Bool) async {
    let (hanging, end) = AsyncStream<Never>.makeStream()
    let looks = Mutex(0)
    let held = HeldReply(board.watch(topic), patience: Self.long) { _ in
      looks.withLock { $0 += 1 }
      for await _ in hanging {}
      return .reply(.done)
    }
    board.stop()
    async let reply = held.reply()
    while hasBegun, looks.withLock(\.self) == 0 { await Task.yield() }
    board.giveUp()
    #expect(await reply.reason == Reason.stopping.rawValue)
    end.finish()
  }

  @Test(.timeLimit(.wholeRun)) func aDrainAnswersWhoIsHeldThoughTheLastLookHangs() async throws {
    let fixture = try await Fixture()
    let service = fixture.service
    let (hanging, end) = AsyncStream<Never>.makeStream()
    let held = HeldReply(service.board.watch(topic), patience: Self.long) { _ in
      for await _ in hanging {}
      return .reply(.done)
    }
    async let reply = held.reply()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    await HTTPServer(service: service, logger: logger).drain(seconds: 0.01)
    #expect(await reply.reason == Reason.stopping.rawValue)
    end.finish()
  }

  @Test func aHeldReplyIsFinishedOnce() async throws {
    let watch = board.watch(topic)
    board.changed(topic)
    watch.abandon()
    let held = HeldReply(watch, patience: Self.long) { isLast in
      isLast ? .reply(.done) : .nothingYet(milliseconds: Self.long)
    }
    let reply = await held.finished { $0.adding("X-Seen", "once") }.reply()
    #expect(reply.status == 200)
    #expect(reply.headers.filter { $0.name == "X-Seen" }.count == 1)
  }

  @Test func aHeldReplysFailureIsAReply() async {
    struct Failure: Error {}
    let held = HeldReply(board.watch(topic), patience: 0) { _ in throw Failure() }
    let reply = await held.replying { _ in .refused(.storageUnavailable) }.reply()
    #expect(reply.reason == "STORAGE_UNAVAILABLE")
  }

  /// Whoever looks again at once tells what the first look wanted to wait for.
  @Test func aHeldReplyWaitsBeforeItLooksAgain() async {
    let watch = board.watch(topic)
    let looks = Mutex(0)
    let held = HeldReply(watch, patience: Self.long) { _ in
      looks.withLock { $0 += 1 }
      return .reply(.done)
    }
    async let reply = held.reply()
    for _ in 0..<200 where looks.withLock(\.self) == 0 { await Task.yield() }
    #expect(looks.withLock(\.self) == 0)
    board.changed(topic)
    #expect(await reply.status == 200)
    #expect(looks.withLock(\.self) == 1)
  }
}
