import Glibc
import HostSystem
import IAMPASSProtocol

/// A recovery code that was valid, and is used up on the disk.
///
/// Only ``RecoveryCodes`` makes it, so that a sign-in by a code that was not used up does not compile.
public struct AcceptedCode: Sendable, Equatable {
  public let user: UnixUsername
  /// The set's id and the code's number in it: they identify the use.
  public let set: String
  public let number: Int
  /// How many codes of the set are left.
  public let left: Int
  /// The id under which the use is reported to the service.
  public var use: String { "\(set).\(number)" }

  fileprivate init(_ set: RecoverySet, number: Int, left: Int) {
    user = set.user
    self.set = set.id
    self.number = number
    self.left = left
  }
}

/// The result of a typed code.
public enum CodeVerdict: Sendable, Equatable {
  case accepted(AcceptedCode)
  /// A code of the set that was used before.
  case used(number: Int)
  case wrong
}

/// `/var/lib/iampass/recovery`: a file for each user's set, and one for each code that was used.
///
/// A set never changes. If several processes use one code, the first to make its file wins, and no process waits for
/// another: users can stop their own su at any instruction.
public struct RecoveryCodes: Sendable {
  /// The greatest size of a set in bytes. Ten hashes take less than 1 KiB.
  private static let greatestSize = 4_096
  private static let usedEnding = ".used"
  private static let reportedEnding = ".told"

  private let state: RunFolder
  private let computer: String?
  private let hash = RecoveryHash()

  /// - Parameters:
  ///   - state: `/var/lib/iampass`.
  ///   - computer: see ``ComputerName``.
  public init(state: RunFolder, computer: String? = ComputerName.current()) {
    self.state = state
    self.computer = computer
  }

  /// Uses a typed code, once. The code is used up on the disk before this returns ``CodeVerdict/accepted(_:)``.
  ///
  /// This takes the same time for a user without codes, and for an unknown user.
  public func take(_ code: RecoveryCode, of user: SystemUser?, _ use: CodeUse) throws(RecoveryError) -> CodeVerdict {
    var found: RecoverySet?
    do { if let user { found = try usableSet(of: user) } } catch {
      _ = try hash.hash(code, by: RecoveryHash.nobodysSetting)
      throw error
    }
    let hashed = try hash.hash(code, by: found?.setting ?? RecoveryHash.nobodysSetting)
    guard let user, let set = found, let number = set.number(of: hashed) else { return .wrong }
    var use = use
    let left = max(0, try left(of: set) - 1)
    use.left = left
    guard try useUp(number, of: set, use) else { return .used(number: number) }
    // The set was revoked or replaced meanwhile, so its code is no longer valid.
    guard try usableSet(of: user)?.id == set.id else { return .wrong }
    return .accepted(AcceptedCode(set, number: number, left: left))
  }

  /// Makes the file that marks a code as used. False if the file is already there.
  private func useUp(_ number: Int, of set: RecoverySet, _ use: CodeUse) throws(RecoveryError) -> Bool {
    try onFile { () throws(FileError) in
      let folder = try self.folder()
      let path = folder + "/" + Self.usedName(number, of: set)
      guard let own = Digest.randomIdentifier() else { throw FileError(.system(EIO), path: path) }
      // Each writer has its own file name, so that two do not write one file.
      let file = try NewFile(for: path + "-" + own, mode: 0o600)
      try file.write(use.encoded())
      let isFirst = try file.takeFreePlace(path)
      // This is done even if another process was first: its file may not be on the disk yet.
      try FolderFlush.flush(folder)
      return isFirst
    }
  }

  // MARK: Sets

  /// The user's set if it is valid here; nil if there is none.
  private func usableSet(of user: SystemUser) throws(RecoveryError) -> RecoverySet? {
    guard let set = try set(of: user.name) else { return nil }
    let path = try onFile { () throws(FileError) in try self.path(of: user.name) }
    guard set.uid == user.uid else { throw .notThisUsers(path: path) }
    guard let computer else { throw .unknownComputer }
    guard set.computer == computer else { throw .notThisComputers(path: path) }
    return set
  }

  /// Nil if the user has none.
  public func set(of user: UnixUsername) throws(RecoveryError) -> RecoverySet? {
    guard isThere else { return nil }
    let path = try onFile { () throws(FileError) in try self.path(of: user) }
    guard let set = try read(path) else { return nil }
    guard set.user == user else { throw .notThisUsers(path: path) }
    return set
  }

  private func read(_ path: String) throws(RecoveryError) -> RecoverySet? {
    let bytes: [UInt8]
    do { bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize) } catch {
      if error.code == .missing { return nil }
      throw .file(error)
    }
    guard let set = RecoverySet(parsing: bytes) else { throw .damaged(path: path) }
    return set
  }

  /// All sets, sorted by user. The error names a file that is not a whole set.
  public func sets() throws(RecoveryError) -> [RecoverySet] {
    guard isThere else { return [] }
    let folder = try onFile { () throws(FileError) in try self.folder() }
    let names = try onFile { () throws(FileError) in try FolderListing.names(in: folder).filter(Self.isSetName) }
    var sets: [RecoverySet] = []
    for name in names {
      if let set = try read(folder + "/" + name) { sets.append(set) }
    }
    return sets.sorted { $0.user.text < $1.user.text }
  }

  /// Whether the set was made for this computer.
  public func isThisComputers(_ set: RecoverySet) -> Bool { set.computer == computer }

  /// Whether the set's name still belongs to the set's user.
  public func isOfThisName(_ set: RecoverySet) throws(UserLookupError) -> Bool {
    try SystemUser.find(named: set.user)?.uid == set.uid
  }

  /// The number of codes that were not used.
  public func left(of set: RecoverySet) throws(RecoveryError) -> Int {
    RecoverySet.codeCount - (try uses(of: set)).count
  }

  /// The uses of the set's codes, by number; nil for a use whose file is incomplete.
  public func uses(of set: RecoverySet) throws(RecoveryError) -> [Int: CodeUse?] {
    let folder = try onFile { () throws(FileError) in try self.folder() }
    var uses: [Int: CodeUse?] = [:]
    for number in 1...RecoverySet.codeCount {
      let path = folder + "/" + Self.usedName(number, of: set)
      do throws(FileError) {
        let bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize)
        uses.updateValue(CodeUse(parsing: bytes), forKey: number)
      } catch {
        // An unreadable file also shows that the code was used.
        if error.code != .missing { uses.updateValue(nil, forKey: number) }
      }
    }
    return uses
  }

  // MARK: Uses that the service is to be told of

  /// The uses to report, in no order. Unreadable files are left out.
  public func unreportedUses() throws(RecoveryError) -> [UnreportedUse] {
    guard isThere else { return [] }
    return try onFile { () throws(FileError) in
      let folder = try self.folder()
      let names = Set(try FolderListing.names(in: folder))
      return names.compactMap { file in
        guard let name = Self.use(named: file), !names.contains(name + Self.reportedEnding),
          let bytes = try? SecureFile.read(folder + "/" + file, privacy: .secret, limit: Self.greatestSize),
          let use = CodeUse(parsing: bytes)
        else { return nil }
        return UnreportedUse(id: name.split(separator: ".").dropFirst().joined(separator: "."), use: use, name: name)
      }
    }
  }

  /// Notes that the service knows the use. The code stays used up as long as its set is there.
  public func noteReported(_ unreported: UnreportedUse) throws(RecoveryError) {
    let current = try set(of: unreported.use.user)
    try onFile { () throws(FileError) in
      let path = try self.folder() + "/" + unreported.name
      if let current, unreported.id.hasPrefix(current.id + ".") {
        return try AtomicFile.write([], to: path + Self.reportedEnding, mode: 0o600)
      }
      guard unlink(path + Self.usedEnding) == 0 || errno == ENOENT else {
        throw FileError(.system(errno), path: path + Self.usedEnding)
      }
    }
  }

  /// Whether the file was read and is incomplete. A file that cannot be read now may be complete.
  private static func isCutOff(_ path: String) -> Bool {
    guard let bytes = try? SecureFile.read(path, privacy: .secret, limit: greatestSize) else { return false }
    return CodeUse(parsing: bytes) == nil
  }

  /// The name of a use without its ending; nil for any other file.
  private static func use(named file: String) -> String? {
    let parts = file.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, isSetName(parts[0]), FileID.isValid(parts[1]), Int(parts[2]) != nil,
      "." + parts[3] == usedEnding
    else { return nil }
    return parts[..<3].joined(separator: ".")
  }

  // MARK: Changes by an administrator

  /// Makes a set and its codes. They are not kept yet.
  public func draw(for user: SystemUser, at time: Int64) throws(RecoveryError) -> (
    set: RecoverySet, codes: [RecoveryCode]
  ) {
    guard let computer else { throw .unknownComputer }
    guard let id = Digest.randomIdentifier() else { throw .cannotHash("no random numbers") }
    let setting = try hash.newSetting()
    var codes: [RecoveryCode] = []
    var hashes: [String] = []
    while codes.count < RecoverySet.codeCount {
      guard let code = RecoveryCode.draw() else { throw .cannotHash("no random numbers") }
      guard !codes.contains(code) else { continue }
      hashes.append(try hash.hash(code, by: setting))
      codes.append(code)
    }
    let set = RecoverySet(
      id: id, user: user.name, uid: user.uid, created: time, computer: computer, setting: setting, hashes: hashes)
    return (set, codes)
  }

  /// Keeps the set in place of the user's former one, which is no longer valid.
  public func keep(_ set: RecoverySet) throws(RecoveryError) {
    try onFile { () throws(FileError) in
      let path = try self.path(of: set.user)
      try AtomicFile.write(set.encoded(), to: path, mode: 0o600)
      try FolderFlush.flush(SecureFile.folder(of: path))
      // The folder itself may be new.
      try FolderFlush.flush(state.path)
      try removeUses(of: set.user, except: set.id)
    }
  }

  /// Removes the user's codes. False if there are none.
  @discardableResult
  public func revoke(_ user: UnixUsername) throws(RecoveryError) -> Bool {
    guard isThere else { return false }
    return try onFile { () throws(FileError) in
      let path = try self.path(of: user)
      let isFound = unlink(path) == 0
      guard isFound || errno == ENOENT else { throw FileError(.system(errno), path: path) }
      // This comes before the uses are removed: a power cut must not bring the set back without them.
      try FolderFlush.flush(SecureFile.folder(of: path))
      try removeUses(of: user, except: nil)
      return isFound
    }
  }

  private func removeUses(of user: UnixUsername, except id: String?) throws(FileError) {
    let folder = try self.folder()
    let beginning = Self.name(of: user) + "."
    let names = Set(try FolderListing.names(in: folder))
    for name in names where name.hasPrefix(beginning) {
      if let id, name.hasPrefix(beginning + id) { continue }
      // The use is still to be reported. An incomplete file cannot be reported.
      let isUntold = Self.use(named: name).map { !names.contains($0 + Self.reportedEnding) } ?? false
      if isUntold, !Self.isCutOff(folder + "/" + name) { continue }
      guard unlink(folder + "/" + name) == 0 || errno == ENOENT else {
        throw FileError(.system(errno), path: folder + "/" + name)
      }
    }
  }

  // MARK: Names

  private static let folderName = "recovery"

  /// The folder, which is made when it is first needed.
  private func folder() throws(FileError) -> String { try state.folder(Self.folderName) }

  /// Looking for a set does not make the folder, so it works on a read-only disk.
  private var isThere: Bool {
    var found = stat()
    return lstat(state.path + "/" + Self.folderName, &found) == 0 || errno != ENOENT && errno != ENOTDIR
  }

  private func path(of user: UnixUsername) throws(FileError) -> String { try folder() + "/" + Self.name(of: user) }

  /// The name is a hash: a user's name never becomes part of a path.
  private static func name(of user: UnixUsername) -> String {
    Digest.hexadecimal(Digest.sha256(Array(user.text.utf8)))
  }

  private static func isSetName(_ name: String) -> Bool {
    name.utf8.count == 64 && name.utf8.allSatisfy { FileID.isHexadecimal($0) }
  }

  private static func usedName(_ number: Int, of set: RecoverySet) -> String {
    name(of: set.user) + ".\(set.id).\(number)" + usedEnding
  }

  private func onFile<Result>(_ body: () throws(FileError) -> Result) throws(RecoveryError) -> Result {
    do { return try body() } catch { throw .file(error) }
  }
}
