import CHost
import Foundation
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import WorkerLink

extension WorkerTests {
  /// Many requests at once over few connections, as in the helper.
  @Suite struct Crowds {
    @Test func aWorkerWithHeldRequestsSleeps() throws {
      let crowd = Crowd("holds_300")
      crowd.ask(300, seconds: 60)
      #expect(crowd.workerRests())
      // With one more request the service answers all.
      crowd.ask(1, seconds: 60)
      #expect(crowd.outcomes(301).allSatisfy { $0 == nil })
    }

    /// The helper learns from it how many requests it may leave held.
    @Test func theWorkerSaysHowManyRequestsAConnectionCarries() throws {
      let crowd = Crowd("holds_300")
      // libcurl knows a connection's limit only after connecting.
      crowd.ask(1, seconds: 60)
      #expect(crowd.workerRests())
      crowd.ask(299, seconds: 60)
      #expect(crowd.workerRests())
      crowd.ask(1, seconds: 60)
      #expect(crowd.outcomes(301).allSatisfy { $0 == nil })
      // Four connections are enough. libcurl may make up to eight while it connects.
      let said = crowd.streams.sorted()
      #expect(said.contains { (30...76).contains($0) }, "\(said)")
    }

    @Test func requestsEndAsSilentIfNoStreamIsFree() throws {
      let crowd = Crowd("holds_8")
      // One after the other, since libcurl knows a connection's limit only after connecting.
      for _ in 1...8 {
        crowd.ask(1, seconds: 60)
        #expect(crowd.workerRests())
      }
      crowd.ask(3, milliseconds: 3_000)
      #expect(crowd.outcomes(3) == [.silent, .silent, .silent])
    }

    /// One address refuses, the other shows a certificate for another name.
    @Test(
      arguments: [("good", "127.0.0.9", .connectionRefused), ("wrong_host", "localhost", .certificateForAnotherHost)]
        as [(String, String, TransportError.Code)])
    func leaveNoSocketBehindAfterAFailure(service: String, host: String, code: TransportError.Code) throws {
      let crowd = Crowd(service, host: host)
      var sockets: [Int] = []
      for round in 1...12 {
        crowd.ask(1, seconds: 60)
        #expect(crowd.outcomes(round).last == code)
        #expect(crowd.workerRests())
        sockets.append(crowd.workersSockets())
      }
      #expect(sockets.first.map { $0 > 0 } == true && Set(sockets).count == 1, "\(sockets)")
    }

    /// If several idle connections turn out to be dead.
    @Test func areRepeatedOnce() throws {
      let crowd = Crowd("good")
      crowd.ask(5, of: "/fault/slow", seconds: 60)
      #expect(crowd.outcomes(5).allSatisfy { $0 == nil })
      let path = "/fault/reset?\(UInt64.random(in: 0...UInt64.max))"
      crowd.ask(1, of: path, seconds: 60)
      #expect(crowd.outcomes(6).last == .connectionLost)
      #expect(try Recorded.requests(of: "good", path: path).count == 2)
    }
  }
}

/// A pipeline and its worker.
private final class Crowd {
  private let pipeline: WorkerPipeline
  private let url: String
  private var taken: [TransportError.Code?] = []
  /// Each connection's load, as the replies report it.
  private(set) var streams: Set<Int> = []

  /// - Parameter host: replaces localhost in the service's address.
  init(_ service: String, host: String = "localhost") {
    pipeline = WorkerPipeline(settings: services.settings(service, host: host, lifetime: 0))
    url = services.url(service).replacingOccurrences(of: "localhost", with: host)
  }

  deinit { pipeline.stop() }

  func ask(_ count: Int, of path: String = "/", seconds: Int64 = 0, milliseconds: Int64 = 0) {
    for _ in 0..<count {
      let now = MonotonicInstant.now()
      _ = pipeline.send(
        HTTPRequest(method: .get, url: url + path, headers: []),
        deadline: now.advanced(milliseconds: seconds * 1000 + milliseconds), now: now)
    }
  }

  /// The first `count` results, each an error or nil.
  func outcomes(_ count: Int) -> [TransportError.Code?] {
    let end = MonotonicInstant.now().advanced(milliseconds: 60_000)
    while taken.count < count, MonotonicInstant.now() < end { waitForWorker(100) }
    return taken
  }

  /// Whether the worker comes to rest: asleep at every look, without using processor time.
  func workerRests() -> Bool {
    guard let worker = workers().last else { return false }
    let end = MonotonicInstant.now().advanced(milliseconds: 60_000)
    var looks: [String] = []
    while MonotonicInstant.now() < end {
      waitForWorker(20)
      guard processStatus(worker)["State"]?.hasPrefix("S") == true, let used = processorTime(of: worker) else {
        looks = []
        continue
      }
      looks.append(used)
      if looks.count >= 25, Set(looks.suffix(25)).count == 1 { return true }
    }
    return false
  }

  func workersSockets() -> Int {
    guard let worker = workers().last else { return 0 }
    let folder = "/proc/\(worker)/fd/"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return numbers.count {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0))?.hasPrefix("socket:") == true
    }
  }

  private func waitForWorker(_ milliseconds: Int32) {
    var entry = pollfd(
      fd: pipeline.descriptor, events: Int16(POLLIN | (pipeline.wantsToSend ? POLLOUT : 0)), revents: 0)
    poll(&entry, 1, milliseconds)
    for (_, outcome) in pipeline.take(now: .now()) {
      switch outcome {
      case .success(let reply):
        taken.append(nil)
        streams.insert(reply.streams)
      case .failure(let error): taken.append(error.code)
      }
    }
  }

  /// The first field of /proc/PID/schedstat, in ns.
  private func processorTime(of process: pid_t) -> String? {
    let text = try? String(contentsOfFile: "/proc/\(process)/schedstat", encoding: .utf8)
    return text?.split(separator: " ").first.map(String.init)
  }
}

private let services = HostileServices.shared
