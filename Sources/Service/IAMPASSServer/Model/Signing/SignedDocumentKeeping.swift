import DeviceProtocol
import IAMPASSProtocol

/// Takes what a phone has signed, if a key that counts now did so.
struct SignedDocumentKeeping {
  let rows: any SigningRows
  let order: StoredOrder
  let now: UnixTime

  func keep() throws -> DocumentOutcome {
    guard let session = order.session, let document = try order.signedDocument() else { return .notAsked }
    guard let set = try rows.lastSet()?.set else { return .noSet }
    guard try order.isNext(rows) else { return .outdated }
    let approval = try rows.approval(ofSession: session)
    // The service took the answer only if its origin was the service's.
    let origin = approval["statement"]?["origin"]?.string ?? ""
    guard let proof = try? DocumentProof(approval) else { return .notProven }
    let signer: DocumentSigner
    do {
      signer = try DocumentCheck(set: set, origin: origin, verifier: DeviceVerifier()).signer(of: document, proof)
    } catch { return .notProven }
    // The phone may have been asked before the administrator was removed, who is in the set until the next one.
    guard
      try rows.administratorPhones().contains(where: { $0.owner == order.order.administrator && $0.id == signer.phone })
    else { return .notSigner }
    switch document {
    case .administrators(let next):
      try rows.add(StoredAdministratorSet(set: next, proof: proof, signer: signer.name, madeAt: now))
      return .signed
    case .users(let head): return try keep(head, proof, by: signer, in: set)
    }
  }

  private func keep(
    _ head: UserListHead, _ proof: DocumentProof, by signer: DocumentSigner, in set: AdministratorSet
  ) throws -> DocumentOutcome {
    guard let phone = set.phones.first(where: { $0.id == signer.phone }) else { return .notSigner }
    let lists = try rows.signedLists(of: head.application)
    let serial = (lists.first?.serial ?? 0) + 1
    try rows.takeDraft(of: order.id, to: head.application, at: serial)
    try rows.add(
      SignedList(
        application: head.application, serial: serial, head: head, proof: proof, signer: signer.name,
        signerPhone: phone.fields, setNumber: set.number, signedAt: now))
    if lists.count >= SignedList.keptCount {
      try rows.forgetLists(of: head.application, before: lists[SignedList.keptCount - 2].serial)
    }
    return .signed
  }
}
