import IAMPASSProtocol

/// The random mark of a computer with its own credential. The computer renews the mark when it connects again, so that
/// a copy and its original get different marks.
///
/// A disk that was restored to an earlier state looks the same at first. There are two computers only if both marks
/// stay in use.
struct CloneDetector: Sendable, Equatable {
  /// The latest mark.
  var mark: String
  /// The mark before it. It may be renewed once more, because a computer can lose its last write.
  var previous: String?
  /// The address that used the mark last, as in the audit.
  var address: String?
  var seenAt: UnixTime
  /// The time stamp of the request that brought the mark: Unix time in seconds, by the computer's own clock; nil if a
  /// server of an earlier version noted it.
  var broughtAt: Int64?
  var fork: Fork?

  /// Another mark than the expected one was used.
  struct Fork: Sendable, Equatable {
    /// The expected mark, and the address that used it last.
    var otherMark: String
    var otherAddress: String?
    var firstAt: UnixTime
    var lastAt: UnixTime
    /// Whether both marks were used after that.
    var areBothUsed: Bool
  }

  enum Finding: Sendable, Equatable {
    /// The mark is known, and there is nothing to store.
    case known
    case renewed
    /// - Parameter isNews: whether an administrator does not know it yet.
    case forked(isNews: Bool)
  }

  init(_ sighting: ComputerMarkSighting) {
    mark = sighting.mark
    previous = sighting.former
    address = sighting.address
    seenAt = sighting.at
    broughtAt = sighting.signedAt
  }

  init(mark: String, previous: String?, address: String?, seenAt: UnixTime, broughtAt: Int64?, fork: Fork?) {
    self.mark = mark
    self.previous = previous
    self.address = address
    self.seenAt = seenAt
    self.broughtAt = broughtAt
    self.fork = fork
  }

  mutating func take(_ sighting: ComputerMarkSighting) -> Finding {
    if sighting.mark == mark {
      guard sighting.address != address else { return .known }
      (address, seenAt) = (sighting.address, sighting.at)
      return .renewed
    }
    guard !isOvertaken(sighting) else { return .known }
    let isRenewal = sighting.former.map { $0 == mark || $0 == previous } ?? false
    guard isRenewal else { return .forked(isNews: divide(sighting)) }
    if sighting.former == mark { previous = mark }
    (mark, address, seenAt, broughtAt) = (sighting.mark, sighting.address, sighting.at, sighting.signedAt)
    return .renewed
  }

  /// Whether the request was made before the one that brought the present mark, and has arrived after it: the network kept
  /// it while the computer connected again.
  private func isOvertaken(_ sighting: ComputerMarkSighting) -> Bool {
    guard sighting.mark == previous, let broughtAt else { return false }
    return sighting.signedAt < broughtAt
  }

  /// - Returns: whether this is news.
  private mutating func divide(_ sighting: ComputerMarkSighting) -> Bool {
    let former = fork
    let isOtherBack = former.map { $0.otherMark == sighting.mark || $0.otherMark == sighting.former } ?? false
    let areBothUsed = isOtherBack || former?.areBothUsed == true
    fork = Fork(
      otherMark: mark, otherAddress: address, firstAt: former?.firstAt ?? sighting.at, lastAt: sighting.at,
      areBothUsed: areBothUsed)
    (mark, previous, address, seenAt) = (sighting.mark, sighting.former, sighting.address, sighting.at)
    broughtAt = sighting.signedAt
    return former == nil || former?.areBothUsed != areBothUsed
  }
}

/// A request with a computer's mark.
struct ComputerMarkSighting: Sendable {
  /// The id of the computer's credential.
  let credential: String
  let mark: String
  /// The mark that it replaces; nil if the mark was sent before.
  let former: String?
  let address: String?
  /// The request's time stamp: Unix time in seconds, by the computer's own clock.
  let signedAt: Int64
  /// When the service took the request.
  let at: UnixTime

  /// Whether the text has the form of the helper's marks.
  static func isMark(_ text: String) -> Bool {
    text.utf8.count == 32
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
  }
}

/// A computer whose credential was used with two marks.
public struct ClonedComputer: Sendable, Equatable {
  /// The id of the computer's credential.
  public let credential: String
  public let name: String
  public let address: String?
  public let otherAddress: String?
  public let firstAt: UnixTime
  public let lastAt: UnixTime
  /// Whether two computers are in use. Otherwise one of them may be gone, or a disk was restored.
  public let areBothUsed: Bool

  init(_ mark: CloneDetector, _ fork: CloneDetector.Fork, credential: String, name: String, clock: StorageClock) {
    self.credential = credential
    self.name = name
    address = mark.address
    otherAddress = fork.otherAddress
    firstAt = clock.unixTime(of: fork.firstAt)
    lastAt = clock.unixTime(of: fork.lastAt)
    areBothUsed = fork.areBothUsed
  }
}

/// Finds computers that were copied.
public protocol ClonedComputers: Sendable {
  /// The usable credentials that were used with two marks, sorted by name, with times for people. Throws
  /// ``HostCredentialRefusal``.
  ///
  /// - Parameter application: its name or id.
  func clonedComputers(of application: String) async throws -> [ClonedComputer]

  /// Settles what was noticed about this computer. Throws ``HostCredentialRefusal``.
  ///
  /// - Returns: false if there was nothing to settle.
  func settleComputer(named name: String, of application: String, at now: UnixTime) async throws -> Bool
}

protocol CloneDetectorStore: ClonedComputers {
  /// Whether the credential was used with two marks, and that is not settled yet.
  func isForked(_ credential: String) async throws -> Bool

  /// Whether this is the computer's mark, and there is nothing to note.
  func isKnown(_ sighting: ComputerMarkSighting) async throws -> Bool

  /// Notes marks that computers have renewed, one after the other and in one step.
  ///
  /// - Returns: nil for each that shows a copy, or whose row is damaged: the caller then calls ``record(_:)``.
  func renew(_ sightings: [ComputerMarkSighting]) async throws -> [CloneDetector.Finding?]

  /// Notes the mark of a computer. Sightings are noted one after the other.
  func record(_ sighting: ComputerMarkSighting) async throws -> CloneDetector.Finding
}
