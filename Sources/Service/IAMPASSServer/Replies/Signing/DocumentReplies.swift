import DeviceProtocol
import IAMPASSProtocol

/// Shows an administrator's phone what it is asked to sign.
struct DocumentReplies: Sendable {
  let core: ServiceCore
  let sessions: SessionReplies

  func page(_ call: Call) async throws -> ServiceReply {
    try await core.answering(call, [.document]) { verified, _ in
      try await core.markSeen(verified.phone, call)
      guard let ask = try? DocumentAsk(verified.statement) else { return .refused(.badRequest) }
      guard let session = try await sessions.settled(ask.session, at: core.clock())?.session,
        session.isFor(verified.acting), session.method(for: verified.phone.id) != nil
      else { return .refused(.unknownRequest) }
      guard session.document != nil, let cursor = DocumentCursor(ask.after) else { return .refused(.badRequest) }
      guard session.lifecycle.isUnanswered else { return .refused(.tooLate) }
      let page = try await core.storage.seeSigning { rows in
        // What does not follow any more from the last signed document would look like a lie.
        guard let order = try rows.order(ofSession: ask.session), try order.isNext(rows) else {
          return DocumentPage?.none
        }
        return try DocumentPaging(rows: rows, order: order, knownSet: ask.knownSet).page(at: cursor)
      }
      guard let page else { return .refused(.tooLate) }
      return ServiceReply(200, page.encoded())
    }
  }
}

/// How far a phone has fetched a document: a part, and what it had last of that.
enum DocumentCursor: Sendable, Equatable {
  case start
  case sets(after: Int64)
  case entries(after: String)
  case other(after: String)
  case new(after: String)

  /// Nil for a text that no page had.
  init?(_ text: String) {
    let rest = String(text.dropFirst(2))
    switch text.prefix(2) {
    case "" where text.isEmpty: self = .start
    case "s:":
      guard let number = Int64(rest), number >= 0 else { return nil }
      self = .sets(after: number)
    case "e:": self = .entries(after: rest)
    case "o:": self = .other(after: rest)
    case "n:": self = .new(after: rest)
    default: return nil
    }
  }

  var text: String {
    switch self {
    case .start: ""
    case .sets(let number): "s:\(number)"
    case .entries(let name): "e:\(name)"
    case .other(let name): "o:\(name)"
    case .new(let name): "n:\(name)"
    }
  }
}

/// Makes a document's pages, each in one consistent view. What is signed is the draft, which does not change meanwhile.
struct DocumentPaging {
  /// Bytes of the parts; a whole page stays below 60 KiB.
  private static let greatestPage = 40 * 1_024
  fileprivate static let greatestRows: Int64 = 400

  let rows: any SigningRows
  let order: StoredOrder
  /// The number of the last set that the phone knows; 0: none.
  let knownSet: Int64

  /// What a page has so far.
  private struct Filling {
    var size = 0
    var document: SignedDocument?
    var former: DocumentPage.Former?
    var sets: [SignedAdministratorSet] = []
    var entries: [DocumentPage.Entry] = []
    var other: [DocumentPage.Entry] = []
    var new: [String] = []

    /// Takes items as long as there is room; the first part of a page always has room.
    ///
    /// - Returns: the name of the last that was taken, if one was not; nil if all were.
    mutating func take<Item>(
      _ items: [(name: String, item: Item)], to part: WritableKeyPath<Filling, [Item]>, after name: String,
      _ json: (Item) -> JSON
    ) -> String? {
      var last = name
      for (name, item) in items {
        let bytes = json(item).encoded().count + 1
        guard size == 0 || size + bytes <= DocumentPaging.greatestPage else { return last }
        size += bytes
        self[keyPath: part].append(item)
        last = name
      }
      return nil
    }
  }

  /// Where to go on in this page; or in the next one.
  private enum Step {
    case here(DocumentCursor)
    case nextPage(DocumentCursor)
    case done
  }

  func page(at cursor: DocumentCursor) throws -> DocumentPage {
    var filling = Filling()
    var step = try fill(&filling, from: cursor)
    while case .here(let place) = step { step = try fill(&filling, from: place) }
    var next: String?
    if case .nextPage(let place) = step { next = place.text }
    return DocumentPage(
      document: filling.document, former: filling.former, sets: filling.sets, entries: filling.entries,
      other: filling.other, new: filling.new, next: next)
  }

  private func fill(_ filling: inout Filling, from cursor: DocumentCursor) throws -> Step {
    switch cursor {
    case .start:
      filling.document = try order.signedDocument()
      let former = try former()
      filling.former = former.map { DocumentPage.Former(head: $0.head, proof: $0.proof) }
      return .here(.sets(after: min(max(knownSet, 1), former?.setNumber ?? .max) - 1))
    case .sets(let number):
      let sets = try rows.sets(after: number).map { ("\($0.set.number)", $0.signed) }
      if let last = filling.take(sets, to: \.sets, after: "\(number)", \.json) {
        return .nextPage(.sets(after: Int64(last) ?? number))
      }
      return order.application == nil ? .done : .here(.entries(after: ""))
    case .entries(let name):
      let lines = try rows.draft(of: order.id, after: name, limit: Self.greatestRows)
      let entries = try lines.map { ($0.name, try DocumentPage.Entry($0)) }
      if let last = filling.take(entries, to: \.entries, after: name, \.json) {
        return .nextPage(.entries(after: last))
      }
      if let last = lines.last, lines.count == Self.greatestRows { return .here(.entries(after: last.name)) }
      return try former() == nil ? .done : .here(.other(after: ""))
    case .other(let name):
      let lines = try formerLines(after: name)
      let now = try Self.lines(lines, after: name) { try draftLines(after: $0) }
      let others = try lines.filter { now[$0.name] != $0 }.map { ($0.name, try DocumentPage.Entry($0)) }
      if let last = filling.take(others, to: \.other, after: name, \.json) { return .nextPage(.other(after: last)) }
      return .here(lines.isWhole ? .other(after: lines[lines.count - 1].name) : .new(after: ""))
    case .new(let name):
      let lines = try draftLines(after: name)
      let known = try Self.lines(lines, after: name) { try formerLines(after: $0) }
      let names = lines.filter { known[$0.name] == nil }.map { ($0.name, $0.name) }
      if let last = filling.take(names, to: \.new, after: name, JSON.string) { return .nextPage(.new(after: last)) }
      return lines.isWhole ? .here(.new(after: lines[lines.count - 1].name)) : .done
    }
  }

  /// The newest list that was signed, whoever did so.
  private func former() throws -> SignedList? {
    try order.application.flatMap { try rows.signedLists(of: $0).first }
  }

  private func draftLines(after name: String) throws -> [SignedLine] {
    try rows.draft(of: order.id, after: name, limit: Self.greatestRows)
  }

  private func formerLines(after name: String) throws -> [SignedLine] {
    guard let former = try former() else { return [] }
    return try rows.lines(
      of: former.application, at: former.serial, group: "", after: name, limit: Self.greatestRows)
  }

  /// Another list's lines between `name` and the last of these, by their names.
  private static func lines(
    _ these: [SignedLine], after name: String, _ others: (_ after: String) throws -> [SignedLine]
  ) throws -> [String: SignedLine] {
    guard let end = these.last?.name else { return [:] }
    var found: [String: SignedLine] = [:]
    var part = try others(name)
    while true {
      for line in part where !line.name.isAfter(end) { found[line.name] = line }
      guard part.isWhole, let last = part.last?.name, end.isAfter(last) else { return found }
      part = try others(last)
    }
  }
}

extension [SignedLine] {
  /// As many as were asked for: there may be more.
  fileprivate var isWhole: Bool { count == DocumentPaging.greatestRows }
}

extension DocumentPage.Entry {
  fileprivate init(_ line: SignedLine) throws {
    self.init(line: try UserListLine(try JSON.stored(line.text)), groups: line.groupNames)
  }
}

extension String {
  /// By bytes, as the database sorts names.
  fileprivate func isAfter(_ other: String) -> Bool { other.utf8.lexicographicallyPrecedes(utf8) }
}
