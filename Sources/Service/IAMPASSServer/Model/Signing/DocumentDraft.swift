import DeviceProtocol
import IAMPASSProtocol

/// A document that a phone is to be asked to sign.
struct DocumentDraft: Sendable {
  struct Refusal: Error { let outcome: DocumentOutcome }

  let order: String
  let administrator: String
  let document: SignedDocument
  /// The list's; none for a set.
  let lines: [SignedLine]
  /// What the administrator's phones in the set can prove.
  let methods: [AuthenticationMethod]

  var text: String {
    switch document {
    case .administrators(let set): set.json.storedText
    case .users(let head): head.json.storedText
    }
  }

  init(_ order: StoredOrder, _ rows: any SigningRows) throws {
    self.order = order.id
    administrator = order.order.administrator
    guard let set = try rows.lastSet()?.set else { throw Refusal(outcome: .noSet) }
    let live = Set(try rows.administratorPhones().filter { $0.owner == order.order.administrator }.map(\.id))
    let phones = set.phones.filter { live.contains($0.id) }
    guard let demand = try? ApprovalDemand(phones: phones, asked: [], verifier: DeviceVerifier()) else {
      throw Refusal(outcome: .notSigner)
    }
    methods = demand.methods
    let work = SigningWork(rows: rows)
    do {
      switch order.order.subject {
      case .administrators(let wish):
        guard let next = try work.nextSet(after: set, wish) else { throw Refusal(outcome: .nothing) }
        (document, lines) = (.administrators(next), [])
      case .users(let application):
        let last = try rows.signedLists(of: application).first
        let (epoch, now) = (try rows.epoch(), try work.currentLines(of: application))
        let isSigned = try last.map {
          try $0.head.epoch == epoch && work.formerSets(of: $0, under: set) != nil && work.lines(of: $0) == now
        }
        guard isSigned != true else { throw Refusal(outcome: .nothing) }
        // In the transaction that stores the draft: whatever becomes of it, no other list gets this number.
        let number = try rows.takeListNumber(of: application, in: epoch)
        let place = SigningWork.ListPlace(
          application: application, epoch: epoch, number: number, set: set, former: last?.head)
        (document, lines) = (.users(try SigningWork.head(at: place, now)), now)
      }
    } catch is SigningWork.Unfit { throw Refusal(outcome: .unfit) }
  }
}
