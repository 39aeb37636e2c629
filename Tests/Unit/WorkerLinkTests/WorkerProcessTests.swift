import Foundation
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import WorkerLink

extension WorkerTests {
  /// A host must not notice that it starts a worker.
  @Suite struct Processes {
    @Test func haveNoPrivileges() throws {
      let transport = services.transport()
      _ = try get(transport, services.url("good") + "/fault/ok")
      let worker = try #require(workers().first)
      let status = processStatus(worker)

      #expect(status["NoNewPrivs"] == "1")
      #expect(status["CapEff"] == "0000000000000000" && status["CapPrm"] == "0000000000000000")
      #expect(status["SigBlk"] == "0000000000000000")
      #expect(getsid(worker) == worker)
      if geteuid() == 0 {
        #expect(status["Uid"] == "65534\t65534\t65534\t65534" && status["Groups"] == "")
        // Root owns this file only if the process's own user cannot inspect it.
        #expect(try FileManager.default.attributesOfItem(atPath: "/proc/\(worker)/fd")[.ownerAccountID] as? Int == 0)
      }
      #expect(FileManager.default.contents(atPath: "/proc/\(worker)/environ") == Data())
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(worker)/cwd") == "/")
      let limits = try String(contentsOfFile: "/proc/\(worker)/limits", encoding: .utf8)
      #expect(limits.contains(/Max core file size +0 +0/))
    }

    @Test func startAheadAndLeaveNothing() throws {
      let rounds = 20
      let before = openDescriptors()
      for _ in 1...rounds {
        let transport = services.transport()
        try transport.prepare()
        #expect(workers().count == 1)
        _ = try get(transport, services.url("good") + "/fault/ok")
        transport.stop()
        transport.stop()
        #expect(workers().isEmpty)
      }
      #expect(areFewerLeft(than: rounds, since: before))
    }

    @Test func leaveWithTheTransport() throws {
      do {
        let transport = services.transport()
        try transport.prepare()
        _ = transport
      }
      #expect(workers().isEmpty)
    }

    @Test func areReplacedWhenTheirLifeIsOver() throws {
      let transport = WorkerTransport(settings: services.settings(lifetime: 8))
      _ = try get(transport, services.url("good") + "/fault/ok")
      let first = try #require(workers().first)
      for _ in 0..<1_500 where workers().contains(first) { usleep(20_000) }
      #expect(try get(transport, services.url("good") + "/fault/ok").status == 200)
      #expect(workers().count == 1 && workers().first != first)
    }

    @Test(arguments: [SIGKILL, SIGSTOP, SIGSEGV])
    func thatDieReportNothingOfTheNetwork(signal: Int32) throws {
      let transport = services.transport()
      _ = try get(transport, services.url("good") + "/fault/ok")
      let worker = try #require(workers().first)
      kill(worker, signal)
      // A worker that is seen dead is replaced. A stopped worker looks alive.
      let code = failure { () throws(TransportError) in
        try get(transport, services.url("good") + "/fault/silent", milliseconds: 3_000)
      }
      #expect(code == (signal == SIGSTOP ? .workerDied : .silent) || code == .workerDied)
      #expect(try get(transport, services.url("good") + "/fault/ok").status == 200)
      #expect(!workers().contains(worker))
    }

    @Test func thatDieInTheMiddleAreNoticedAtOnce() throws {
      let transport = services.transport()
      try transport.prepare()
      let worker = try #require(workers().first)
      let path = "/fault/silent?\(UInt64.random(in: 0...UInt64.max))"
      Thread.detachNewThread {
        // Before the request is under way, a dead worker would only be replaced.
        for _ in 0..<200 {
          if (try? Recorded.requests(of: "good", path: path))?.isEmpty == false { break }
          usleep(50_000)
        }
        kill(worker, SIGKILL)
      }
      let began = MonotonicInstant.now()
      #expect(
        failure { () throws(TransportError) in
          try get(transport, services.url("good") + path, milliseconds: 40_000)
        } == .workerDied)
      #expect(MonotonicInstant.now().milliseconds(since: began) < 20_000)
    }

    @Test(
      arguments: [
        ("exit 0", .workerDied), ("printf '\\000\\000\\000\\002garbage' >&3; sleep 5", .workerDied),
        ("printf '\\377\\377\\377\\377' >&3; sleep 5", .workerDied), ("sleep 5", .workerDied),
      ] as [(String, TransportError.Code)])
    func thatAreSomethingElseAreNotBelieved(script: String, code: TransportError.Code) throws {
      let path = try Self.file("#!/bin/sh\n\(script)\n", mode: 0o755)
      defer { unlink(path) }
      let transport = WorkerTransport(settings: services.settings(worker: path))
      #expect(
        failure { () throws(TransportError) in
          try get(transport, services.url("good") + "/fault/ok", milliseconds: 400)
        } == code)
      #expect(workers().isEmpty)
    }

    @Test func startFromSafeFilesOnly() throws {
      let writable = try Self.file("#!/bin/sh\n", mode: 0o757)
      let link = writable + ".link"
      symlink(workerPath, link)
      let text = try Self.file("no program", mode: 0o755)
      defer { for path in [writable, link, text] { unlink(path) } }
      let paths = [writable, link, text, "/tmp", "/nowhere/iampass-https", "iampass-https"]
      let before = openDescriptors()
      for path in paths + paths + paths {
        let transport = WorkerTransport(settings: services.settings(worker: path))
        #expect(failure { () throws(TransportError) in try get(transport, services.url("good")) } == .workerFailed)
      }
      #expect(areFewerLeft(than: 3 * paths.count, since: before))
    }

    @Test(.enabled(if: geteuid() == 0)) func neverRunAsRoot() throws {
      let settings = services.settings()
      for user in [nil, "root", "-", "no-such-user", ""] {
        let transport = WorkerTransport(
          settings: WorkerSettings(server: settings.server, worker: settings.worker, workerUser: user))
        let code = failure { () throws(TransportError) in try get(transport, services.url("good")) }
        #expect(code == .workerFailed || code == .workerDied)
      }
    }

    /// Makes a program in the temporary folder, and returns its path.
    static func file(_ text: String, mode: mode_t) throws -> String {
      let path = "/tmp/iampass-worker-test-\(UInt64.random(in: 0...UInt64.max))"
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      chmod(path, mode)
      return path
    }
  }
}

private let services = HostileServices.shared
