import DeviceProtocol
import IAMPASSProtocol

/// What a document is made of, as one view of the database had it.
///
/// A list may have thousands of users. It is read and composed beside the writers, and ``isCurrent(_:)`` says, in the step
/// that stores the document, whether everything is still as it was.
struct DocumentMaterial: Sendable {
  /// There is nothing that the phone could be asked to sign.
  struct Refusal: Error { let outcome: DocumentOutcome }

  private enum Content: Sendable {
    case administrators(AdministratorSet)
    case users(application: String, lists: [UserListHead.List])
  }

  /// What the administrator's phones in the set can prove.
  let methods: [AuthenticationMethod]
  /// The list's; none for a set.
  let lines: [SignedLine]
  private let content: Content
  /// The set in force.
  private let set: AdministratorSet
  private let epoch: Int64
  /// The newest list that was signed; nil for a set.
  private let former: SignedList?
  /// The audit tells of what changes after this entry.
  private let lastAuditID: Int64

  init(_ order: StoredOrder, _ rows: any SigningRows) throws {
    guard let set = try rows.lastSet()?.set else { throw Refusal(outcome: .noSet) }
    methods = try Self.methods(of: order.order.administrator, in: set, rows)
    let epoch = try rows.epoch()
    let work = SigningWork(rows: rows)
    self.set = set
    self.epoch = epoch
    lastAuditID = try rows.lastAuditID()
    do {
      switch order.order.subject {
      case .administrators(let wish):
        guard let next = try work.nextSet(after: set, wish) else { throw Refusal(outcome: .nothing) }
        (content, lines, former) = (.administrators(next), [], nil)
      case .users(let application):
        let last = try rows.signedLists(of: application).first
        let now = try work.currentLines(of: application)
        let isSigned = try last.map {
          try $0.head.epoch == epoch && work.formerSets(of: $0, under: set) != nil && work.lines(of: $0) == now
        }
        guard isSigned != true else { throw Refusal(outcome: .nothing) }
        let lists = SigningWork.lists(of: now)
        // Its number is another one. What no computer takes is refused before thousands of lines are stored.
        let place = SigningWork.ListPlace(
          application: application, epoch: epoch, number: 1, set: set, former: last?.head)
        _ = try SigningWork.head(at: place, lists)
        (content, lines, former) = (.users(application: application, lists: lists), now, last)
      }
    } catch is SigningWork.Unfit { throw Refusal(outcome: .unfit) }
  }

  /// What the administrator's phones in the set can prove.
  ///
  /// - Throws: ``Refusal`` if the administrator has none there.
  static func methods(
    of administrator: String, in set: AdministratorSet, _ rows: any SigningRows
  ) throws -> [AuthenticationMethod] {
    let live = Set(try rows.administratorPhones().filter { $0.owner == administrator }.map(\.id))
    let phones = set.phones.filter { live.contains($0.id) }
    guard let demand = try? ApprovalDemand(phones: phones, asked: [], verifier: DeviceVerifier()) else {
      throw Refusal(outcome: .notSigner)
    }
    return demand.methods
  }

  /// Whether the document would be the same one now.
  func isCurrent(_ rows: any SigningRows) throws -> Bool {
    guard try rows.epoch() == epoch, let last = try rows.lastSet()?.set, last == set else { return false }
    switch content {
    case .administrators: return try !rows.hasAdministratorNews(afterAudit: lastAuditID)
    case .users(let application, _):
      return try rows.signedLists(of: application).first?.serial == former?.serial
        && !rows.hasListNews(of: application, afterAudit: lastAuditID)
    }
  }

  /// Makes the document. It takes a list's number in the step that stores the document: whatever becomes of it, no other
  /// list gets this number.
  func document(_ rows: any SigningRows) throws -> SignedDocument {
    switch content {
    case .administrators(let next): return .administrators(next)
    case .users(let application, let lists):
      let number = try rows.takeListNumber(of: application, in: epoch)
      let place = SigningWork.ListPlace(
        application: application, epoch: epoch, number: number, set: set, former: former?.head)
      return .users(try SigningWork.head(at: place, lists))
    }
  }
}
