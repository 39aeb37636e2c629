import CommandSupport
import Glibc
import IAMPASSServer

/// Problems of a database, its copies and its moves.
extension CommandProblem {
  static func unreliable(_ problems: [String]) -> CommandProblem {
    CommandProblem(
      message: problems.joined(separator: "; "), hint: "change the settings of the PostgreSQL server, and check again",
      exitCode: EX_CONFIG)
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
    case .folderOfAnother:
      self.init(
        message: "\(error.path) belongs to another user", hint: "run this as the owner of that directory",
        exitCode: EX_NOPERM)
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
    case .folderOfOwner:
      self.init(
        message: "the owner of the database can change the folder of \(error.path)",
        hint: "choose a folder that only root can write, such as /root", exitCode: EX_CANTCREAT)
    case .notCopied:
      self.init(
        message: "\(error.path) cannot hold a copy of its database for a while: \(error.detail)",
        hint: "look at the space on its disk, or make the backup as the owner of the directory, who needs none there",
        exitCode: EX_CANTCREAT)
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
}
