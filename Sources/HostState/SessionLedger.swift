import CHost
import Glibc
import IAMPASSClient
import IAMPASSProtocol

/// Why a record cannot be had.
public enum LedgerError: Error, Sendable, Equatable {
  case file(FileError)
  /// The id has not the form of one.
  case badID
  /// The file is no record of this version.
  case notARecord
  /// Another user's, service's or process's record, or one that was claimed before.
  case notYours

  public var explanation: String {
    switch self {
    case .file(let error): error.explanation
    case .badID: "no such session record"
    case .notARecord: "session record is damaged"
    case .notYours: "session record belongs to another sign-in"
    }
  }
}

/// `/run/iampass/sessions`: a file a session that the phone opened, in a folder of mode 0700.
public struct SessionLedger: Sendable {
  private static let greatestSize = 16 * 1024
  /// Seconds after which an unfinished record is nobody's.
  private static let writingTime = 60

  private let run: RunFolder

  public init(run: RunFolder) { self.run = run }

  /// Writes a new record. Only a confirmed session can be recorded.
  public func record(
    _ session: ActiveSession, user: SystemUser, service: String, remoteHost: String?, tty: String?, duration: Int64
  ) throws(LedgerError) -> SessionRecord {
    guard let id = Digest.randomIdentifier(), let process = ProcessIdentity.current(),
      let parent = ProcessIdentity.parent()
    else { throw .badID }
    let record = SessionRecord(
      id: id, user: user.name, uid: user.uid, service: service, remoteHost: remoteHost, tty: tty,
      session: session.remote, process: process, parent: parent, created: BootTime.seconds(), duration: duration)
    try write(record)
    return record
  }

  public func read(_ id: String) throws(LedgerError) -> SessionRecord {
    let path = try path(id)
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch { throw .file(error) }
    guard let record = SessionRecord(parsing: bytes), record.id == id else { throw .notARecord }
    return record
  }

  /// Takes the record for the session that this process opens, once: a second claim is refused.
  ///
  /// sshd authenticates in a child and opens the session in its parent, so that the claimer is one of the two that the
  /// record names.
  public func claim(
    _ id: String, user: UnixUsername, service: String, by claimer: ProcessIdentity
  ) throws(LedgerError) -> SessionRecord {
    try locked { () throws(LedgerError) in
      var record = try read(id)
      guard !record.isClaimed, !record.isReleased, record.user == user, record.service == service,
        record.process == claimer || record.parent == claimer
      else { throw .notYours }
      record.isClaimed = true
      try write(record)
      return record
    }
  }

  /// Writes down what a claimed record is bound to.
  public func bind(_ id: String, to binding: SessionRecord.Binding) throws(LedgerError) {
    try change(id) { $0.binding = binding }
  }

  /// Marks the record: its session was closed by the host.
  public func release(_ id: String) throws(LedgerError) {
    try change(id) { $0.isReleased = true }
  }

  /// Marks a record whose sign-in opened no session, or whose session is over, so that nobody claims it any more.
  ///
  /// - Returns: the record as it is instead, where it has changed since `known` was read.
  public func retire(_ known: SessionRecord) throws(LedgerError) -> SessionRecord? {
    try locked { () throws(LedgerError) in
      var record = try read(known.id)
      guard record == known else { return record }
      record.isReleased = true
      try write(record)
      return nil
    }
  }

  /// Marks the record: an administrator wants its session ended.
  public func condemn(_ id: String) throws(LedgerError) {
    try change(id) { $0.isCondemned = true }
  }

  /// Removes a record whose end the service knows.
  public func remove(_ id: String) throws(LedgerError) {
    let path = try path(id)
    guard unlink(path) == 0 || errno == ENOENT else { throw .file(FileError(.system(errno), path: path)) }
  }

  /// Removes what writers that were killed in the midst have left: records that were never there, with a secret in them.
  public func removeUnfinished() {
    guard let folder = try? folder(), let names = try? FolderListing.names(in: folder) else { return }
    for name in names where name.hasSuffix(".new") && Self.isID(String(name.dropLast(4))) {
      var found = stat()
      // A writer takes milliseconds.
      if lstat(folder + "/" + name, &found) == 0, time(nil) - found.st_mtim.tv_sec > Self.writingTime {
        unlink(folder + "/" + name)
      }
    }
  }

  private func change(_ id: String, _ edit: (inout SessionRecord) -> Void) throws(LedgerError) {
    try locked { () throws(LedgerError) in
      var record = try read(id)
      edit(&record)
      try write(record)
    }
  }

  private func write(_ record: SessionRecord) throws(LedgerError) {
    let path = try path(record.id)
    do { try AtomicFile.write(record.encoded(), to: path, mode: 0o600) } catch { throw .file(error) }
  }

  private func path(_ id: String) throws(LedgerError) -> String {
    guard Self.isID(id) else { throw .badID }
    return try folder() + "/" + id
  }

  /// Where the records are; made, and looked at, first.
  public func folder() throws(LedgerError) -> String {
    do { return try run.folder("sessions") } catch { throw .file(error) }
  }

  /// Names of all files that may be records, in no order.
  public func ids() throws(LedgerError) -> [String] {
    let folder = try folder()
    do { return try FolderListing.names(in: folder).filter(Self.isID) } catch { throw .file(error) }
  }

  /// Whether a record could have this id: a file of another name is none.
  public static func isID(_ text: String) -> Bool { text.utf8.count == 32 && text.utf8.allSatisfy(isHexadecimal) }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  /// Runs `body` while no other process changes a record.
  private func locked<Result>(_ body: () throws(LedgerError) -> Result) throws(LedgerError) -> Result {
    let folder = try folder()
    let descriptor = iampass_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw .file(FileError(.system(errno), path: folder)) }
    defer { close(descriptor) }
    do { try FileLock.take(descriptor, path: folder) } catch { throw .file(error) }
    return try body()
  }
}
