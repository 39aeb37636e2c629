import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

struct UserImport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Takes users and their tokens from another computer's export.",
    discussion: """
      Users whom this system does not know are named with their lines and left out. Any other line that cannot be taken \
      refuses the file. Running it again changes nothing.
      """)

  /// The most users in one call.
  private static let batch = 100
  /// The most bytes of their tokens and names. The request has each token twice, the reply once, and both are 64 KiB at
  /// most.
  private static let batchSize = 24_000

  @OptionGroup var options: ManagementOptions
  @Flag(help: "Take users that this system does not know.") var force = false
  @Flag(help: "Do not ask the service, which knows the tokens already.") var local = false
  @OptionGroup var naming: NamingOptions
  @Argument(help: "File of username:token lines, of root's alone.", completion: .file()) var file: String

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let lock = try AdminLock(folder: options.host.folder)
      defer { withExtendedLifetime(lock) {} }
      let (entries, leftOut) = try readEntries()
      try refuseConflicts(entries)
      // The service is told first. It accepts a token twice, so the next run repairs a crash after this.
      if !local { try tellService(entries) }
      let path = options.host.usersPath
      do throws(UserTokensError) {
        try UserTokensEditor(path: path, sharing: options.host.sharedTokens).add(entries)
      } catch {
        throw CommandProblem.misconfigured(.users(error, path: path), path: path)
      }
      Terminal.say("\(Words.counted(entries.count, "user")) imported")
      guard leftOut == 0 else { throw CommandProblem.notImported(leftOut, of: entries.count + leftOut) }
    }
  }

  /// The users whom this system knows, and the number of others. If one look-up fails, no user is imported.
  private func readEntries() throws(CommandProblem) -> (known: [(user: UnixUsername, token: Secret)], leftOut: Int) {
    let entries: [(line: Int, user: UnixUsername, token: Secret)]
    do { entries = try UserTokens(path: file).numberedEntries() } catch {
      if case .file(let error) = error { throw .file(error) }
      throw .misconfigured(.users(error, path: file), path: file)
    }
    var known: [(user: UnixUsername, token: Secret)] = []
    for (line, user, token) in entries {
      if force {
        known.append((user, token))
      } else if try SystemUser.look(for: user) != nil {
        known.append((user, token))
      } else {
        Terminal.complain("warning: \(file):\(line): user \(user) is not known to this system")
      }
    }
    return (known, entries.count - known.count)
  }

  /// Throws on conflicts, before the service is told.
  private func refuseConflicts(_ entries: [(user: UnixUsername, token: Secret)]) throws(CommandProblem) {
    let path = options.host.usersPath
    do throws(UserTokensError) {
      try UserTokensEditor(path: path, sharing: options.host.sharedTokens).checkAddition(of: entries)
    } catch {
      throw .misconfigured(.users(error, path: path), path: path)
    }
  }

  private func tellService(_ entries: [(user: UnixUsername, token: Secret)]) throws(CommandProblem) {
    guard !entries.isEmpty else { return }
    let host = try ConfiguredHost(options)
    var rest = entries[...]
    // To the service, users with the same token are one user.
    var named: Set<Secret> = []
    while !rest.isEmpty {
      let some = rest.prefix(Self.countInOneCall(rest))
      rest = rest.dropFirst(some.count)
      let names = some.filter { named.insert($0.token).inserted }
        .map { (token: $0.token, name: naming.name(of: $0.user)) }
      _ = try host.manage { (client, deadline) throws(ServiceError) in
        try client.addUsers(some.map(\.token), called: names, deadline: deadline)
      }
    }
  }

  /// How many users fit into one call; at least one, because a single token and name always fit.
  private static func countInOneCall(_ entries: ArraySlice<(user: UnixUsername, token: Secret)>) -> Int {
    var size = 0
    let fitting = entries.prefix(batch).prefix { entry in
      size += entry.token.exposedBytes.count + entry.user.text.utf8.count
      return size <= batchSize
    }
    return max(1, fitting.count)
  }
}

struct UserExport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Writes users and their tokens for another computer's import.",
    discussion: """
      Tokens are secrets: with a file the export is root's alone to read; without one it goes to standard output, but \
      never to a terminal.
      """)

  @OptionGroup var host: HostOptions
  @Argument(help: "The file to write.", completion: .file()) var file: String?

  func run() throws {
    try reportingProblems {
      try requireRoot()
      guard file != nil || isatty(STDOUT_FILENO) != 1 else { throw CommandProblem.secretsToTerminal }
      let path = host.usersPath
      let entries: [(user: UnixUsername, token: Secret)]
      do throws(UserTokensError) { entries = try UserTokens(path: path).entries() } catch {
        throw CommandProblem.misconfigured(.users(error, path: path), path: path)
      }
      let text = entries.map { "\($0.user):\($0.token.exposedValue)\n" }.joined()
      guard let file else { return Terminal.put(text) }
      do throws(FileError) { try AtomicFile.write(Array(text.utf8), to: file, mode: 0o600) } catch {
        throw CommandProblem.file(error)
      }
      Terminal.say("\(Words.counted(entries.count, "user")) exported to \(file)")
    }
  }
}
