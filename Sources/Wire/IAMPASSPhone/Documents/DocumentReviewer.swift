import DeviceProtocol
import IAMPASSProtocol

/// Judges a document only by the fetched pages, the request, and the phone's memory.
struct DocumentReviewer {
  let origin: String
  /// The phone's own id and key.
  let device: String
  let publicKey: String
  let memory: DocumentMemory

  /// The list that the users are compared with. If there is none, the reason, except for the first list.
  private enum Former {
    case compared([String: DocumentPage.Entry], UserListHead, signer: String)
    case whole(String?)
  }

  func review(_ parts: DocumentParts, for request: OpenRequest) -> DocumentReview {
    do throws(DocumentMisfit) { return .fits(try judged(parts, request)) } catch { return .misfit(error) }
  }

  private func judged(_ parts: DocumentParts, _ request: OpenRequest) throws(DocumentMisfit) -> ReviewedDocument {
    let document = parts.document
    guard request.challenge == document.challenge, request.document == document.kind.rawValue,
      ShownContext.hash(request.context) == ShownContext.hash(document.context)
    else { throw .otherDocument }
    let sets = try verified(parts.sets)
    guard let inForce = sets.last else { throw .otherAdministrators }
    guard inForce.phones.contains(where: { $0.id.utf8.elementsEqual(device.utf8) && $0.key.text == publicKey }) else {
      throw .notAnAdministrator
    }
    let memory = memory.remembering(inForce)
    switch document {
    case .administrators(let set):
      return try judged(set, after: inForce, parts, ReviewBasis(notes: news(of: sets), memory: memory))
    case .users(let head):
      return try judged(head, sets, parts, ReviewBasis(notes: news(of: sets), memory: memory))
    }
  }

  // MARK: - Administrators

  /// The sets, each of which follows from the set before. Sets after the phone's known set must be signed. The known
  /// set's digest covers those before it.
  private func verified(_ signed: [SignedAdministratorSet]) throws(DocumentMisfit) -> [AdministratorSet] {
    guard let first = signed.first?.set else { throw .otherAdministrators }
    for (before, next) in zip(signed, signed.dropFirst()) {
      guard next.set.follows(before.set) else { throw .otherAdministrators }
      guard next.set.number > memory.setNumber else { continue }
      guard let proof = next.proof, (try? check(before.set).signer(of: .administrators(next.set), proof)) != nil else {
        throw .otherAdministrators
      }
    }
    if memory.setNumber == 0 {
      guard first.number == 1 else { throw .otherAdministrators }
    } else {
      let known = signed.first { $0.set.number == memory.setNumber }?.set
      guard let known, Digest.areEqual(known.digest, memory.setDigest) else { throw .otherAdministrators }
    }
    return signed.map(\.set)
  }

  private func check(_ set: AdministratorSet, after former: [AdministratorSet] = []) -> DocumentCheck {
    DocumentCheck(set: set, former: former, origin: origin, verifier: DeviceVerifier())
  }

  /// The administrators' changes that this phone has not seen.
  private func news(of sets: [AdministratorSet]) -> [String] {
    guard let inForce = sets.last, inForce.number != memory.setNumber else { return [] }
    guard let known = sets.first(where: { $0.number == memory.setNumber }) else {
      return ["this phone sees the administrators for the first time; compare their words:"]
        + inForce.keys.map(DocumentWords.line)
    }
    return ["the administrators have changed since this phone saw them:"]
      + DocumentWords.changes(from: known, to: inForce)
  }

  private func judged(
    _ set: AdministratorSet, after inForce: AdministratorSet, _ parts: DocumentParts, _ basis: ReviewBasis
  ) throws(DocumentMisfit) -> ReviewedDocument {
    guard set.follows(inForce), parts.former == nil, parts.other.isEmpty, parts.new.isEmpty else {
      throw .otherAdministrators
    }
    let changes = DocumentWords.changes(from: inForce, to: set)
    return basis.reviewed(
      .administrators(set), title: "administrators of this service, number \(set.number)",
      heading: changes.isEmpty ? "no change" : DocumentWords.count(changes.count, "change"), lines: changes)
  }

  // MARK: - Users

  private func judged(
    _ head: UserListHead, _ sets: [AdministratorSet], _ parts: DocumentParts, _ basis: ReviewBasis
  ) throws(DocumentMisfit) -> ReviewedDocument {
    let users = try Self.byName(parts.entries, or: .otherUsers)
    guard Self.isMade(head, of: parts.entries) else { throw .otherUsers }
    guard let inForce = sets.last, Digest.areEqual(head.administrators, inForce.digest) else { throw .otherSet }
    for known in [memory.lists[head.application], memory.signed[head.application]] {
      guard let known, !known.isReached(by: head) else { continue }
      throw .older(version: head.version, seen: known.version)
    }
    var basis = basis
    basis.memory = basis.memory.remembering(head, after: parts.former?.head)
    let title = "users of \(head.application), version \(head.version)"
    switch try former(of: head, users, sets, parts) {
    case .compared(let entries, let former, let signer):
      if let note = missed(former) { basis.notes.append(note) }
      let lines = DocumentWords.changes(from: entries, to: users)
      let count = lines.isEmpty ? "no change" : DocumentWords.count(lines.count, "change")
      return basis.reviewed(
        .users(head), title: title,
        heading: "\(count) to version \(former.version), which \(DocumentWords.person(signer)) signed", lines: lines)
    case .whole(let reason):
      let lines = parts.entries.sorted { $0.line.name.utf8.lexicographicallyPrecedes($1.line.name.utf8) }
        .map(DocumentWords.line)
      if let reason { basis.notes.append(reason) }
      return basis.reviewed(
        .users(head), title: title,
        heading: "\(reason == nil ? "first" : "whole") list: \(DocumentWords.count(lines.count, "user"))", lines: lines)
    }
  }

  private func former(
    of head: UserListHead, _ users: [String: DocumentPage.Entry], _ sets: [AdministratorSet], _ parts: DocumentParts
  ) throws(DocumentMisfit) -> Former {
    guard let former = parts.former else {
      guard parts.other.isEmpty, parts.new.isEmpty else { throw .otherFormerUsers }
      guard head.previous.isEmpty else { throw .notNext }
      return .whole(try lost(before: head, showing: nil))
    }
    guard former.head.application == head.application else { throw .formerNotSigned }
    let signer = try signer(of: former, sets)
    guard head.isHigher(than: former.head) else { throw .older(version: head.version, seen: former.head.version) }
    guard head.follows(former.head) else { throw .notNext }
    let entries = try rebuilt(users, parts)
    guard Self.isMade(former.head, of: Array(entries.values)) else { throw .otherFormerUsers }
    if let reason = try lost(before: head, showing: former.head) { return .whole(reason) }
    guard isKnown(former.head) || signer.isInForce else {
      return .whole("\(DocumentWords.person(signer.name)), who signed the last list, is not an administrator now")
    }
    return .compared(entries, former.head, signer: signer.name)
  }

  private func isKnown(_ head: UserListHead) -> Bool {
    [memory.lists[head.application], memory.signed[head.application]].contains { $0?.digest == head.digest }
  }

  /// A list that this phone knows and that the shown last list does not continue; nil if there is none.
  ///
  /// A list loses its force only if the database was restored, which a higher epoch shows. The whole list is then
  /// shown. A list that this phone signed may not have arrived. Its changes are shown with the whole list.
  private func lost(before head: UserListHead, showing former: UserListHead?) throws(DocumentMisfit) -> String? {
    let shown = former.map { "version \($0.version) as the last list" } ?? "no last list"
    func isLost(_ known: DocumentMemory.List) -> Bool { former.map { !known.isReached(by: $0) } ?? true }
    if let seen = memory.lists[head.application], isLost(seen) {
      guard head.epoch > seen.epoch else { throw .formerIsOlder(shown: former?.version, seen: seen.version) }
      return "the service says that its database was put back: it shows \(shown), "
        + "and this phone knows version \(seen.version)"
    }
    guard let own = memory.signed[head.application], own.digest != head.digest, isLost(own) else { return nil }
    guard former?.version != own.version || head.epoch > own.epoch else {
      throw .formerIsOlder(shown: former?.version, seen: own.version)
    }
    return "the service shows \(shown), and not the version \(own.version) that this phone has signed"
  }

  /// A note if other administrators signed lists after the last one that this phone knows.
  private func missed(_ former: UserListHead) -> String? {
    let known = [memory.lists[former.application], memory.signed[former.application]].compactMap(\.self)
    guard let last = known.max(by: { ($0.epoch, $0.number) < ($1.epoch, $1.number) }), !isKnown(former) else {
      return nil
    }
    return "the last list that this phone knows is version \(last.version): others signed what came after it"
  }

  /// The signer of the former list: a present or former administrator.
  private func signer(
    of former: DocumentPage.Former, _ sets: [AdministratorSet]
  ) throws(DocumentMisfit) -> (name: String, isInForce: Bool) {
    guard let place = sets.firstIndex(where: { Digest.areEqual($0.digest, former.head.administrators) }),
      let signer = try? check(sets[place]).signer(of: .users(former.head), former.proof)
    else { throw .formerNotSigned }
    let now = check(sets[sets.count - 1], after: Array(sets[place..<(sets.count - 1)]))
    return (signer.name, (try? now.signer(of: .users(former.head), former.proof)) != nil)
  }

  /// Rebuilds the former list from the new one and from the entries that differed.
  private func rebuilt(
    _ users: [String: DocumentPage.Entry], _ parts: DocumentParts
  ) throws(DocumentMisfit) -> [String: DocumentPage.Entry] {
    let other = try Self.byName(parts.other, or: .otherFormerUsers)
    var entries = users
    for name in parts.new {
      guard other[name] == nil, entries.removeValue(forKey: name) != nil else { throw .otherFormerUsers }
    }
    entries.merge(other) { $1 }
    return entries
  }

  private static func byName(
    _ entries: [DocumentPage.Entry], or misfit: DocumentMisfit
  ) throws(DocumentMisfit) -> [String: DocumentPage.Entry] {
    var found: [String: DocumentPage.Entry] = [:]
    for entry in entries {
      guard found.updateValue(entry, forKey: entry.line.name) == nil else { throw misfit }
    }
    return found
  }

  /// Whether these users match each digest of the head, and are in no other group.
  private static func isMade(_ head: UserListHead, of entries: [DocumentPage.Entry]) -> Bool {
    var lines: [String: [UserListLine]] = ["": entries.map(\.line)]
    for entry in entries { for group in entry.groups { lines[group, default: []].append(entry.line) } }
    return lines.keys.allSatisfy { group in head.lists.contains { $0.group == group } }
      && head.lists.allSatisfy { list in
        let own = lines[list.group] ?? []
        return Int64(own.count) == list.count && UserListLine.digest(of: own) == list.digest
      }
  }
}

/// What a review has found before it comes to the document's own content.
private struct ReviewBasis {
  var notes: [String]
  var memory: DocumentMemory

  func reviewed(
    _ document: SignedDocument, title: String, heading: String, lines: [String]
  ) -> ReviewedDocument {
    ReviewedDocument(
      document: document, title: title, heading: heading, notes: notes, lines: lines, memoryOnceSigned: memory)
  }
}

extension UserListHead {
  /// "EPOCH.NUMBER".
  fileprivate var version: String { "\(epoch).\(number)" }
}
