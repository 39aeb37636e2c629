import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Problems of every command, and those that its parts have.
extension CommandProblem {
  static let notRoot = row("only root can do this", "sudo iampassctl …", EX_NOPERM)

  /// Another iampassctl holds the lock.
  static let busy = row(
    "another iampassctl is still running", "wait until it ends, or end it, then try again", EX_TEMPFAIL)

  /// The answers go by files that another command has changed since.
  static let changedMeanwhile = row(
    "another command has changed the configuration or the credential meanwhile; nothing was written",
    "iampassctl setup", EX_TEMPFAIL)

  /// The user pressed Ctrl-C, or the input has ended.
  static let interrupted = row("interrupted", nil, Interrupt.exitCode)

  /// The user pressed Ctrl-C, or the input has ended, before a file was written.
  static let interruptedUnchanged = row("interrupted; nothing was changed", nil, Interrupt.exitCode)

  /// Standard output has not taken all output. Has errno.
  static func outputLost(_ number: Int32) -> CommandProblem {
    row("standard output: \(String(cString: strerror(number)))", nil, EX_IOERR)
  }

  static func file(_ error: FileError) -> CommandProblem {
    row(error.explanation, error.hint, Self.exitCode(of: error))
  }

  /// `check` has found problems and has printed them.
  static let problemsFound = row(
    "nothing was changed, because of the problems above", "mend them (iampassctl check), or give --force",
    EX_CONFIG)

  // MARK: The configuration

  /// - Parameter path: the configuration's path.
  static func misconfigured(_ error: Misconfiguration, path: String) -> CommandProblem {
    let exitCode: Int32 =
      if error.failedLookup != nil {
        EX_TEMPFAIL
      } else if case .users(.tokenIsAnothers, _) = error {
        EX_DATAERR
      } else {
        Self.exitCode(ofDeciding: error.file)
      }
    return switch error {
    case .noServer: row("\(path): server is not set", "iampassctl setup", exitCode)
    case .users(.tokenIsShared, _): row(error.explanation, SharedTokenFindings.ownTokens, exitCode)
    case .phones(.badLine, let path), .phones(.phoneTwice, let path):
      row(error.explanation, "remove the line from \(path), or iampassctl phone forget USER", exitCode)
    case .phones(.tooMany, _): row(error.explanation, "iampassctl phone forget USER --phone ID", exitCode)
    default: row(error.explanation, error.hint, exitCode)
    }
  }

  /// The setup's folder is missing.
  static func notSetUp(folder: String) -> CommandProblem {
    row("\(folder) is missing", "iampassctl setup", EX_CONFIG)
  }

  /// A required option is missing, and there is no terminal to ask at.
  static func missingOption(_ option: String) -> CommandProblem {
    row("\(option) is needed where there is no terminal to ask at", "iampassctl setup --help", EX_USAGE)
  }

  static func badAddress(_ text: String, _ error: AddressError) -> CommandProblem {
    let lack = error == .notHTTPS ? "is not https" : "is not the address of a service"
    return row("\(DisplayText.sanitized(text)) \(lack)", "https://iampass.example.com", EX_USAGE)
  }

  static let badApplicationID = row("an application id is printable text without spaces", nil, EX_DATAERR)

  static let badSecret = row("a secret is printable text without spaces", nil, EX_DATAERR)

  // MARK: Parts with problems of their own

  static func presence(_ problem: PresenceProblem) -> CommandProblem {
    row(problem.message, problem.hint, problem.exitCode, cause: problem)
  }

  static func join(_ problem: JoinProblem) -> CommandProblem {
    row(problem.message, problem.hint, problem.exitCode, cause: problem)
  }

  static func change(_ problem: UserChangeProblem) -> CommandProblem {
    row(problem.message, problem.hint, problem.exitCode, cause: problem)
  }

  static func collect(_ problem: CollectProblem) -> CommandProblem {
    row(problem.message, problem.hint, problem.exitCode, cause: problem)
  }

  /// Recovery codes are shown only on a terminal.
  static let codesNeedTerminal = row(
    "recovery codes are secrets, and standard output is not a terminal", "--any-output, which writes them there",
    EX_USAGE)

  static func recovery(_ error: RecoveryError) -> CommandProblem {
    switch error {
    case .file(let file): row(error.explanation, file.hint, Self.exitCode(ofDeciding: file))
    case .damaged, .notThisComputers, .notThisUsers:
      row(error.explanation, "iampassctl recovery create USER", EX_CONFIG)
    case .cannotHash, .cannotSeal, .unknownComputer: row(error.explanation, nil, EX_OSERR)
    }
  }

  // MARK: What all have

  /// - Parameter cause: what another part reported, if a caller may go on after it.
  static func row(
    _ message: String, _ hint: String?, _ exitCode: Int32, cause: (any Error)? = nil
  ) -> CommandProblem {
    CommandProblem(message: message, hint: hint, exitCode: exitCode, cause: cause)
  }

  /// The exit code for a file that a command was given.
  private static func exitCode(of error: FileError) -> Int32 {
    error.code == .missing ? EX_NOINPUT : exitCode(ofDeciding: error)
  }

  /// The exit code for a file that decides on sign-ins; nil: another error of the configuration.
  private static func exitCode(ofDeciding error: FileError?) -> Int32 {
    if case .system = error?.code { EX_IOERR } else { EX_CONFIG }
  }
}
