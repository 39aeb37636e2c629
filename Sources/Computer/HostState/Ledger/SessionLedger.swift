import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why a record cannot be read or changed.
public enum LedgerError: Error, Sendable, Equatable {
  case file(FileError)
  /// The id does not have a valid form.
  case badID
  /// The file is not a record of this version.
  case notARecord
  /// The record belongs to another user, service or process, or was claimed before.
  case notYours
  /// `/proc` does not list this process.
  case unknownProcess

  public var explanation: String {
    switch self {
    case .file(let error): error.explanation
    case .badID: "no such session record"
    case .notARecord: "session record is damaged"
    case .notYours: "session record belongs to another sign-in"
    case .unknownProcess: "this process cannot be identified: /proc is missing, or another pid namespace's"
    }
  }
}

/// `/run/iampass/sessions`: one file for each session that a phone opened, in a folder of mode 0700.
///
/// The file itself never changes. Files beside it say what happened to the session (``RecordFacts``). The previous
/// version changed the file.
public struct SessionLedger: Sendable {
  private static let greatestSize = 16 * 1024

  private let run: RunFolder
  private var waiting: WaitingRecords { WaitingRecords(run: run) }

  public init(run: RunFolder) { self.run = run }

  /// Checks that this process can have a record, before a phone is asked.
  public func requireRecordable() throws(LedgerError) {
    _ = try openers()
    _ = try folder()
  }

  private func openers() throws(LedgerError) -> (process: ProcessIdentity, parent: ProcessIdentity) {
    guard let process = ProcessIdentity.current(), let parent = ProcessIdentity.parent() else { throw .unknownProcess }
    return (process, parent)
  }

  /// Writes a new record. Only a confirmed session can be recorded.
  ///
  /// - Parameter opensSession: whether the service opens a session that the helper watches.
  public func record(
    _ session: ActiveSession, user: SystemUser, service: String, remoteHost: String?, tty: String?, duration: Int64,
    opensSession: Bool
  ) throws(LedgerError) -> SessionRecord {
    try record(
      session.remote, session.mark, user: user, service: service, remoteHost: remoteHost, tty: tty, duration: duration,
      phone: ApprovingPhone(session.approval), opensSession: opensSession)
  }

  /// Writes the record of a sign-in without the service. It needs the proof of such a sign-in.
  ///
  /// - Parameters:
  ///   - duration: seconds after which the session ends.
  ///   - opensSession: whether the service opens a session that the helper watches.
  public func record(
    _ proof: OfflineProof, user: SystemUser, service: String, remoteHost: String?, tty: String?, duration: Int64,
    opensSession: Bool
  ) throws(LedgerError) -> SessionRecord {
    guard proof.user == user.name else { throw .notYours }
    return try record(
      nil, nil, user: user, service: service, remoteHost: remoteHost, tty: tty, duration: duration,
      offlineUse: proof.use(at: Int64(time(nil))), phone: proof.phone, opensSession: opensSession)
  }

  private func record(
    _ session: RemoteSession?, _ mark: ServiceMark?, user: SystemUser, service: String, remoteHost: String?,
    tty: String?, duration: Int64, offlineUse: SessionRecord.OfflineUse? = nil, phone: ApprovingPhone?,
    opensSession: Bool
  ) throws(LedgerError) -> SessionRecord {
    guard let id = Digest.randomIdentifier() else { throw .badID }
    let (process, parent) = try openers()
    let record = SessionRecord(
      id: id, user: user.name, uid: user.uid, service: service, remoteHost: remoteHost, tty: tty, session: session,
      mark: mark, process: process, parent: parent, created: BootTime.seconds(), duration: duration,
      offlineUse: offlineUse, phone: phone, opensSession: opensSession)
    try write(record)
    if !record.opensSession { return record }
    do throws(LedgerError) { try waiting.add(record) } catch {
      // A file that stays would make this process's next session fail.
      waiting.remove(record)
      try? remove(id)
      throw error
    }
    return record
  }

  private func write(_ record: SessionRecord) throws(LedgerError) {
    let path = try Self.path(record.id, in: folder())
    do { try AtomicFile.write(record.encoded(), to: path, mode: 0o600) } catch { throw .file(error) }
  }

  /// The record with all its facts.
  public func read(_ id: String) throws(LedgerError) -> SessionRecord {
    let folder = try folder()
    let path = try Self.path(id, in: folder)
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch { throw .file(error) }
    guard var record = SessionRecord(parsing: bytes), record.id == id else { throw .notARecord }
    try addFacts(to: &record, in: folder)
    // A record is removed before its facts: while the record is there, all its facts are.
    try requireRecord(path)
    return record
  }

  private func addFacts(to record: inout SessionRecord, in folder: String) throws(LedgerError) {
    let facts = RecordFacts(folder: folder)
    if let claim = try facts.read(.claim, of: record.id) {
      record.isClaimed = true
      if claim == RecordFacts.givenUp { record.isReleased = true }
    }
    if let bytes = try facts.read(.binding, of: record.id) {
      if bytes == RecordFacts.givenUp {
        record.isReleased = true
      } else {
        guard let binding = SessionRecord.Binding(parsing: bytes) else { throw .notARecord }
        record.binding = binding
      }
    }
    if try facts.read(.released, of: record.id) != nil { record.isReleased = true }
    if try facts.read(.logoutRequested, of: record.id) != nil { record.isLogoutRequested = true }
  }

  /// The id of the record that waits for the session that this process opens, even if PAM's data and environment were
  /// lost since the approval. Nil if none waits.
  public func waitingRecord(_ service: String) throws(LedgerError) -> String? {
    if let process = ProcessIdentity.current() { return try waiting.id(for: process, service) }
    guard try !waiting.mayHaveRecord(forNumber: getpid()) else { throw .unknownProcess }
    return nil
  }

  /// Makes the record no longer wait for a session, because the sign-in has failed. The helper may have removed the
  /// record before.
  public func stopWaiting(_ id: String) {
    if let record = try? read(id) { return waiting.remove(record) }
    waiting.remove(id, of: [ProcessIdentity.current(), ProcessIdentity.parent()].compactMap(\.self))
  }

  /// Claims the record for the session that this process opens. A second claim throws.
  ///
  /// sshd authenticates in a child and opens the session in its parent, so the claimer must be one of the two processes
  /// that the record names.
  public func claim(
    _ id: String, user: UnixUsername, service: String, by claimer: ProcessIdentity
  ) throws(LedgerError) -> SessionRecord {
    let record = try read(id)
    guard !record.isClaimed, !record.isReleased, record.user == user, record.service == service,
      record.process == claimer || record.parent == claimer
    else { throw .notYours }
    guard try set(.claim, of: id) else { throw .notYours }
    let claimed = try read(id)
    guard !claimed.isReleased else { throw .notYours }
    return claimed
  }

  /// Binds a claimed record to a login session. This can be done once.
  ///
  /// - Throws: ``LedgerError/notYours`` if the record is bound already, or was given up meanwhile.
  public func bind(_ id: String, to binding: SessionRecord.Binding) throws(LedgerError) {
    guard try set(.binding, of: id, binding.encoded()) else { throw .notYours }
    stopWaiting(id)
  }

  /// Whether the record is bound to this very session, which the host has not closed.
  public func isBound(
    _ id: String, user: UnixUsername, service: String, to binding: SessionRecord.Binding
  ) throws(LedgerError) -> Bool {
    let record = try read(id)
    return record.binding == binding && !record.isReleased && record.user == user && record.service == service
  }

  /// Replaces a session's record by the record of a new approval. The logind session stays the same.
  ///
  /// - Parameter duration: seconds from now.
  /// - Throws: ``LedgerError/notYours`` if the session is over, or about to be ended.
  public func renew(
    _ known: SessionRecord, by session: ActiveSession, duration: Int64
  ) throws(LedgerError) -> SessionRecord {
    guard let id = Digest.randomIdentifier() else { throw .badID }
    let record = try read(known.id)
    guard record.binding != nil, record.binding == known.binding, !record.isReleased, !record.isLogoutRequested else {
      throw .notYours
    }
    var renewed = SessionRecord(
      id: id, user: record.user, uid: record.uid, service: record.service, remoteHost: record.remoteHost,
      tty: record.tty, session: session.remote, mark: session.mark, process: record.process, parent: record.parent,
      created: BootTime.seconds(), duration: duration, phone: ApprovingPhone(session.approval),
      opensSession: record.opensSession)
    renewed.isClaimed = true
    renewed.binding = record.binding
    try write(renewed)
    // The helper watches both records until it knows of the change, so the session is always watched.
    do throws(LedgerError) {
      // Another process has released the record first, because it has closed the session.
      guard try set(.released, of: record.id) else { throw .notYours }
    } catch {
      try? remove(renewed.id)
      throw error
    }
    // An administrator who has ended the session meanwhile meant the new record too.
    if try read(record.id).isLogoutRequested { try requestLogout(renewed.id) }
    return renewed
  }

  /// Notes that the host has closed the record's session.
  public func release(_ id: String) throws(LedgerError) { _ = try set(.released, of: id) }

  /// Marks a record whose sign-in opened no session, or whose session is over, so that it cannot be claimed any more.
  ///
  /// - Returns: the new record if it has changed since `known` was read; nil if it is marked.
  public func retire(_ known: SessionRecord) throws(LedgerError) -> SessionRecord? {
    let record = try read(known.id)
    guard record == known else { return record }
    // The next fact that could be set is made impossible.
    let isFirst =
      if !known.isClaimed {
        try set(.claim, of: known.id, RecordFacts.givenUp)
      } else if known.binding == nil {
        try set(.binding, of: known.id, RecordFacts.givenUp)
      } else {
        try set(.released, of: known.id)
      }
    return isFirst ? nil : try read(known.id)
  }

  /// Notes that an administrator has ended the record's session.
  public func requestLogout(_ id: String) throws(LedgerError) { _ = try set(.logoutRequested, of: id) }

  /// Removes a record after the service was told of its end.
  public func remove(_ id: String) throws(LedgerError) {
    let folder = try folder()
    let path = try Self.path(id, in: folder)
    guard unlink(path) == 0 || errno == ENOENT else { throw .file(FileError(.system(errno), path: path)) }
    let facts = RecordFacts(folder: folder)
    for fact in RecordFacts.Fact.allCases { try facts.remove(fact, of: id) }
  }

  /// Removes files that killed writers have left: unfinished records, which have a secret in them, and facts of removed
  /// records. Also removes files that wait for sessions of ended processes.
  public func removeUnfinished() {
    guard let folder = try? folder(), let names = try? FolderListing.names(in: folder) else { return }
    UnfinishedFiles.removeOld(of: names, in: folder)
    var found = stat()
    for name in names {
      if let id = RecordFacts.id(ofFactNamed: name), lstat(folder + "/" + id, &found) != 0, errno == ENOENT {
        unlink(folder + "/" + name)
      }
    }
    waiting.removeEnded()
  }

  /// - Returns: false if the fact was set before.
  private func set(_ fact: RecordFacts.Fact, of id: String, _ bytes: [UInt8] = []) throws(LedgerError) -> Bool {
    let folder = try folder()
    let path = try Self.path(id, in: folder)
    try requireRecord(path)
    let facts = RecordFacts(folder: folder)
    let isFirst = try facts.set(fact, of: id, bytes)
    do { try requireRecord(path) } catch {
      // The record was removed meanwhile, perhaps before this fact could be removed with it.
      try? facts.remove(fact, of: id)
      throw error
    }
    return isFirst
  }

  private func requireRecord(_ path: String) throws(LedgerError) {
    var found = stat()
    guard lstat(path, &found) == 0 else {
      throw .file(errno == ENOENT ? FileError(.missing, path: path) : FileError(.system(errno), path: path))
    }
  }

  private static func path(_ id: String, in folder: String) throws(LedgerError) -> String {
    guard FileID.isValid(id) else { throw .badID }
    return folder + "/" + id
  }

  /// The folder of the records, made and checked first.
  public func folder() throws(LedgerError) -> String {
    do { return try run.folder("sessions") } catch { throw .file(error) }
  }

  /// Names of all files that may be records, in no order.
  public func ids() throws(LedgerError) -> [String] {
    let folder = try folder()
    do { return try FolderListing.names(in: folder).filter(FileID.isValid) } catch { throw .file(error) }
  }

  /// The id of the record that a file of this name is the record or a fact of; nil for any other name.
  public static func recordID(ofFileNamed name: String) -> String? {
    FileID.isValid(name) ? name : RecordFacts.id(ofFactNamed: name)
  }
}
