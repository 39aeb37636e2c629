import CommandSupport
import Glibc

/// The packaged service as systemd runs it.
struct ServiceUnit {
  private static let systemctl = "/usr/bin/systemctl"
  /// Seconds, for each of systemd's answers.
  private static let patience: Int64 = 30
  /// Milliseconds until a started service listens: a large database is read first.
  private static let startTime = 20_000

  let name: String

  /// Whether systemd runs this computer. It does not while an image is built.
  static var isThere: Bool { access("/run/systemd/system", F_OK) == 0 && Program.exists(systemctl) }

  var isActive: Bool { said("is-active", "--quiet", name) }

  /// Whether an administrator's unit gives the service a PostgreSQL database.
  var hasOtherDatabase: Bool {
    let words = [Self.systemctl, "show", "--property=ExecStart", "--value", name]
    return Program.run(words, seconds: Self.patience)?.output.contains("--database") ?? false
  }

  /// Has the running service take renewed files; connections go on.
  ///
  /// - Returns: false if it does not run.
  func reload() throws(CommandProblem) -> Bool {
    guard isActive else { return false }
    guard said("reload", name) else { throw .unitFails("reload", name) }
    return true
  }

  /// Starts the service with its settings of now, and waits until it listens.
  func restart(listeningOn address: ListenAddress) throws(CommandProblem) {
    guard said("restart", name) else { throw .unitFails("restart", name) }
    for _ in 0..<(Self.startTime / 100) {
      if ListenProbe.answers(address) { return }
      usleep(100_000)
    }
    throw .unitDoesNotListen(name, address.text)
  }

  private func said(_ words: String...) -> Bool {
    Program.run([Self.systemctl] + words, seconds: Self.patience)?.status == 0
  }
}

/// A place to listen on, tried out.
enum ListenProbe {
  /// Why nobody can listen there now, as an errno; nil if somebody could.
  static func obstacle(_ address: ListenAddress) -> Int32? {
    with(address, flags: AI_PASSIVE) { descriptor, place in
      var yes: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
      guard bind(descriptor, place.ai_addr, place.ai_addrlen) == 0, listen(descriptor, 1) == 0 else { return errno }
      return nil
    }
  }

  /// Whether somebody listens there.
  static func answers(_ address: ListenAddress) -> Bool {
    // Connecting to the address that stands for all of this computer's leads to its loopback (ip(7)).
    with(address, flags: 0) { descriptor, place in
      connect(descriptor, place.ai_addr, place.ai_addrlen) == 0 ? nil : errno
    } == nil
  }

  /// What `work` says on a socket for the address.
  private static func with(_ address: ListenAddress, flags: Int32, _ work: (Int32, addrinfo) -> Int32?) -> Int32? {
    var wanted = addrinfo()
    wanted.ai_flags = flags | AI_NUMERICSERV
    wanted.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(address.host, "\(address.port)", &wanted, &found) == 0, let place = found?.pointee else {
      return EADDRNOTAVAIL
    }
    defer { freeaddrinfo(found) }
    let descriptor = socket(place.ai_family, place.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), place.ai_protocol)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    return work(descriptor, place)
  }
}
