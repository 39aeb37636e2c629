import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSProtocol
import IAMPASSServer

/// Root's backup of another user's database. SQLite deletes and changes files that the database's folder names, so only a
/// process of that user opens the database. Root takes bytes from it, and nothing else.
enum OwnersCopy {
  /// Seconds without a byte after which the owner's process is stopped. The first one comes when SQLite has copied all.
  private static let greatestSilence: Int64 = 3_600
  /// Seconds for the process's end, in which it adds a line to the audit.
  private static let patience: Int64 = 60
  /// The bytes that say how many follow.
  private static let head = 8

  /// - Throws: ``BackupError`` or ``CommandProblem``. Then there is no new file, unless only its folder could not be
  ///   flushed.
  static func write(_ data: String, to path: String, keptFrom owner: (user: uid_t, group: gid_t)) throws {
    // The owner's process may end before it is told that the file is there.
    signal(SIGPIPE, SIG_IGN)
    let file = try BackupFile(path, keptFrom: owner)
    let copying = try OwnCommand.start(["database", "pass-copy", "--data", data])
    try pass(copying, to: file)
    try file.takeName()
    copying.tell("made")
    guard let done = copying.end(within: patience), done.status == 0 else {
      // The copy is whole: on a full disk it may be needed most.
      return Notice.tell("the copy is made, but the audit does not say so")
    }
    tell(done)
  }

  private static func pass(_ copying: ProgramStream, to file: BackupFile) throws {
    var size: UInt64?
    var known: [UInt8] = []
    var written: UInt64 = 0
    while let bytes = copying.next(within: greatestSilence) {
      guard !bytes.isEmpty else {
        guard let size, written == size else { throw problem(of: copying) }
        return
      }
      if size == nil {
        known += bytes
        guard known.count >= head else { continue }
        size = known.prefix(head).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        known.removeFirst(head)
        written += UInt64(known.count)
        try file.append(known)
      } else {
        written += UInt64(bytes.count)
        try file.append(bytes)
      }
    }
    throw CommandProblem.copyingFails
  }

  /// Why the copy is not whole. The owner may have written the text.
  private static func problem(of copying: ProgramStream) -> CommandProblem {
    guard let done = copying.end(within: patience), done.status != 0 else { return .copyingFails }
    let said = CommandProblem(ofCommand: done)
    return CommandProblem(
      message: DisplayText.sanitized(said.message, limit: 1_000),
      hint: said.hint.map { DisplayText.sanitized($0, limit: 1_000) }, exitCode: said.exitCode)
  }

  private static func tell(_ done: Program.Result) {
    guard !done.output.isEmpty else { return }
    Notice.tell(DisplayText.sanitized(CommandProblem(ofCommand: done).message, limit: 1_000))
  }
}

/// Only for `backup`, which root runs. It becomes the owner of the data directory, and passes the copy on by standard
/// output. A line of standard input then says that the copy has its name.
struct PassCopyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pass-copy", abstract: "Write a copy of the data directory's database to standard output.",
    shouldDisplay: false)

  @Option var data: String

  func run() async throws {
    // A signal would leave the copy's file in the data directory. This process ends soon after root's command.
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE] { signal(number, SIG_IGN) }
    try await explaining {
      try ActingUser.become(ownerOf: data)
      // The directory may have changed its owner since root's command looked.
      guard geteuid() != 0 else { throw CommandProblem.copyingFails }
      let storage = try SQLiteStorage(existing: data)
      try await storage.passCopy(to: STDOUT_FILENO)
      close(STDOUT_FILENO)
      guard readLine() != nil else { throw CommandProblem.copyingFails }
      do { try await storage.noteBackup() } catch { Notice.tell(BackupCommand.notNoted(error)) }
    }
  }
}

extension CommandProblem {
  fileprivate static let copyingFails = CommandProblem(
    message: "the process that copies the database did not do so to its end", hint: "run this again",
    exitCode: EX_IOERR)
}
