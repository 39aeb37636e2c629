import CHost
import ForkedChild
import Foundation
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import WorkerLink

extension WorkerTests {
  /// Hosts interrupt, ignore signals, close descriptors and carry hostile environments.
  @Suite struct Hosts {
    final class Switch: Interruption {
      var descriptor: Int32 = -1
      var isOn = false
      func isPending() -> Bool { isOn }
    }

    @Test(arguments: [true, false]) func stopWaitingWhenInterrupted(byDescriptor: Bool) throws {
      var ends: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0)
      defer { for end in ends { close(end) } }
      let interruption = Switch()
      let transport = WorkerTransport(settings: services.settings(), interruption: interruption)
      try transport.prepare()
      if byDescriptor {
        interruption.descriptor = ends[0]
        write(ends[1], "x", 1)
      } else {
        interruption.isOn = true
      }

      // The service answers nothing. Whoever went on waiting would be told of its silence.
      let began = MonotonicInstant.now()
      #expect(
        failure { () throws(TransportError) in
          try get(transport, services.url("good") + "/fault/silent", milliseconds: 40_000)
        } == .interrupted)
      #expect(MonotonicInstant.now().milliseconds(since: began) < 20_000)
      // The worker receives the cancellation and answers it.
      transport.ignoreInterruption()
      #expect(try get(transport, services.url("good") + "/fault/whole").body == Array("whole".utf8))
    }

    @Test func getAReplyWithinTheGraceOfAnInterruption() throws {
      let interruption = Switch()
      interruption.isOn = true
      let transport = WorkerTransport(settings: services.settings(), interruption: interruption)
      transport.grace = 20_000
      #expect(try get(transport, services.url("good") + "/fault/whole").body == Array("whole".utf8))
    }

    @Test func areInterruptedOnceTheGraceIsOver() throws {
      let interruption = Switch()
      interruption.isOn = true
      let transport = WorkerTransport(settings: services.settings(), interruption: interruption)
      transport.grace = 100
      let url = services.url("good") + "/fault/silent"
      #expect(failure { () throws(TransportError) in try get(transport, url, milliseconds: 40_000) } == .interrupted)
      transport.ignoreInterruption()
      #expect(try get(transport, services.url("good") + "/fault/whole").body == Array("whole".utf8))
    }

    @Test func getNoReplyOfAnEarlierRequest() throws {
      let transport = services.transport()
      #expect(
        failure { () throws(TransportError) in
          try get(transport, services.url("good") + "/fault/slow", milliseconds: 2_000)
        } == .silent)
      // Waits for the reply.
      usleep(1_500_000)
      #expect(try get(transport, services.url("good") + "/fault/whole").body == Array("whole".utf8))
    }

    /// sudo and login clean up in children of the process that signed in.
    @Test func leaveTheWorkerOfTheirParentAlone() throws {
      let transport = services.transport()
      let url = services.url("good") + "/fault/echo"
      _ = try get(transport, url)
      let child = iampass_fork()
      if child == 0 {
        let refusal = failure { () throws(TransportError) in try get(transport, services.url("good") + "/fault/whole") }
        transport.stop()
        _exit(refusal == .workerFailed ? 0 : 1)
      }
      #expect(ended(child) == 0)
      let reply = try get(transport, url)
      #expect(try JSONDecoder().decode(Recorded.self, from: Data(reply.body)).numberOnConnection == 2)
    }

    @Test func leaveThingsAloneWhenNoTimeIsLeft() throws {
      let transport = services.transport()
      let code = failure { () throws(TransportError) in
        try get(transport, services.url("good") + "/fault/ok", milliseconds: 0)
      }
      #expect(code == .silent && workers().isEmpty)
    }

    /// Runs in a child, since these belong to a whole process. The exit status is the result.
    @Test func mayIgnoreChildrenAndCloseDescriptors() throws {
      let settings = services.settings()
      let url = services.url("good") + "/fault/ok"
      let child = iampass_fork()
      if child == 0 {
        signal(SIGCHLD, SIG_IGN)
        for descriptor in Int32(0)...2 { close(descriptor) }
        func areFree() -> Bool { (Int32(0)...2).allSatisfy { fcntl($0, F_GETFD) == -1 } }
        let transport = WorkerTransport(settings: settings)
        for _ in 1...3 {
          guard (try? get(transport, url))?.status == 200 else { _exit(1) }
          // The host may open these while the worker runs.
          guard areFree() else { _exit(3) }
          transport.stop()
        }
        // No descriptors or children are left.
        let isClean = areFree() && waitpid(-1, nil, WNOHANG) == -1
        _exit(isClean ? 0 : 2)
      }
      #expect(ended(child) == 0)
    }

    /// What these tests wait for has a bound.
    @Test func loseAChildThatHangs() {
      let child = iampass_fork()
      if child == 0 { while true { pause() } }
      #expect(ended(child, within: 1) == nil)
      #expect(kill(child, 0) == -1)
    }

    @Test func haveAnEnvironmentThatIsNotRead() throws {
      let log = "/tmp/iampass-keys-\(UInt64.random(in: 0...UInt64.max))"
      let hostile = ["SSLKEYLOGFILE": log, "https_proxy": "http://127.0.0.1:1", "SWIFT_DEBUG_HELP": "YES"]
      for (name, value) in hostile { setenv(name, value, 1) }
      defer { for name in hostile.keys { unsetenv(name) } }
      #expect(try get(services.transport(), services.url("good") + "/fault/ok").status == 200)
      #expect(!FileManager.default.fileExists(atPath: log))
    }

    @Test func namesTheProxyInTheSettingsOnly() throws {
      let own = services.settings()
      let transport = WorkerTransport(
        settings: WorkerSettings(
          server: own.server, caCertificates: own.caCertificates, proxy: "http://127.0.0.1:1", worker: own.worker,
          workerUser: own.workerUser))
      #expect(
        failure { () throws(TransportError) in
          try get(transport, services.url("good") + "/fault/ok")
        } == .connectionRefused)
    }
  }
}

private let services = HostileServices.shared
