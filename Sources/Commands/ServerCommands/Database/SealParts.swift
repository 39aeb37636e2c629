import ArgumentParser
import CommandSupport
import Glibc
import HostSystem
import IAMPASSServer

/// A part of a seal that has a process of its own, which becomes the database's owner. Root's file and unit stay with the
/// first process.
enum SealPart: String, ExpressibleByArgument {
  /// Only tells the ``SealState``.
  case state
  /// Only looks whether the servers that run are ready for it.
  case servers
  /// Changes the database.
  case database
  /// Changes the database, whose key is lost.
  case loss
}

/// What root does around the database when it seals or unseals one.
struct SealParts {
  /// The exit code of a part if a server is not ready.
  static let serversNotReady = EX_TEMPFAIL
  /// Where systemd keeps the packaged service's credential while it runs.
  static let usualCredential = "/run/credentials/iampass-server.service/seal-keys"
  /// How long a restarted server may take until it shows itself, in milliseconds. One of before may still be seen.
  private static let restartTime: Int64 = 5_000
  /// The longest time for rewriting a large database, in milliseconds.
  private static let longest: Int64 = 3_600_000

  /// What one read of a pipe takes; a state has less than a hundred bytes.
  private static let longestState = 4_096

  /// `seal` or `unseal`.
  let command: String
  let place: DatabaseOptions
  let file: SealKeyFile

  /// Restarts the packaged service if it is not ready, and if its unit gives it the file. Whether all servers are ready
  /// is then seen by the part that changes the database.
  func prepareServers() throws(CommandProblem) {
    guard geteuid() == 0, try place.isPackaged, try !areServersReady() else { return }
    let unit = ServiceUnit(name: SetupPlaces.usualUnit)
    guard unit.isWanted, unit.givesSealKeys(file.path) else { return }
    Notice.tell("restarting \(unit.name), which has to read \(file.path) again")
    try unit.restart()
    let end = MonotonicInstant.now().advanced(milliseconds: Self.restartTime)
    while MonotonicInstant.now() < end, try !areServersReady() { usleep(200_000) }
  }

  /// By which key the database is sealed, and which servers run on it.
  func state() async throws -> SealState {
    var ends: [Int32] = [-1, -1]
    guard geteuid() == 0 else {
      let storage = try place.existing(by: nil)
      defer { try? storage.close() }
      return try await SealState(of: storage)
    }
    guard pipe(&ends) == 0 else { throw CommandProblem.partFails }
    defer { close(ends[0]) }
    do {
      // The reader waits for the last writer's end.
      defer { close(ends[1]) }
      _ = try run(.state, output: ends[1])
    }
    var told = [UInt8](repeating: 0, count: Self.longestState)
    let count = read(ends[0], &told, told.count)
    guard count > 0, let state = SealState(String(decoding: told.prefix(count), as: UTF8.self)) else {
      throw CommandProblem.partFails
    }
    return state
  }

  /// Runs a part as a program of its own, with this process's terminal.
  ///
  /// - Parameter output: where its standard output goes.
  /// - Returns: false if this process is not root, and so can do it itself.
  /// - Throws: `ExitCode` if the part has failed. It has said why.
  func run(_ part: SealPart, output: Int32 = STDOUT_FILENO) throws -> Bool {
    guard geteuid() == 0 else { return false }
    guard let program = realpath("/proc/self/exe", nil) else { throw CommandProblem.partFails }
    defer { free(program) }
    guard let child = Program.startOwn([String(cString: program)] + words(part), output: output) else {
      throw CommandProblem.partFails
    }
    let status = Program.wait(for: child, MonotonicInstant.now().advanced(milliseconds: Self.longest))
    guard status & 0x7F == 0 else { throw CommandProblem.partFails }
    guard status == 0 else { throw ExitCode(status >> 8 & 0xFF) }
    return true
  }

  /// Any other failure is told by the part that changes the database.
  private func areServersReady() throws(CommandProblem) -> Bool {
    try OwnCommand.run(words(.servers)).status != Self.serversNotReady
  }

  private func words(_ part: SealPart) -> [String] {
    ["database", command, "--part", part.rawValue] + place.words
      + (file.isCredential ? [] : ["--seal-key-file", file.path])
  }
}

extension CommandProblem {
  fileprivate static let partFails = CommandProblem(
    message: "the part of this command that uses the database did not come to its end",
    hint: "look at the space and the memory of this machine, and run this again", exitCode: EX_OSERR)
}
