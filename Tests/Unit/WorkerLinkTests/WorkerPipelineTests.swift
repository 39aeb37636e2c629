import HostSystem
import IAMPASSProtocol
import Testing
import WorkerLink

/// When the helper tries to start its worker again.
@Suite struct WorkerPipelineTests {
  private let pipeline: WorkerPipeline
  /// An hour after boot.
  private let start = MonotonicInstant(nanoseconds: 3_600_000_000_000)

  /// Its worker's program is missing.
  init() throws {
    let server = try ServerURL("https://iam.example")
    pipeline = WorkerPipeline(
      settings: WorkerSettings(server: server, worker: "/nowhere/iampass-https", workerUser: "nobody", lifetime: 0))
  }

  /// Whether a request at this time has a worker started, which fails.
  private func triesToStart(after milliseconds: Int64) -> Bool {
    let now = start.advanced(milliseconds: milliseconds)
    let request = HTTPRequest(method: .get, url: "https://iam.example/", headers: [])
    _ = pipeline.send(request, deadline: now.advanced(milliseconds: 1_000), now: now)
    guard case .failure(let error)? = pipeline.take(now: now).first?.1 else { return false }
    return error.code == .workerFailed && error.detail.hasPrefix("/nowhere")
  }

  @Test func aWorkerThatCannotBeStartedIsTriedAgainAfterGrowingPauses() {
    #expect(triesToStart(after: 0))
    #expect(!triesToStart(after: 249))
    #expect(triesToStart(after: 250))
    #expect(!triesToStart(after: 749))
    #expect(triesToStart(after: 750))
    #expect(!triesToStart(after: 1_749))
    #expect(triesToStart(after: 1_750))
  }

  @Test func thePausesAreAMinuteAtMost() {
    for minute in Int64(0)...20 { #expect(triesToStart(after: minute * 60_000)) }
    #expect(!triesToStart(after: 20 * 60_000 + 59_999))
  }
}
