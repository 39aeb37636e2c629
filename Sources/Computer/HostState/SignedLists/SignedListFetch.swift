import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Fetches a signed list page by page: it gives the next question and takes the page. It does not use network, clock or
/// files.
public struct SignedListFetch: Sendable {
  public enum Step: Sendable {
    case ask(UserListQuestion)
    /// The new administrators, which must be kept before the next question.
    case administrators(Fleet)
    /// The list is complete and has these users.
    case done(SignedUsers, removed: [String], lostPhones: [String])
    /// The list has not changed.
    case unchanged
    /// No administrator of the set in force has signed a list that this computer could take.
    case nothingSigned
    case refused(Refusal)
  }

  /// Why a list is not valid. The last one stays in use.
  public enum Refusal: Sendable, Equatable {
    case older
    case otherApplication
    /// The first page of a list has no signature.
    case notSigned
    case badProof(DocumentRefusal)
    case badAdministrators(DocumentRefusal)
    /// An entry does not match the question or the entries before it.
    case badEntry
    /// The users are not those that were signed.
    case otherUsers
    case tooMany
    case tooManyPages
    case neverEnds

    /// The reason in a few words, for the log.
    public var explanation: String {
      switch self {
      case .older: "its version is older than the one that this computer has"
      case .otherApplication: "it is signed for another application"
      case .notSigned: "it is not signed"
      case .badProof(let refusal): "no administrator has signed it: \(refusal.explanation)"
      case .badAdministrators(let refusal):
        "no administrator has signed its set of administrators: \(refusal.explanation)"
      case .badEntry: "it has an entry that does not fit"
      case .otherUsers: "its users are not those that an administrator has signed"
      case .tooMany: "it has too many users or phones"
      case .tooManyPages: "it has too many pages"
      case .neverEnds: "it changes while it is read"
      }
    }
  }

  /// What this computer has of the list.
  public struct Known: Sendable {
    /// The kept version; nil if no complete list is kept.
    let version: UserListVersion?
    /// Lower versions are not taken.
    let floor: UserListVersion?
    /// Reads the kept list when it is needed.
    let load: @Sendable () -> SignedUsers?

    init(version: UserListVersion?, floor: UserListVersion?, load: @escaping @Sendable () -> SignedUsers?) {
      self.version = version
      self.floor = floor
      self.load = load
    }

    public init(_ place: SignedUsers.Place, credential: String) {
      self.init(
        version: SignedUsers.version(place, credential: credential),
        floor: SignedUsers.floor(place, credential: credential),
        load: { SignedUsers(place, credential: credential) })
    }
  }

  /// The most restarts. A list that changes between two pages is fetched from the beginning.
  private static let greatestRestarts = 5
  /// The most pages, including those before a restart: several times the pages of the largest list.
  private static let greatestPages = 10_000

  private let known: Known
  private let origin: String
  private let verifier: any SignatureVerifier
  private var fleet: Fleet
  /// The users of the pages so far, and what the complete list must be.
  private var list: (users: SignedUsers, isToBe: UserListHead.List)?
  private var question: UserListQuestion
  private var last = ""
  private var restarts = 0
  private var pages = 0

  /// - Parameter origin: the service's, as phones spell it.
  public init(known: Known, fleet: Fleet, origin: String, verifier: any SignatureVerifier) {
    self.known = known
    self.fleet = fleet
    self.origin = origin
    self.verifier = verifier
    question = Self.question(known.version, fleet)
  }

  private static func question(_ version: UserListVersion?, _ fleet: Fleet, after: String = "") -> UserListQuestion {
    UserListQuestion(
      since: version?.number ?? 0, after: after,
      signed: UserListQuestion.Signed(epoch: version?.epoch ?? 0, administrators: fleet.administrators.number))
  }

  /// The question for the next page.
  public var next: UserListQuestion { question }

  public mutating func took(_ page: SignedListPage) -> Step {
    pages += 1
    guard pages <= Self.greatestPages else { return .refused(.tooManyPages) }
    let reply = page.reply
    guard reply.administrators.isEmpty else { return administrators(reply) }
    guard question.after.isEmpty else { return further(reply) }
    guard reply.number > 0 else { return .nothingSigned }
    let version = UserListVersion(epoch: reply.epoch, number: reply.number)
    if let floor = known.floor, version < floor { return .refused(.older) }
    // There is no other list to take of this version: it would be one that another phone signed, or an older one.
    guard version != known.version else { return .unchanged }
    return first(reply, version)
  }

  /// Takes sets of administrators one after the other. Each is signed by a key of the set before it.
  private mutating func administrators(_ reply: SignedUserListReply) -> Step {
    for next in reply.administrators {
      guard let proof = next.proof else { return .refused(.badAdministrators(.approval(.missing))) }
      do throws(DocumentRefusal) { _ = try check().signer(of: .administrators(next.set), proof) } catch {
        return .refused(.badAdministrators(error))
      }
      guard let following = fleet.following(next.set) else { return .refused(.badEntry) }
      fleet = following
    }
    question = Self.question(known.version, fleet)
    list = nil
    return .administrators(fleet)
  }

  /// - Parameter former: earlier sets, which lead to the one in force by their digests. They need no signature.
  private func check(former: [AdministratorSet] = []) -> DocumentCheck {
    DocumentCheck(set: fleet.administrators, former: former, origin: origin, verifier: verifier)
  }

  private mutating func first(_ reply: SignedUserListReply, _ version: UserListVersion) -> Step {
    guard let head = reply.head, let proof = reply.proof else { return .refused(.notSigned) }
    guard head.application.utf8.elementsEqual(fleet.anchor.application.utf8) else { return .refused(.otherApplication) }
    do throws(DocumentRefusal) { _ = try check(former: reply.formerSets).signer(of: .users(head), proof) } catch {
      return .refused(.badProof(error))
    }
    let isToBe = head.list(of: fleet.anchor.group)
    var lines: [String: UserListLine] = [:]
    if reply.since > 0 {
      // Changes since a list that is not kept here are of no use.
      guard reply.since == question.since, let former = known.load() else { return wholeList() }
      lines = former.lines
    }
    list = (SignedUsers(credential: fleet.credential, version: version, lines: lines), isToBe)
    last = ""
    return take(reply)
  }

  private mutating func further(_ reply: SignedUserListReply) -> Step {
    guard list?.users.version == UserListVersion(epoch: reply.epoch, number: reply.number) else { return again() }
    return take(reply)
  }

  private mutating func take(_ reply: SignedUserListReply) -> Step {
    for change in reply.changes {
      // Each page continues after the last one, so that no entry is missing or comes twice.
      guard last.utf8.lexicographicallyPrecedes(change.name.utf8) else { return .refused(.badEntry) }
      list?.users.take(change)
      last = change.name
    }
    guard let list else { return again() }
    guard list.users.fits else { return .refused(.tooMany) }
    if reply.hasMore {
      guard !reply.changes.isEmpty else { return .refused(.badEntry) }
      question = UserListQuestion(since: reply.since, after: last, signed: question.signed)
      return .ask(question)
    }
    guard list.users.isList(list.isToBe) else { return reply.since > 0 ? wholeList() : .refused(.otherUsers) }
    let former = known.load()
    return .done(
      list.users, removed: former.map { list.users.removed(since: $0) } ?? [],
      lostPhones: former.map { list.users.lostPhones(since: $0) } ?? [])
  }

  private mutating func wholeList() -> Step {
    question = Self.question(nil, fleet)
    return again()
  }

  private mutating func again() -> Step {
    restarts += 1
    guard restarts <= Self.greatestRestarts else { return .refused(.neverEnds) }
    question = UserListQuestion(since: question.since, after: "", signed: question.signed)
    list = nil
    return .ask(question)
  }
}
