import CHost
import Foundation
import IAMPASSProtocol
import Testing

@testable import HostSystem
@testable import WorkerLink

/// The worker's program in a place that its user can read, as the package installs it. Only root may read a build's
/// folder.
enum StandbyProgram {
  private static let folder = "/tmp/iampass-standby-program-\(UInt64.random(in: 0...UInt64.max))"

  static let path: String = {
    let copy = folder + "/iampass-https"
    mkdir(folder, 0o755)
    atexit { try? FileManager.default.removeItem(atPath: StandbyProgram.folder) }
    do { try FileManager.default.copyItem(atPath: workerPath, toPath: copy) } catch { fatalError("\(error)") }
    chmod(copy, 0o755)
    return copy
  }()
}

/// A folder with a socket, as the packaged units make it, and a listener.
class Listener {
  let folder: String
  let socket: String
  fileprivate let companion: Companion
  private let program: String

  /// Runs the Python text `actions` with `words` as arguments and the listening socket as `s`.
  init(_ actions: String, _ words: [String], program: String = StandbyProgram.path) throws {
    folder = "/tmp/iampass-standby-test-\(UInt64.random(in: 0...UInt64.max))"
    socket = folder + "/worker"
    self.program = program
    mkdir(folder, 0o700)
    let text = """
      import os, socket, struct, sys, time
      s = socket.socket(socket.AF_UNIX)
      s.bind(sys.argv[1])
      os.chmod(sys.argv[1], 0o600)
      \(actions)
      """
    companion = try Companion(["/usr/bin/python3", "-c", text, socket] + words)
    guard companion.line() == "ready" else { throw TransportError(.workerFailed, detail: "no listener") }
  }

  deinit {
    companion.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// - Parameter patience: milliseconds for the listener's greeting; only a slow machine needs more.
  func transport(at path: String? = nil, patience: Int64 = 20_000) -> WorkerTransport {
    let usual = HostileServices.shared.settings()
    var settings = WorkerSettings(
      server: usual.server, caCertificates: usual.caCertificates, worker: program, workerUser: usual.workerUser,
      standby: path ?? socket)
    settings.greetingTime = patience
    return WorkerTransport(settings: settings)
  }
}

/// The worker's program, waiting for logins.
final class Standby: Listener {
  init(program: String = StandbyProgram.path, libraries: String = "") throws {
    try super.init(
      """
      s.listen(128)
      os.dup2(s.fileno(), 3)
      os.set_inheritable(3, True)
      print("ready", flush=True)
      os.execve(sys.argv[2], ["iampass-https", "nobody", "standby"], {"LD_LIBRARY_PATH": sys.argv[3]})
      """, [program, libraries], program: program)
    // Loading must not use up a login's time.
    let login = iampass_connect(socket)
    var greeting = pollfd(fd: login, events: Int16(POLLIN), revents: 0)
    try #require(login >= 0 && poll(&greeting, 1, 20_000) == 1)
    close(login)
    try #require(comesToHave(0))
  }

  var process: pid_t { companion.process }
  /// A process that ended and was not waited for has no program.
  var isThere: Bool { FileIdentity(following: "/proc/\(process)/exe") != nil }

  /// Workers that this process started itself.
  func ownWorkers() -> [pid_t] { WorkerLinkTests.workers().filter { $0 != process } }

  func workers() -> [pid_t] {
    let list = try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)
    return (list ?? "").split(separator: " ").compactMap { pid_t($0) }
  }

  func comesToHave(_ count: Int) -> Bool { comes { workers().count == count } }
  func comesToAnEnd() -> Bool { comes { !isThere } }

  private func comes(_ check: () -> Bool) -> Bool {
    let end = MonotonicInstant.now().advanced(milliseconds: 30_000)
    while !check() {
      guard MonotonicInstant.now() < end else { return false }
      usleep(10_000)
    }
    return true
  }
}

/// Another listener, which sends a greeting and keeps what it receives.
final class Impostor: Listener {
  init(_ greeting: String, user: uid_t = 0) throws {
    let place = try #require(WorkerPlace(running: try WorkerFile.open(StandbyProgram.path).identity, user: "nobody"))
    try super.init(
      """
      greeting, user, device, inode, network = sys.argv[2], *map(int, sys.argv[3:])
      name = b"daemon" if greeting == "other user" else b"nobody"
      os.setresuid(user, user, user)
      s.listen(1)
      print("ready", flush=True)
      s = s.accept()[0]
      device += greeting == "other program"
      network += greeting == "other network"
      now = time.monotonic_ns() + {"before the login": -10**9, "after now": 60 * 10**9}.get(greeting, 0)
      told = {"a reply": struct.pack(">BIHBHI", 4, 1, 200, 1, 0, 0), "no frame": b"garbage", "silence": b""}
      told = told.get(greeting, struct.pack(">BQQQI6sq", 6, device, inode, network, 6, name, now))
      s.sendall(struct.pack(">I", len(told)) + told if told else b"")
      while said := s.recv(1 << 20):
          print(said, flush=True)
      """,
      [greeting] + [UInt64(user), place.program.device, place.program.inode, place.network].map { String($0) })
  }

  /// Everything it received. The transport must be gone.
  func heard() -> String { companion.rest() }
}
