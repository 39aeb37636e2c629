import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The users that the service lists for this computer. They are kept in `state_dir/service/users`. The first line has
/// the credential and the version. Then follows a line `name:token` for each user, as in `/etc/iampass/users`.
public struct ServiceUsers: Sendable {
  /// The greatest number of users. A longer list is not taken.
  public static let greatestCount = 100_000

  /// The id of this computer's credential.
  public let credential: String
  public private(set) var version: UserListVersion
  public private(set) var tokens: [String: Secret] = [:]
  /// The size of the users' lines in bytes.
  private var size = 0

  /// An empty list.
  public init(credential: String, version: UserListVersion) {
    self.credential = credential
    self.version = version
  }

  /// Reads the kept list; nil if there is none, if it is for another credential, or if the file is damaged. The whole
  /// list is then fetched again.
  public init?(path: String, credential: String) {
    guard let bytes = try? SecureFile.read(path, privacy: .secret, limit: UserTokens.greatestSize),
      let heading = ListHeading(.users, beginning: bytes), heading.credential == credential,
      let file = try? UserTokens(parsing: bytes),
      let entries = try? file.entries()
    else { return nil }
    self.init(credential: credential, version: heading.version)
    for (user, token) in entries { set(token, of: user.text) }
  }

  /// The user's token for a sign-in, as ``UserTokens/token(of:inFile:sharing:isRoot:)``; nil if the list is for another
  /// credential, because this computer's own was not fetched yet.
  ///
  /// The first line and the user's line are from one file, even if another file replaces it meanwhile.
  public static func token(
    of user: UnixUsername, inFile path: String, for credential: String, sharing: SharedTokens
  ) throws(UserTokensError) -> Secret? {
    let file: PieceFile
    var heading: ListHeading?
    do {
      file = try PieceFile(path, privacy: .secret, limit: UserTokens.greatestSize)
      try file.read { piece in
        heading = ListHeading(.users, beginning: piece)
        return false
      }
    } catch { throw .file(error) }
    guard let heading else { throw .notSaidForWhom }
    guard heading.credential == credential else { return nil }
    return try UserTokens.token(of: user, in: file, sharing: sharing)
  }

  public var bytes: [UInt8] {
    let lines = tokens.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { name in
      "\(name):\(tokens[name]?.exposedValue ?? "")"
    }
    return Array(([firstLine] + lines).joined(separator: "\n").utf8) + [UInt8(ascii: "\n")]
  }

  /// Whether the list fits into a users file.
  fileprivate var fits: Bool { tokens.count <= Self.greatestCount && bytesCount <= UserTokens.greatestSize }

  private var firstLine: String { ListHeading(.users, credential: credential, version: version).line }

  private var bytesCount: Int { firstLine.utf8.count + 1 + size }

  /// Writes the file whole or not at all. Only root can read it. The helper and `iampassctl join` may write at the same
  /// moment.
  ///
  /// - Parameter state: the folder that outlives a restart of the computer.
  /// - Returns: what is kept now. A newer list of the same credential stays.
  public func write(in state: RunFolder) throws(FileError) -> ServiceUsers {
    let path = try state.folder("service") + "/users"
    guard fits else { throw FileError(.tooLarge, path: path) }
    let lock = try EditorLock(of: path)
    defer { withExtendedLifetime(lock) {} }
    if let kept = ServiceUsers(path: path, credential: credential), version < kept.version { return kept }
    try AtomicFile.write(bytes, to: path, mode: 0o600)
    return self
  }

  private mutating func set(_ token: Secret?, of name: String) {
    let separators = 2
    if let former = tokens[name] { size -= name.utf8.count + former.exposedBytes.count + separators }
    if let token { size += name.utf8.count + token.exposedBytes.count + separators }
    tokens[name] = token
  }

  /// Applies one change; false if its name or token is not valid in a users file.
  fileprivate mutating func take(_ change: UserListReply.Change) -> Bool {
    guard let name = UnixUsername(validating: change.name), name.text.utf8.first != UInt8(ascii: "#") else {
      return false
    }
    switch change {
    case .removed: set(nil, of: name.text)
    case .listed(_, let token):
      guard UserTokens.isToken(token.exposedBytes) else { return false }
      set(token, of: name.text)
    }
    return true
  }

  fileprivate mutating func stand(at version: UserListVersion) { self.version = version }
}

/// Fetches a list page by page: it gives the next question and takes the page. It does not use network, clock or files.
public struct UserListFetch: Sendable {
  public enum Step: Sendable {
    case ask(UserListQuestion)
    /// The list is complete and has these users.
    case done(ServiceUsers, removed: [String])
    /// The list has not changed.
    case unchanged
    case refused(Refusal)
  }

  /// Why a list is not valid. The last one stays in use.
  public enum Refusal: String, Sendable, Equatable {
    case older = "its version is older than the one that this computer has"
    case badEntry = "it has an entry that is not a user's"
    case wrongCount = "it is not whole"
    case tooMany = "it has too many users"
    case tooLarge = "it is too large"
    case tooManyPages = "it has too many pages"
    case neverEnds = "it changes while it is read"
  }

  /// The most restarts. A list that changes between two pages is fetched from the beginning.
  private static let greatestRestarts = 5
  /// The most pages, including those before a restart: several times the pages of the largest list.
  private static let greatestPages = 2_000

  /// The list that this computer has; nil if it has none.
  private let known: ServiceUsers?
  private let credential: String
  private var list: ServiceUsers?
  private var question: UserListQuestion
  private var last = ""
  private var restarts = 0
  private var pages = 0

  public init(known: ServiceUsers?, credential: String) {
    self.known = known?.credential == credential ? known : nil
    self.credential = credential
    question = UserListQuestion(since: self.known?.version.number ?? 0, after: "")
  }

  /// The question for the next page.
  public var next: UserListQuestion { question }

  public mutating func took(_ page: UserListPage) -> Step {
    pages += 1
    guard pages <= Self.greatestPages else { return .refused(.tooManyPages) }
    let reply = page.reply
    let version = UserListVersion(epoch: page.epoch, number: reply.version)
    if let known, version < known.version { return .refused(.older) }
    if let known, question.after.isEmpty, version == known.version, reply.since > 0 {
      return reply.changes.isEmpty && reply.count == Int64(known.tokens.count) ? .unchanged : wholeList()
    }
    // Changes since a version of another history are of no use.
    if reply.since > 0, known?.version.epoch != page.epoch { return wholeList() }
    if question.after.isEmpty {
      list = reply.since > 0 ? known : ServiceUsers(credential: credential, version: version)
      list?.stand(at: version)
      last = ""
    }
    guard list?.version == version else { return again() }
    for change in reply.changes {
      // Each page continues after the last one, so that no entry is missing or comes twice.
      guard last.utf8.lexicographicallyPrecedes(change.name.utf8), list?.take(change) == true else {
        return .refused(.badEntry)
      }
      last = change.name
    }
    guard let list, list.tokens.count <= ServiceUsers.greatestCount, reply.count <= ServiceUsers.greatestCount else {
      return .refused(.tooMany)
    }
    guard list.fits else { return .refused(.tooLarge) }
    if reply.hasMore {
      guard !reply.changes.isEmpty else { return .refused(.badEntry) }
      question = UserListQuestion(since: reply.since, after: last)
      return .ask(question)
    }
    guard Int64(list.tokens.count) == reply.count else {
      return reply.since > 0 ? wholeList() : .refused(.wrongCount)
    }
    let removed = known.map { known in known.tokens.keys.filter { list.tokens[$0] == nil } } ?? []
    return .done(list, removed: removed.sorted())
  }

  private mutating func wholeList() -> Step {
    question = UserListQuestion(since: 0, after: "")
    return again()
  }

  private mutating func again() -> Step {
    restarts += 1
    guard restarts <= Self.greatestRestarts else { return .refused(.neverEnds) }
    question = UserListQuestion(since: question.since, after: "")
    list = nil
    return .ask(question)
  }
}
