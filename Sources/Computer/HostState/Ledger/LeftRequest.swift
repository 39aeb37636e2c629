import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A request that a screen locker has stopped waiting for, and that its user's phone may still answer. The same locker
/// resumes it at the next Enter. It has no match code.
public struct LeftRequest: Sendable, Equatable {
  /// Files of another version are ignored.
  private static let version: Int64 = 1
  /// The age, in seconds, from which a request is not resumed, whatever the service says: a user who answers so late
  /// has left the screen. `iampass-server` waits 60 s for an answer, and keeps an approval for 30 s.
  static let greatestAge: Int64 = 90

  /// The locker that made the request. No other one resumes it, not even the same locker after a restart.
  public struct Owner: Sendable, Equatable {
    public let uid: UInt32
    /// PAM_SERVICE, as the program has it.
    public let service: String
    public let process: ProcessIdentity

    public init(uid: UInt32, service: String, process: ProcessIdentity) {
      self.uid = uid
      self.service = service
      self.process = process
    }

    private static let idBytes = 16

    /// The file's name. A user has one request for each service.
    public var id: String {
      Digest.hexadecimal(Array(Digest.sha256(Array("\(uid) \(service)".utf8)).prefix(Self.idBytes)))
    }
  }

  public let owner: Owner
  /// The mark of the question; see ``ApprovalQuestion/mark(of:)``.
  public let mark: String
  /// When the request was started, in seconds since boot.
  public let began: Int64
  public let session: OpenSession
  /// The session's name at the service, for which the phone signs; nil if the service gave none.
  public let name: String?
  /// What the phone signs; nil if the service is trusted.
  public let challenge: ApprovalChallenge?

  public init(
    owner: Owner, mark: String, began: Int64, session: OpenSession, name: String?, challenge: ApprovalChallenge?
  ) {
    self.owner = owner
    self.mark = mark
    self.began = began
    self.session = session
    self.name = name
    self.challenge = challenge
  }

  /// Whether this owner may resume the request, with the same question.
  ///
  /// - Parameter now: seconds since boot.
  public func isOpen(to other: Owner, mark: String, now: Int64) -> Bool {
    owner == other && self.mark == mark && (0...Self.greatestAge).contains(now - began)
  }

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "uid": .integer(Int64(owner.uid)), "service": .string(owner.service),
      "process": SessionRecord.json(owner.process), "mark": .string(mark), "began": .integer(began),
      "session": session.json, "name": name.map { .string($0) },
      ApprovalChallenge.name: challenge.map { .string($0.text) },
    ]).encoded()
  }

  /// Nil for bytes that are not such a request of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let uid = json["uid"]?.integer.flatMap({ UInt32(exactly: $0) }), let service = json["service"]?.string,
      let process = json["process"].flatMap(SessionRecord.identity), let mark = json["mark"]?.string,
      let began = json["began"]?.integer,
      let session = json["session"].flatMap({ OpenSession($0) })
    else { return nil }
    let challenge: ApprovalChallenge?
    do { challenge = try ApprovalChallenge.member(of: json) } catch { return nil }
    self.init(
      owner: Owner(uid: uid, service: service, process: process), mark: mark, began: began,
      session: session, name: json["name"]?.string, challenge: challenge)
  }
}

/// `/run/iampass/left`: the requests that lockers have left. Only root can read it.
public struct LeftRequests: Sendable {
  private let files: RecordFiles

  public init(run: RunFolder) { files = RecordFiles(run: run, name: "left") }

  /// Removes and returns the request of this user and service, whichever locker left it. Nil if there is none, or if
  /// another process takes it.
  ///
  /// - Throws: ``LedgerError/notARecord`` for a file that is not such a request of this version. That file is removed
  ///   too.
  public func take(for owner: LeftRequest.Owner) throws(LedgerError) -> LeftRequest? {
    guard let bytes = try files.take(owner.id) else { return nil }
    guard let left = LeftRequest(parsing: bytes), left.owner.id == owner.id else { throw .notARecord }
    return left
  }

  public func leave(_ request: LeftRequest) throws(LedgerError) {
    try files.write(request.encoded(), for: request.owner.id)
  }
}
