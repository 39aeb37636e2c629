import HostSystem
import IAMPASSProtocol
import WorkerLink

/// A version of a list of users in the service's history.
public struct UserListVersion: Sendable, Equatable, Comparable {
  /// As in the service's mark: a restored database begins a higher epoch.
  public let epoch: Int64
  public let number: Int64

  public init(epoch: Int64, number: Int64) {
    self.epoch = epoch
    self.number = number
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.epoch == right.epoch ? left.number < right.number : left.epoch < right.epoch
  }
}

/// A page whose reply was signed for exactly this question.
public struct UserListPage: Sendable, Equatable {
  public let reply: UserListReply
  public let epoch: Int64
  /// Whether the service holds its reply until the list changes.
  public let isHeld: Bool

  public init(reply: UserListReply, epoch: Int64, isHeld: Bool) {
    self.reply = reply
    self.epoch = epoch
    self.isHeld = isHeld
  }
}

/// A page of a signed list, whose reply was signed for exactly this question. The administrators' signatures are not
/// verified.
public struct SignedListPage: Sendable, Equatable {
  public let reply: SignedUserListReply
  /// Whether the service holds its reply until the list changes.
  public let isHeld: Bool
  /// The unsigned changes that the service reports; nil if it reports none.
  public let unsigned: UnsignedChanges?

  public init(reply: SignedUserListReply, isHeld: Bool, unsigned: UnsignedChanges? = nil) {
    self.reply = reply
    self.isHeld = isHeld
    self.unsigned = unsigned
  }
}

/// A question for the service's list of users for this computer.
public struct UserListQuestion: Sendable, Equatable {
  /// The version since which changes are asked for; 0: the whole list.
  public let since: Int64
  /// The page begins after this name; empty: the first page.
  public let after: String
  /// Distinguishes computers that have the same credential; nil: none is sent.
  public let mark: Mark?
  /// Set if administrators' phones sign the list; nil if the service's own word counts.
  public let signed: Signed?

  /// The further parts of a question for a signed list.
  public struct Signed: Sendable, Equatable {
    /// The epoch of the version that this computer has; 0 if it has none.
    public let epoch: Int64
    /// The number of the last set of administrators that this computer has seen.
    public let administrators: Int64

    public init(epoch: Int64, administrators: Int64) {
      self.epoch = epoch
      self.administrators = administrators
    }
  }

  /// A mark by which the service notices a copied computer.
  public struct Mark: Sendable, Equatable {
    public let mark: String
    /// The mark that this one replaces; nil if the service already knows this one.
    public let former: String?

    public init(mark: String, former: String?) {
      self.mark = mark
      self.former = former
    }
  }

  public init(since: Int64, after: String, mark: Mark? = nil, signed: Signed? = nil) {
    self.since = since
    self.after = after
    self.mark = mark
    self.signed = signed
  }
}

extension SessionInquiry {
  /// - Parameter waitSeconds: how long the service may hold its reply; nil: it replies at once.
  public func users(_ question: UserListQuestion, waitSeconds: Int64?) throws(ServiceError) -> SealedRequest {
    try seal.userListRequest(question, waitSeconds: waitSeconds)
  }

  /// - Throws: unless the service signed the reply and the target. The list decides who may sign in, so this check is
  ///   stricter than for other replies.
  public func users(
    _ reply: HTTPReply, to question: SealedRequest, asked: UserListQuestion
  ) throws(ServiceError) -> UserListPage {
    try checkTarget(of: reply, to: question)
    let list = try understood { () throws(MessageError) in try UserListReply(parsing: reply.body) }
    guard list.credential == seal.credentialID, list.since == asked.since, list.version >= 1, list.count >= 0 else {
      throw .replyForAnother
    }
    guard let mark = ServiceMark(in: reply.body) else { throw .badReply(.member("mark")) }
    return UserListPage(reply: list, epoch: mark.epoch, isHeld: Self.isHeld(reply))
  }

  /// As ``users(_:to:asked:)``, for a signed list.
  public func signedUsers(_ reply: HTTPReply, to question: SealedRequest) throws(ServiceError) -> SignedListPage {
    try checkTarget(of: reply, to: question)
    let list = try understood { () throws(MessageError) in try SignedUserListReply(parsing: reply.body) }
    guard list.credential == seal.credentialID else { throw .replyForAnother }
    return SignedListPage(reply: list, isHeld: Self.isHeld(reply))
  }

  private func checkTarget(of reply: HTTPReply, to question: SealedRequest) throws(ServiceError) {
    try seal.check(reply, to: question)
    guard seal.check(of: reply, to: question).strength == .target else { throw .replyTargetNotSigned }
  }

  private static func isHeld(_ reply: HTTPReply) -> Bool {
    reply.header("Preference-Applied")?.hasPrefix("wait") ?? false
  }
}

/// Fetches the list of users over one connection, without held replies.
public final class UserListClient {
  private let inquiry: SessionInquiry
  private let channel: SignedChannel

  public init(
    settings: ServiceSettings, credential: ServiceCredential, transport: any HTTPTransport,
    unixTime: @escaping () -> Int64
  ) {
    let seal = RequestSeal(settings: settings, credential: credential, unixTime: unixTime)
    inquiry = SessionInquiry(seal: seal)
    channel = SignedChannel(seal: seal, transport: transport)
  }

  public func page(
    _ asked: UserListQuestion, deadline: MonotonicInstant
  ) throws(ServiceError) -> UserListPage {
    let question = try inquiry.users(asked, waitSeconds: nil)
    let reply = try channel.uncheckedReply(to: question, deadline: deadline)
    return try inquiry.users(reply, to: question, asked: asked)
  }

  public func signedPage(
    _ asked: UserListQuestion, deadline: MonotonicInstant
  ) throws(ServiceError) -> SignedListPage {
    let question = try inquiry.users(asked, waitSeconds: nil)
    let reply = try channel.uncheckedReply(to: question, deadline: deadline)
    let page = try inquiry.signedUsers(reply, to: question)
    return SignedListPage(reply: page.reply, isHeld: page.isHeld, unsigned: UnsignedChanges(inReply: reply.body))
  }
}
