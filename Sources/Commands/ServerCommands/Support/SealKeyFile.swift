import ArgumentParser
import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol
import IAMPASSServer

/// Where a command finds the keys of the database's sealed secrets.
struct SealOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The file with the keys of sealed secrets (default: systemd's credential \(SealKeyFile.credential), then \(SealKeyFile.usual.path) if it can be read).",
      valueName: "file"), completion: .file())
  var sealKeyFile: String?

  /// The keys; nil if there are none. Call it before this process becomes another user: they may be root's.
  func keys() throws(CommandProblem) -> SealKeys? { try file?.read() }

  /// The file that is given, or that is there.
  var file: SealKeyFile? {
    if let sealKeyFile { return SealKeyFile(path: sealKeyFile) }
    if let credential = SealKeyFile.ofSystemd { return credential }
    return access(SealKeyFile.usual.path, R_OK) == 0 ? .usual : nil
  }
}

/// A file with the keys of sealed secrets. It belongs to root or to the user that reads it, and to nobody else.
struct SealKeyFile {
  static let usual = SealKeyFile(path: "/etc/iampass-server/seal-keys")
  /// The credential's name in a unit.
  static let credential = "seal-keys"
  /// In bytes: some hundred keys.
  private static let limit = 16_384
  private static let head = """
    # Keys of secrets in the database of iampass-server. The first one seals, and all of them open.
    # Keep a copy of this file away from the database and its backups: without it they cannot be used.

    """

  let path: String
  /// Whether systemd made it, for this process.
  private(set) var isCredential = false

  /// Whether it may belong to a user that this process is not.
  private(set) var isOfOther = false

  /// What the packaged unit has for a credential if there is no file.
  private static let noKeys = "none"

  /// systemd's credential of this process; nil if it has none (systemd.exec(5)).
  static var ofSystemd: SealKeyFile? {
    guard let folder = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }), folder.hasPrefix("/") else {
      return nil
    }
    let path = folder + "/" + credential
    guard access(path, F_OK) == 0 else { return nil }
    let file = SealKeyFile(path: path, isCredential: true)
    // One that cannot be read is told by the one who reads it.
    return (try? file.bytes()) == Array(noKeys.utf8) ? nil : file
  }

  /// The credential of the packaged service while that runs, for root. systemd gives it to the service's user by an access
  /// control list, or as its owner. Nobody can write there.
  static let ofRunningService = SealKeyFile(path: SealParts.usualCredential, isCredential: true, isOfOther: true)

  func read() throws(CommandProblem) -> SealKeys {
    do { return try keys(in: try bytes()) } catch let error as FileError { throw .sealKeyFile(error) } catch {
      throw CommandProblem(ofSeal: error)
    }
  }

  /// Nil if there is no file.
  func known() throws(CommandProblem) -> SealKeys? {
    do {
      guard let bytes = try knownBytes() else { return nil }
      return try keys(in: bytes)
    } catch let error as FileError { throw .sealKeyFile(error) } catch { throw CommandProblem(ofSeal: error) }
  }

  /// The keys to seal with. A missing file is made.
  ///
  /// - Parameter isNew: adds a new key, which is then the first one.
  func made(addingKey isNew: Bool) throws(CommandProblem) -> SealKeys {
    if isCredential {
      guard !isNew else { throw .credentialNotWritten(path) }
      return try read()
    }
    do {
      let known = try knownBytes()
      if isNew || known == nil {
        // A file with anything else in it stays as it is.
        if let known { _ = try keys(in: known) }
        try add(to: known)
      }
    } catch let error as FileError { throw .sealKeyFile(error) } catch { throw CommandProblem(ofSeal: error) }
    return try read()
  }

  /// Has the file say that the database is sealed, or no longer. A credential stays as it is.
  func note(isSealed: Bool) throws(FileError) {
    guard !isCredential, let known = try knownBytes() else { return }
    let noted = SealKeys.noted(isSealed: isSealed, in: Secret(bytes: known)).exposedBytes
    guard noted != known else { return }
    try put(noted, inPlaceOfOther: true)
  }

  private func keys(in bytes: [UInt8]) throws(SealFault) -> SealKeys {
    try SealKeys(file: Secret(bytes: bytes), place: path)
  }

  /// Nil if there is no file.
  private func knownBytes() throws(FileError) -> [UInt8]? {
    do { return try bytes() } catch {
      guard error.code == .missing else { throw error }
      return nil
    }
  }

  /// A new file has one key, and one that is there gets another line before the others. It is on the disk when this
  /// returns: a database that was sealed by a lost key is lost.
  private func add(to known: [UInt8]?) throws {
    try put(
      (known == nil ? Array(Self.head.utf8) : []) + SealKeys.newLine().exposedBytes + (known ?? []),
      inPlaceOfOther: known != nil)
  }

  /// Writes the file.
  private func put(_ bytes: [UInt8], inPlaceOfOther: Bool) throws(FileError) {
    let new = try NewFile(for: path, mode: 0o600)
    try new.write(bytes)
    if inPlaceOfOther {
      try new.takePlace()
    } else {
      guard try new.takeFreePlace(path) else { throw FileError(.system(EEXIST), path: path) }
    }
    try FolderFlush.flush(SecureFile.folder(of: path))
  }

  private func bytes() throws(FileError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw SecureFile.openError(path) }
    defer { close(descriptor) }
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { throw FileError(.system(errno), path: path) }
    let mode = found.st_mode & 0o7777
    guard found.st_mode & S_IFMT == S_IFREG else { throw FileError(.notRegular, path: path, mode: mode) }
    guard found.st_uid == 0 || found.st_uid == geteuid() || isOfOther else {
      throw FileError(.notOwnedByRoot, path: path, mode: mode)
    }
    guard mode & 0o022 == 0 else { throw FileError(.writableByOthers, path: path, mode: mode) }
    // systemd gives its user access by an access control list, whose mask is shown as the group's bits.
    guard mode & (isCredential ? 0o007 : 0o077) == 0 else { throw FileError(.readableByOthers, path: path, mode: mode) }
    guard found.st_size <= Self.limit else { throw FileError(.tooLarge, path: path, mode: mode) }
    return try SecureFile.readAll(descriptor, path: path, expecting: Int(found.st_size), limit: Self.limit)
  }
}

extension CommandProblem {
  init(_ fault: SealFault) {
    let exitCode =
      switch fault.code {
      case .changed, .clear: EX_DATAERR
      case .overtaken: EX_UNAVAILABLE
      case .noKeyInFile, .badLine, .noKey, .otherKey, .unsealed: EX_CONFIG
      }
    self.init(message: fault.description, hint: fault.hint, exitCode: exitCode)
  }

  fileprivate init(ofSeal error: any Error) {
    switch error {
    case let fault as SealFault: self.init(fault)
    case let error as StorageError: self.init(error)
    default: self.init(unexpected: error)
    }
  }

  static func sealKeyFile(_ error: FileError) -> CommandProblem {
    CommandProblem(
      message: DisplayText.sanitized(error.explanation),
      hint: error.hint
        ?? "give the file with the keys of sealed secrets; if it is lost: iampass-server(8), under SEALED SECRETS",
      exitCode: error.code == .missing ? EX_NOINPUT : EX_CONFIG)
  }

  fileprivate static func credentialNotWritten(_ path: String) -> CommandProblem {
    CommandProblem(
      message: "\(DisplayText.sanitized(path)) is systemd's credential, which no command changes",
      hint: "give the file that it is made from: --seal-key-file", exitCode: EX_USAGE)
  }

  static let noSealKeyFile = CommandProblem(
    message: "nothing says where the keys of sealed secrets are to be",
    hint: "give a file with --seal-key-file, away from the database", exitCode: EX_USAGE)
}
