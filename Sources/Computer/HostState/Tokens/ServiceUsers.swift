import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The users that the service lists for this computer, as they are kept in `state_dir/service/users`: the first line says for
/// which credential and in which version, and then a line `name:token` a user, as in `/etc/iampass/users`.
public struct ServiceUsers: Sendable {
  /// The greatest number of users: a list of more is refused.
  public static let greatestCount = 100_000

  /// The id of this computer's credential.
  public let credential: String
  public private(set) var version: UserListVersion
  public private(set) var tokens: [String: Secret] = [:]
  /// Bytes of the users' lines.
  private var size = 0

  /// An empty list.
  public init(credential: String, version: UserListVersion) {
    self.credential = credential
    self.version = version
  }

  /// What is kept; nil if nothing is, or for another credential, or if the file is damaged: the list is then fetched as
  /// a whole.
  public init?(path: String, credential: String) {
    guard let bytes = try? SecureFile.read(path, privacy: .secret, limit: UserTokens.greatestSize),
      let heading = ListHeading(.users, beginning: bytes), heading.credential == credential,
      let file = try? UserTokens(parsing: bytes),
      let entries = try? file.entries()
    else { return nil }
    self.init(credential: credential, version: heading.version)
    for (user, token) in entries { set(token, of: user.text) }
  }

  /// The user's token for a sign-in, as ``UserTokens/token(of:inFile:sharing:isRoot:)``; nil if the list is of another
  /// credential: this computer's own was not fetched yet.
  ///
  /// The first line and the user's are of one file, whatever takes its place meanwhile.
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

  /// Whether a users file can have all of it.
  fileprivate var fits: Bool { tokens.count <= Self.greatestCount && bytesCount <= UserTokens.greatestSize }

  private var firstLine: String { ListHeading(.users, credential: credential, version: version).line }

  private var bytesCount: Int { firstLine.utf8.count + 1 + size }

  /// Whole or not at all; root's alone. The helper and `iampassctl join` may write at the same moment.
  ///
  /// - Parameter state: the folder that outlives a start of the computer.
  /// - Returns: what is kept now: a newer list of the same credential stays.
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

  /// Takes one change; false for a name or token that a users file cannot have.
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

/// How a list is fetched, page by page: what to ask next, and what became of it. Knows no network, clock or file.
public struct UserListFetch: Sendable {
  public enum Step: Sendable {
    case ask(UserListQuestion)
    /// The list has these users now.
    case done(ServiceUsers, removed: [String])
    /// It is as it was.
    case unchanged
    case refused(Refusal)
  }

  /// Why a list is not taken. The last one goes on being used.
  public enum Refusal: String, Sendable, Equatable {
    case older = "its version is older than the one that this computer has"
    case badEntry = "it has an entry that is not a user's"
    case wrongCount = "it is not whole"
    case tooMany = "it has too many users"
    case tooLarge = "it is too large"
    case tooManyPages = "it has too many pages"
    case neverEnds = "it changes while it is read"
  }

  /// A list that changes between two pages is begun again this often.
  private static let greatestRestarts = 5
  /// Pages of one list, those before a restart too: several times as many as the largest list has.
  private static let greatestPages = 2_000

  /// As this computer has it; nil: it has none.
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

  /// The question whose page is to come next.
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
    // What changed since a version of another history says nothing.
    if reply.since > 0, known?.version.epoch != page.epoch { return wholeList() }
    if question.after.isEmpty {
      list = reply.since > 0 ? known : ServiceUsers(credential: credential, version: version)
      list?.stand(at: version)
      last = ""
    }
    guard list?.version == version else { return again() }
    for change in reply.changes {
      // Each page goes on after the one before, so that no entry is left out or comes twice.
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
