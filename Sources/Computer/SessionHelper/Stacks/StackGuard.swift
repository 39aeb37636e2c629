import CHost
import Glibc
import HostState
import HostSystem
import PAMStacks

/// Logs for root that a PAM file has lost the line of a listed service: once for each change, and once a day. It does
/// not repair files.
///
/// Times are milliseconds after boot.
public final class StackGuard {
  /// The time between two looks at PAM's files. A line that stays this long is expected from then on.
  static let checkInterval: Int64 = 300_000
  /// The time between two log lines about the same loss.
  static let tellTime: Int64 = 86_400_000

  private let folder: String
  private let log: any HelperLog
  private var setup: Setup?
  private var nextCheck: Int64 = 0
  private var seen: [PhoneLine: Int64] = [:]
  private var warned: [String: Int64] = [:]
  private var complaint = ""

  struct Setup {
    let configuration: Configuration
    let note: PhoneLineNote
    /// The lock file of commands that may be removing lines.
    let administratorLock: String

    init(_ setup: HostSetup) {
      configuration = setup.configuration
      note = PhoneLineNote(state: setup.state)
      administratorLock = SetupPlace(configuration: setup.configurationPath).administratorLock
    }
  }

  /// - Parameter folder: PAM's folder, such as `/etc/pam.d`.
  public init(folder: String, log: any HelperLog) {
    self.folder = folder
    self.log = log
  }

  /// Reads the files at the next turn, because the listed services may have changed.
  public func adopt(_ setup: HostSetup) {
    self.setup = Setup(setup)
    checkSoon()
  }

  public func checkSoon() { nextCheck = 0 }

  /// Reads the files if it is time. While an administrator's command works, it waits for a later turn.
  public func turn(at now: Int64) {
    guard let setup, now >= nextCheck else { return }
    do throws(FileError) {
      guard let lock = try AdministratorsTurn(setup.administratorLock) else { return }
      defer { withExtendedLifetime(lock) {} }
      try look(setup, now)
      complaint = ""
    } catch {
      if complaint != error.explanation {
        log.write(LOG_WARNING, "does not notice if a PAM file loses its line: \(error.explanation)")
      }
      complaint = error.explanation
    }
    nextCheck = now + Self.checkInterval
  }

  private func look(_ setup: Setup, _ now: Int64) throws(FileError) {
    let services = setup.configuration.services
    let known = try setup.note.read()
    var read: [String: [UInt8]?] = [:]
    // Most services include the same files.
    let reader = PAMReader(folder: folder) { path in
      if let bytes = read[path] { return bytes }
      let bytes = PAMReader.readFile(path)
      read[path] = .some(bytes)
      return bytes
    }
    let lines = PhoneLines(of: services, reader: reader, opensSession: setup.configuration.opensSession)
    seen = Dictionary(lines.found.map { ($0, seen[$0] ?? now) }, uniquingKeysWith: min)
    let remembered = lines.remembered(after: known, listed: services) { line in
      seen[line].map { now - $0 >= Self.checkInterval } ?? false
    }
    if remembered != known { try setup.note.write(remembered) }
    tell(LostLines.all(lines.lost(of: known, listed: services)), now)
  }

  private func tell(_ losses: [LostLines], _ now: Int64) {
    warned = warned.filter { text, _ in losses.contains { $0.text == text } }
    for loss in losses {
      if let last = warned[loss.text], now - last < Self.tellTime { continue }
      warned[loss.text] = now
      log.write(loss.wasRequired ? LOG_ERR : LOG_WARNING, "\(loss.text); \(loss.hint)")
    }
  }
}

/// The lock of administrators' commands, held while the files are read, so that no half-changed file is read. Only root
/// can open the lock, so other users cannot block the helper.
private final class AdministratorsTurn {
  private let descriptor: Int32

  /// - Returns: nil while a command works. It does not wait for the command.
  init?(_ path: String) throws(FileError) {
    descriptor = iampass_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    // If the file is missing, no command has run yet.
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw FileError(.system(errno), path: path) }
      return
    }
    guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw FileError(.system(errno), path: path) }
      return nil
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
