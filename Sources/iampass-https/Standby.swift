import CCurl
import CHost
import Glibc
import IAMPASSClient

/// Waits for logins with everything loaded, which is most of what a worker costs, and forks a worker for each.
///
/// What forked workers share with each other is the layout of their memory. When one crashes, none is forked any more:
/// systemd starts another program for the next login, laid out anew.
enum Standby {
  /// Logins at one time; each more starts a worker of its own.
  private static let mostWorkers = 64
  /// No descriptor, process or memory for another worker: the login starts its own meanwhile. Microseconds.
  private static let pause: UInt32 = 50_000

  /// - Parameters:
  ///   - user: the name of the user that this process has become.
  ///   - speaking: what a worker is confined by before it hears anything.
  /// - Returns: in each worker, its login's socket. The process that waits ends by a signal, with
  ///   ``Confinement/Failure/workerCrashed``, or in peace once a file that it has loaded was replaced.
  static func awaitLogin(
    at listening: Int32, as user: String, confining speaking: SystemCallFilter
  ) throws(Confinement.Failure) -> Int32 {
    guard let place = WorkerPlace.own(user: user) else { throw .notConfined }
    guard Service.loadLibraries() else { throw .noNetworkLibrary }
    iampass_tls_warm_up()
    let files = LoadedFiles()
    let children = try ForkedWorkers()
    while true {
      var entries = [listening, children.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      poll(&entries, 2, children.milliseconds)
      try children.bury()
      guard entries[0].revents & Int16(POLLIN) != 0 else { continue }
      let login = iampass_accept(listening)
      guard login >= 0 else {
        if errno != EAGAIN, errno != ECONNABORTED, errno != EINTR { usleep(pause) }
        continue
      }
      // An update of a library must reach the next login, which starts its own worker; the one after has a new program.
      if !files.areStill { _exit(0) }
      // The socket's mode says the same.
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
    // A socket that was made a moment ago has room for it. A login that has left shows at the first look.
    greeting.withUnsafeBytes { _ = send(login, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }
}

/// The program and libraries as they were when they were loaded.
private struct LoadedFiles {
  private let found: [String: FileIdentity?]

  /// A file that was replaced between its loading and this look is called "PATH (deleted)" there, and is not found.
  init() {
    var paths: Set<String> = []
    if let maps = fopen("/proc/self/maps", "re") {
      defer { fclose(maps) }
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_400) { line in
        // SAFETY: fgets ends what it writes with a zero, within the buffer.
        while fgets(line.baseAddress!, Int32(line.count), maps) != nil {
          guard let path = strchr(line.baseAddress!, Int32(UInt8(ascii: "/"))) else { continue }
          path[strcspn(path, "\n")] = 0
          paths.insert(String(cString: path))
        }
      }
    }
    found = Dictionary(uniqueKeysWithValues: paths.map { ($0, FileIdentity(following: $0)) })
  }

  /// Of what was not found, or without a list, nothing is known to have stayed.
  var areStill: Bool {
    !found.isEmpty && found.allSatisfy { $0.value != nil && FileIdentity(following: $0.key) == $0.value }
  }
}
