import CHost
import ForkedChild
import Foundation
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import WorkerLink

extension WorkerTests {
  /// Workers that wait for root's logins, and what a login does if none of them works.
  @Suite(.enabled(if: geteuid() == 0)) struct Standbys {
    @Test func giveALoginAWorkerOfItsOwn() throws {
      let standby = try Standby()
      let (first, second) = (standby.transport(), standby.transport())
      for transport in [first, second, first] {
        #expect(try get(transport, services.url("good") + "/fault/echo").status == 200)
      }

      #expect(standby.ownWorkers().isEmpty)
      #expect(standby.workers().count == 2)
      let status = processStatus(try #require(standby.workers().first))
      #expect(status["NoNewPrivs"] == "1" && status["CapEff"] == "0000000000000000")
      #expect(status["SigBlk"] == "0000000000000000" && status["Uid"] == "65534\t65534\t65534\t65534")
      first.stop()
      #expect(standby.comesToHave(1))
      second.stop()
      #expect(standby.comesToHave(0) && standby.isThere)
    }

    @Test func useOneConnectionForALogin() throws {
      let standby = try Standby()
      let transport = standby.transport()
      try transport.prepare()
      for round in 1...3 {
        let reply = try get(transport, services.url("good") + "/fault/echo")
        #expect(try JSONDecoder().decode(Recorded.self, from: Data(reply.body)).numberOnConnection == round)
      }
    }

    /// A child that the host forked in the meantime also has the descriptor.
    @Test func loseTheirWorkerWithTheLoginWhateverWasForked() throws {
      let standby = try Standby()
      let transport = standby.transport()
      _ = try get(transport, services.url("good") + "/fault/ok")
      let child = iampass_fork()
      if child == 0 {
        pause()
        _exit(0)
      }
      defer {
        kill(child, SIGKILL)
        ended(child)
      }
      transport.stop()
      #expect(standby.comesToHave(0))
    }

    @Test func replaceAWorkerThatDied() throws {
      let standby = try Standby()
      let transport = standby.transport()
      _ = try get(transport, services.url("good") + "/fault/ok")
      kill(try #require(standby.workers().first), SIGKILL)
      #expect(standby.comesToHave(0))
      #expect(try get(transport, services.url("good") + "/fault/ok").status == 200)
      #expect(standby.isThere && standby.workers().count == 1 && standby.ownWorkers().isEmpty)
    }

    /// Later workers have another layout in memory: an attacker who guesses addresses has one attempt.
    @Test func endWhereAWorkerCrashes() throws {
      let standby = try Standby()
      let (transport, other) = (standby.transport(), standby.transport())
      for each in [transport, other] { _ = try get(each, services.url("good") + "/fault/ok") }
      kill(try #require(standby.workers().first), SIGSEGV)
      #expect(standby.comesToAnEnd())
      // A login under way goes on, and the next login also has a worker.
      #expect(try get(transport, services.url("good") + "/fault/ok").status == 200)
      #expect(try get(other, services.url("good") + "/fault/ok").status == 200)
    }

    @Test func haveABoundOfLogins() throws {
      let standby = try Standby()
      let transports = (1...65).map { _ in standby.transport() }
      for transport in transports { try transport.prepare() }
      for transport in transports.reversed() {
        #expect(try get(transport, services.url("good") + "/fault/ok").status == 200)
      }
      #expect(standby.workers().count == 64 && standby.ownWorkers().count == 1)
    }

    /// Otherwise another process of that user could open its memory as it starts, and keep it open.
    @Test(arguments: [("711", "waits"), ("755", "71")])
    func startedByTheirOwnUserAreClosedToIt(_ mode: String, _ becomes: String) throws {
      let program = StandbyProgram.path + "-" + mode
      try? FileManager.default.copyItem(atPath: StandbyProgram.path, toPath: program)
      let script = """
        import os, socket, sys, tempfile
        folder = tempfile.TemporaryDirectory()
        os.chmod(sys.argv[1], int(sys.argv[2], 8))
        s = socket.socket(socket.AF_UNIX)
        s.bind(folder.name + "/worker")
        s.listen(1)
        child = os.fork()
        if child == 0:
            os.dup2(s.fileno(), 3)
            os.set_inheritable(3, True)
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            os.execve(sys.argv[1], ["iampass-https", "nobody", "standby"], {})
        login = socket.socket(socket.AF_UNIX)
        login.connect(folder.name + "/worker")
        s.close()
        try:
            greeting = login.recv(1)
        except ConnectionResetError:
            greeting = b""
        if greeting:
            os.kill(child, 9)
        status = os.waitpid(child, 0)[1]
        print("waits" if greeting else os.waitstatus_to_exitcode(status))
        """
      let companion = try Companion(["/usr/bin/python3", "-c", script, program, mode])
      #expect(companion.rest() == becomes)
    }

    @Test func serveRootAlone() throws {
      let standby = try Standby()
      chmod(standby.folder, 0o755)
      chmod(standby.socket, 0o666)
      let program =
        "import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(len(s.recv(9)))"
      let nobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
      let stranger = try Companion(nobody + ["/usr/bin/python3", "-c", program, standby.socket])
      #expect(stranger.line() == "0")
      #expect(standby.isThere && standby.workers().isEmpty)
    }

    @Test(arguments: [SIGSTOP, SIGKILL])
    func aStandbyThatDoesNotAnswerIsNotUsed(signal: Int32) throws {
      let standby = try Standby()
      kill(standby.process, signal)
      let transport = standby.transport(patience: 250)
      try transport.prepare()
      #expect(try get(transport, services.url("good") + "/fault/ok").status == 200)
      #expect(standby.workers().isEmpty && standby.ownWorkers().count == 1)
    }

    @Test func aStandbyOfAnOlderProgramIsNotUsed() throws {
      let program = "/tmp/iampass-worker-test-\(UInt64.random(in: 0...UInt64.max))"
      try FileManager.default.copyItem(atPath: workerPath, toPath: program)
      defer { unlink(program) }
      let standby = try Standby(program: program)
      let earlier = standby.transport()
      #expect(try get(earlier, services.url("good") + "/fault/ok").status == 200)
      #expect(standby.workers().count == 1)
      earlier.stop()
      // As an update does it.
      try FileManager.default.copyItem(atPath: workerPath, toPath: program + ".new")
      rename(program + ".new", program)
      let updated = standby.transport()
      #expect(try get(updated, services.url("good") + "/fault/ok").status == 200)
      #expect(standby.comesToAnEnd())
    }

    /// As an update of libcurl or OpenSSL does it.
    @Test func aStandbyWithAnOlderLibraryIsNotUsed() throws {
      let folder = "/tmp/iampass-library-test-\(UInt64.random(in: 0...UInt64.max))"
      mkdir(folder, 0o755)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let library = folder + "/libnghttp2.so.14"
      let installed = URL(fileURLWithPath: "/usr/lib/x86_64-linux-gnu/libnghttp2.so.14").resolvingSymlinksInPath().path
      try FileManager.default.copyItem(atPath: installed, toPath: library)
      let standby = try Standby(libraries: folder)
      #expect(try get(standby.transport(), services.url("good") + "/fault/ok").status == 200)
      #expect(standby.isThere)
      try FileManager.default.copyItem(atPath: installed, toPath: library + ".new")
      rename(library + ".new", library)
      let updated = standby.transport()
      #expect(try get(updated, services.url("good") + "/fault/ok").status == 200)
      #expect(standby.ownWorkers().count == 1 && standby.comesToAnEnd())
    }

    @Test func aStandbyAtAnUnsafeSocketIsNotUsed() throws {
      let standby = try Standby()
      let link = standby.folder + "/link"
      symlink(standby.socket, link)
      let isLeft = { (path: String) in
        let transport = standby.transport(at: path)
        let reply = try get(transport, services.url("good") + "/fault/ok")
        return reply.status == 200 && standby.workers().isEmpty && standby.ownWorkers().count == 1
      }
      #expect(try isLeft(link))
      #expect(try isLeft(standby.folder))
      #expect(try isLeft("worker"))
      #expect(try isLeft(standby.folder + "/" + String(repeating: "a", count: 120)))
      for (path, mode) in [(standby.socket, 0o602), (standby.folder, 0o777)] as [(String, mode_t)] {
        chmod(path, mode)
        #expect(try isLeft(standby.socket))
        chmod(path, 0o700)
      }
      chown(standby.socket, 65534, 65534)
      #expect(try isLeft(standby.socket))
      chown(standby.socket, 0, 0)
      let transport = standby.transport()
      #expect(try get(transport, services.url("good") + "/fault/ok").status == 200)
      #expect(standby.workers().count == 1)
    }

    /// The listener is not root, whoever owns the file.
    @Test func aStandbyOfAnotherUserIsNotUsed() throws {
      let impostor = try Impostor("right", user: 65534)
      #expect(try get(impostor.transport(), services.url("good") + "/fault/ok").status == 200)
      #expect(impostor.heard() == "")
    }

    @Test(
      arguments: [
        "other program", "other network", "other user", "before the login", "after now", "a reply", "no frame",
        "silence",
      ])
    func aStandbyThatGreetsWronglyGetsNoRequest(greeting: String) throws {
      let impostor = try Impostor(greeting)
      let transport = impostor.transport(patience: greeting == "silence" ? 250 : 20_000)
      #expect(try get(transport, services.url("good") + "/fault/ok?canary").status == 200)
      transport.stop()
      let heard = impostor.heard()
      #expect(heard.contains(services.url("good")) && !heard.contains("canary"))
    }

    /// This shows that the tests above would notice a request.
    @Test func thatSayTheRightThingHearTheRequest() throws {
      let impostor = try Impostor("right")
      #expect(
        failure { () throws(TransportError) in
          try get(impostor.transport(), services.url("good") + "/fault/ok?canary", milliseconds: 8_000)
        } == .workerDied)
      #expect(impostor.heard().contains("canary"))
    }
  }
}

private let services = HostileServices.shared
