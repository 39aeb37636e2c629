import CommandSupport
import Glibc

/// This program again, which becomes the data directory's owner: root does not open a database that others can write.
enum OwnCommand {
  /// Seconds; a large database is opened in less.
  private static let patience: Int64 = 60
  /// The files that libpq reads, as iampass-server(8) says. Without them this process would reach a database that the
  /// other one does not.
  private static let fileVariables = ["PGPASSFILE", "PGSERVICEFILE", "PGSYSCONFDIR"]

  /// What the other process has of this one's environment, as `NAME=VALUE`.
  static func variables(_ value: (String) -> String?) -> [String] {
    fileVariables.compactMap { name in value(name).map { "\(name)=\($0)" } }
  }

  /// Starts it, for output that is read while it runs.
  static func start(_ words: [String]) throws(CommandProblem) -> ProgramStream {
    guard let started = ProgramStream(try program() + words) else {
      throw .commandFails(words.joined(separator: " "))
    }
    return started
  }

  private static func program() throws(CommandProblem) -> [String] {
    guard let program = realpath("/proc/self/exe", nil) else { throw .commandFails("/proc/self/exe") }
    defer { free(program) }
    return [String(cString: program)]
  }

  static func run(_ words: [String], input: String = "") throws(CommandProblem) -> Program.Result {
    let command = try program() + words
    let wait = SetupWait("until the service's database has answered", seconds: patience)
    let variables = variables { name in getenv(name).map { String(cString: $0) } }
    let done = Program.run(
      command, input: Array(input.utf8), variables: variables, seconds: patience, whileTrue: wait.goesOn)
    try wait.check()
    guard let done else {
      throw .commandFails(words.joined(separator: " "))
    }
    return done
  }
}
