import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol
import IAMPASSServer

/// Messages of the service's commands besides their output.
enum Notice {
  /// Prints a line on standard error.
  static func tell(_ message: String) {
    // If the terminal is gone, the write fails.
    _ = WholeText.write("iampass-server: \(message)\n", to: STDERR_FILENO)
  }
}

/// Problems of a service.
extension CommandProblem {
  static func badListen(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not an address and a port to listen on", hint: "for example 127.0.0.1:8443 or [::]:443",
      exitCode: EX_USAGE)
  }

  static func badPublicURL(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not a public address", hint: "for example https://iampass.example.org", exitCode: EX_USAGE)
  }

  static func badConsoleURL(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not an address of a console",
      hint: "for example --console-url https://iampass-console.example.org:9443", exitCode: EX_USAGE)
  }

  static func noConsoleURL(_ listen: String) -> CommandProblem {
    CommandProblem(
      message: "\(listen) is not on loopback only, and --console-url does not say which address browsers use",
      hint: "for example --console-url https://iampass-console.example.org:9443, or --console-listen 127.0.0.1:9443",
      exitCode: EX_USAGE)
  }

  static let consoleWithoutPublicURL = CommandProblem(
    message: "--console-listen needs --public-url, which the console's links for computers and phones begin with",
    hint: "for example --public-url https://iampass.example.org:8443", exitCode: EX_USAGE)

  static func badPushContact(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(DisplayText.sanitized(text)) is not an address that push services can write to",
      hint: "for example --push-contact mailto:admin@example.org", exitCode: EX_USAGE)
  }

  static func badPushProxy(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(DisplayText.sanitized(text)) is not the address of a proxy",
      hint: "for example --push-proxy http://proxy.example.org:3128, without a user's name and password",
      exitCode: EX_USAGE)
  }

  static func noPublicURL(_ listen: String) -> CommandProblem {
    CommandProblem(
      message: "\(listen) is not on loopback only, and --public-url does not say which address clients use",
      hint: "for example --public-url https://iampass.example.org:8443, or --listen 127.0.0.1:8443", exitCode: EX_USAGE)
  }

  static let noAddress = CommandProblem(
    message: "the service's address is not known yet",
    hint: "start the service once, or give its address with --public-url", exitCode: EX_USAGE)

  static func notPrinted(_ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "the output cannot be written: \(systemText(code))",
      hint: "look at the space on its disk, and run this again", exitCode: EX_IOERR)
  }

  /// The secret could not be printed. The change was undone.
  static func secretNotPrinted(_ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "the secret cannot be written: \(systemText(code)); what was made is taken back",
      hint: "look at the space on the output's disk, and run this again", exitCode: EX_IOERR)
  }

  /// The secret could not be printed, and the change could not be undone.
  static func secretLost(_ code: Int32, id: String) -> CommandProblem {
    CommandProblem(
      message: "the secret of \(id) cannot be written: \(systemText(code)); it cannot be taken back either",
      hint: "revoke a host credential with host-credential revoke; renew an application's secret in the console",
      exitCode: EX_IOERR)
  }

  static let keyIsNew = CommandProblem(
    message: "the newest key does not sign yet",
    hint: "signing-key list says when it does; rotate --now replaces all keys at once, if one was stolen",
    exitCode: EX_TEMPFAIL)

  /// The entry to continue after does not exist: in a restored copy of the database, entries would be missed.
  static func noAnswer(toAuditEntry id: Int64) -> CommandProblem {
    CommandProblem(
      message: "no phone's answer is kept that entry \(id) goes back to",
      hint: "answers are kept for 400 days, or as serve's --keep-answers says; a one-time link and a command have none",
      exitCode: EX_DATAERR)
  }

  static func answerProvesNothing(_ flaw: AnswerProof.Flaw) -> CommandProblem {
    CommandProblem(
      message: flaw.rawValue, hint: "somebody changed the database: iampass-security(7)", exitCode: EX_DATAERR)
  }

  static func noAuditEntry(_ id: Int64) -> CommandProblem {
    CommandProblem(
      message: "the audit has no entry \(id) yet: its ids are smaller",
      hint: "if an older copy of the database was put back, go on by time: --since", exitCode: EX_DATAERR)
  }

  static func unreliable(_ problems: [String]) -> CommandProblem {
    CommandProblem(
      message: problems.joined(separator: "; "), hint: "change the settings of the PostgreSQL server, and check again",
      exitCode: EX_CONFIG)
  }

  static func notListening(on address: String, option: String, detail: String) -> CommandProblem {
    CommandProblem(
      message: "cannot listen on \(address): \(detail)",
      hint: "look for another program on that port, or choose another with \(option)", exitCode: EX_UNAVAILABLE)
  }

  static func noSignals(_ code: Int32) -> CommandProblem {
    CommandProblem(
      message: "cannot wait for signals: \(systemText(code))", hint: "raise the limit of open files",
      exitCode: EX_UNAVAILABLE
    )
  }

  private static func systemText(_ code: Int32) -> String { String(cString: strerror(code)) }

  static func badProxy(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "\(text) is not the address of a proxy", hint: "use a numeric address, for example 127.0.0.1",
      exitCode: EX_USAGE)
  }

  static func badLogLevel(_ text: String) -> CommandProblem {
    CommandProblem(
      message: "there is no log level \(text)",
      hint: "use one of trace, debug, info, notice, warning, error, critical", exitCode: EX_USAGE)
  }

  init(_ error: StorageError) {
    switch error.code {
    case .folderNotMade:
      self.init(
        message: "\(error.path) cannot be the data directory: \(error.detail)",
        hint: "make its parent directory, and run this as the user that owns it", exitCode: EX_CANTCREAT)
    case .folderWritableByOthers:
      self.init(
        message: "\(error.path) is writable by others", hint: "chmod 700 \(error.path)",
        exitCode: EX_CONFIG)
    case .databaseNotOpened:
      self.init(
        message: "\(error.path) cannot be opened: \(error.detail)",
        hint: "look at its owner, its mode, the space on its disk, and for another program that holds it",
        exitCode: EX_IOERR)
    case .databaseDamaged:
      self.init(
        message: "\(error.path) is damaged: \(error.detail)",
        hint: "move it and both files beside it away, and put the last backup in its place: iampass-server(8)",
        exitCode: EX_DATAERR)
    case .noDatabase:
      self.init(
        message: "there is no database \(error.path)",
        hint: "give the data directory of the service with --data, or set the service up: iampass-server setup",
        exitCode: EX_NOINPUT)
    case .noRandomBytes:
      self.init(
        message: "the system does not give random bytes", hint: "look at the kernel's log", exitCode: EX_UNAVAILABLE)
    case .clockBehindCopy:
      self.init(
        message: "the clock is behind: the restored database was last used at \(error.detail)",
        hint: "set the clock, and start the service again", exitCode: EX_UNAVAILABLE)
    case .addressInvalid:
      self.init(
        message: "the address of the database cannot be used: \(error.detail)",
        hint: "for example postgresql://iampass@db.example.org/iampass", exitCode: EX_USAGE)
    case .passwordInAddress:
      self.init(
        message: "the address of the database has a password, which everyone on this machine could read",
        hint: "put the password into the file that PGPASSFILE names, and leave it out of --database",
        exitCode: EX_USAGE)
    case .databaseNotReached:
      self.init(
        message: "\(error.path) cannot be used: \(error.detail)",
        hint: "look at the PostgreSQL server, its log, and the network on the way to it", exitCode: EX_UNAVAILABLE)
    case .databaseSessionsShared:
      self.init(
        message: "\(error.path) is a pooler that shares sessions, in which locks and notifications do not hold",
        hint: "set pool_mode = session in PgBouncer, or give the address of the PostgreSQL server itself",
        exitCode: EX_CONFIG)
    case .databaseEncoding:
      self.init(
        message: "\(error.path) has the encoding \(error.detail), which does not have every character",
        hint: "make a database with createdb --encoding=UTF8 --template=template0, and give its address",
        exitCode: EX_CONFIG)
    case .databaseMoved:
      self.init(
        message: "\(error.path) was moved to \(error.detail)",
        hint: "start the service on that database; what is left in the old one can be deleted", exitCode: EX_CONFIG)
    case .databaseArriving:
      self.init(
        message: "the move from \(error.detail) to \(error.path) is not completed",
        hint: "run iampass-server database move again, with the same --from and --to", exitCode: EX_CONFIG)
    case .databaseTooNew:
      self.init(
        message: "a newer version has changed the database: \(error.detail)", hint: "update iampass-server",
        exitCode: EX_CONFIG)
    case .historyUnreadable:
      self.init(
        message: "\(error.path) does not say whether it was promoted or put back: \(error.detail)",
        hint:
          "GRANT EXECUTE ON FUNCTION pg_control_system(), pg_current_wal_lsn(), pg_walfile_name(pg_lsn) TO the role",
        exitCode: EX_CONFIG)
    case .databaseTooOld:
      self.init(
        message: "\(error.path) is of an older version",
        hint: "start the service of this version, or run iampass-server database migrate", exitCode: EX_CONFIG)
    case .databaseForeign:
      self.init(
        message: "\(error.path) has no tables of iampass-server",
        hint: "look at the address; to make the tables of a new service, run iampass-server database migrate",
        exitCode: EX_NOINPUT)
    }
  }

  init(_ error: ServerError) {
    switch error.code {
    case .certificateUnreadable:
      self.init(
        message: "\(error.subject) has no certificate: \(error.detail)",
        hint: "name a readable PEM file with --tls-cert, or --push-ca", exitCode: EX_NOINPUT)
    case .keyUnreadable:
      self.init(
        message: "\(error.subject) has no private key: \(error.detail)",
        hint: "name a readable PEM file with --tls-key", exitCode: EX_NOINPUT)
    case .certificateRefused:
      self.init(
        message: "\(error.subject) cannot be used with the key: \(error.detail)",
        hint: "certificate and key must belong together", exitCode: EX_DATAERR)
    }
  }

  /// - Parameter known: the existing applications, for a hint about an unknown name.
  init(_ refusal: ApplicationRefusal, name: String, known: [String] = []) {
    switch refusal {
    case .nameTaken:
      self.init(
        message: "there is an application \(name) already", hint: "choose another name", exitCode: EX_DATAERR)
    case .nameUnknown:
      self.init(
        message: "there is no application \(name)",
        hint: Spelling.hint(for: name, known: known) ?? "iampass-server application list", exitCode: EX_DATAERR)
    case .nameNotFit:
      self.init(
        message: "this is not a valid name for an application",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: EX_DATAERR)
    }
  }

  /// - Parameter isOpenID: whether the command is about OpenID clients, and not about computers.
  init(
    _ refusal: HostCredentialRefusal, application: String, name: String, host: String = "", isOpenID: Bool = false,
    known: [String] = []
  ) {
    let kind = isOpenID ? "OpenID client" : "host credential"
    let command = isOpenID ? "openid-client" : "host-credential"
    switch refusal {
    case .unknownApplication:
      self.init(
        message: "there is no application \(application)",
        hint: Spelling.hint(for: application, known: known) ?? "iampass-server application list",
        exitCode: EX_DATAERR)
    case .nameTaken:
      self.init(
        message: "\(application) has a credential \(name) already",
        hint: "choose another name, or revoke that one", exitCode: EX_DATAERR)
    case .nameNotFit:
      self.init(
        message: "this is not a valid name for a credential",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: EX_DATAERR)
    case .hostNotFit:
      self.init(
        message:
          "\(host.isEmpty ? "the empty text" : host) is not a valid \(isOpenID ? "" : "host ")name for phones to show",
        hint: "use 1 to 100 characters, none of them a control character", exitCode: EX_DATAERR)
    case .unknownCredential:
      self.init(
        message: "\(application) has no \(kind) \(name) that could be revoked",
        hint: "iampass-server \(command) list \(application)", exitCode: EX_DATAERR)
    }
  }

  init(_ error: BackupError) {
    switch error.code {
    case .exists:
      self.init(
        message: "\(error.path) is there already", hint: "choose another name: nothing is overwritten",
        exitCode: EX_CANTCREAT)
    case .notWritten:
      self.init(
        message: "\(error.path) cannot be written: \(error.detail)",
        hint: "look at its folder, the space on its disk, and whether that has hard links", exitCode: EX_CANTCREAT)
    }
  }

  init(_ refusal: MoveRefusal) {
    let (message, hint, code): (String, String, Int32) =
      switch refusal.code {
      case .sourceMoved:
        ("everything was moved to \(refusal.subject) before", "start the service on that database", EX_CONFIG)
      case .sourceArriving:
        (
          "the move from \(refusal.subject) to --from is not completed",
          "complete that one first: run it again", EX_CONFIG
        )
      case .destinationNotEmpty:
        (
          "\(refusal.subject) is not empty", "give an empty database or a new directory: nothing is overwritten",
          EX_CANTCREAT
        )
      case .destinationMoved:
        (
          "what --to had was moved to \(refusal.subject) before",
          "give an empty database or a new directory", EX_CANTCREAT
        )
      case .destinationArriving:
        (
          "a move from \(refusal.subject) to --to is not completed",
          "complete that one first, or give an empty database or a new directory", EX_CANTCREAT
        )
      case .formsDiffer:
        (
          "only one of --from and --to has the column \(refusal.subject): they are of different versions",
          "run this again; if it says the same, give an empty database or a new directory as --to", EX_CANTCREAT
        )
      case .sameEngine:
        (
          "a move is from a data directory to a PostgreSQL database, or back",
          "for a copy of a directory use iampass-server backup, and for one of PostgreSQL its own tools", EX_USAGE
        )
      case .differs:
        (
          "what was read back from the table \(refusal.subject) is not what was written; nothing was moved",
          "look at both disks, and run this again", EX_IOERR
        )
      case .busy:
        (
          "another program works on \(refusal.subject), or moves it", "wait for its end, and run this again",
          EX_TEMPFAIL
        )
      }
    self.init(message: message, hint: hint, exitCode: code)
  }

  /// Any other failure of the storage.
  init(unexpected error: any Error) {
    self.init(message: "\(error)", hint: "look at the data directory and its disk", exitCode: EX_IOERR)
  }
}

/// Runs `work`, and turns its failures into messages for people.
func explaining<Value>(_ work: () async throws -> Value) async throws -> Value {
  do {
    return try await work()
  } catch let error as StorageError {
    throw CommandProblem(error)
  } catch let error as ServerError {
    throw CommandProblem(error)
  } catch let error as BackupError {
    throw CommandProblem(error)
  } catch let refusal as MoveRefusal {
    throw CommandProblem(refusal)
  } catch let fault as SealFault {
    throw CommandProblem(fault)
  } catch let problem as CommandProblem {
    throw problem
  } catch {
    throw CommandProblem(unexpected: error)
  }
}
