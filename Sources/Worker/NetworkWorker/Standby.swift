import CCurl
import CHost
import Glibc
import WorkerLink

/// Waits for logins with everything loaded, which is most of a worker's cost, and forks a worker for each.
///
/// Forked workers share the layout of their memory. After one crashes, this process forks no more. For the next login
/// systemd starts a new program with another layout.
enum Standby {
  /// The greatest number of logins at one time. Each further login starts its own worker.
  private static let mostWorkers = 64
  /// In microseconds, after a descriptor, process or memory was missing for a worker. Meanwhile logins start their own.
  private static let pause: UInt32 = 50_000

  /// - Parameters:
  /// - user: the name of the user to which this process has changed.
  /// - speaking: confines a worker before it reads anything.
  /// - Returns: in each worker, its login's socket. The waiting process ends by a signal, with
  ///   ``Confinement/Failure/workerCrashed``, or normally after one of its loaded files was replaced.
  static func awaitLogin(
    at listening: Int32, as user: String, confining speaking: SystemCallFilter
  ) throws(Confinement.Failure) -> Int32 {
    guard let place = WorkerPlace.own(user: user) else { throw .notConfined }
    guard Service.loadLibraries() else { throw .noNetworkLibrary }
    iampass_tls_warm_up()
    Service.rehearse()
    let files = LoadedFiles()
    let children = try ForkedWorkers()
    while true {
      var entries = [listening, children.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      poll(&entries, 2, children.milliseconds)
      try children.reap()
      guard entries[0].revents & Int16(POLLIN) != 0 else { continue }
      let login = iampass_accept(listening)
      guard login >= 0 else {
        if errno != EAGAIN, errno != ECONNABORTED, errno != EINTR { usleep(pause) }
        continue
      }
      // A library's update must reach the next login, which starts its own worker. The login after that has a new
      // program.
      if !files.areStill { _exit(0) }
      // The socket's mode requires the same.
      guard iampass_peer(login).uid == 0, children.count < mostWorkers, try children.fork() else {
        close(login)
        continue
      }
      close(listening)
      try speaking.enter()
      greet(login, from: place)
      return login
    }
  }

  private static func greet(_ login: Int32, from place: WorkerPlace) {
    let greeting = WorkerFrame.greeting(WorkerGreeting(place: place, now: .now())).encoded()
    // A new socket has room for this. If the login has left, the worker notices at its first read.
    greeting.withUnsafeBytes { _ = send(login, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }
}

/// The program and the libraries as they were when they were loaded.
private struct LoadedFiles {
  private let found: [String: FileIdentity?]

  /// If a file was replaced between its loading and this look, its name here is "PATH (deleted)", and it is not found.
  init() {
    var paths: Set<String> = []
    if let maps = fopen("/proc/self/maps", "re") {
      defer { fclose(maps) }
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_400) { line in
        // SAFETY: fgets ends its text with a zero, within the buffer.
        while fgets(line.baseAddress!, Int32(line.count), maps) != nil {
          guard let path = strchr(line.baseAddress!, Int32(UInt8(ascii: "/"))) else { continue }
          path[strcspn(path, "\n")] = 0
          paths.insert(String(cString: path))
        }
      }
    }
    found = Dictionary(uniqueKeysWithValues: paths.map { ($0, FileIdentity(following: $0)) })
  }

  /// Whether the file is unchanged. A file that was not found, or a missing list, does not count as unchanged.
  var areStill: Bool {
    !found.isEmpty && found.allSatisfy { $0.value != nil && FileIdentity(following: $0.key) == $0.value }
  }
}
