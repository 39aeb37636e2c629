import IAMPASSProtocol

/// A computer asks for the signed list of its group.
struct SignedListQuery: Hashable, Sendable {
  /// Rows that are read at once.
  static let greatestRows: Int64 = 400

  /// The id of the computer's credential, or the application's.
  var requester: String
  let application: String
  /// The computer's group; empty: all users.
  let group: String
  /// What the list that it has is known by; both 0: it has none.
  let epoch: Int64
  let number: Int64
  /// The number of the last set of administrators that it knows.
  let setNumber: Int64
  /// The page begins after this name.
  let after: String

  /// The reply of this moment.
  func page(_ rows: any SigningRows) throws -> SignedListPage {
    var page = SignedListPage(requester: requester)
    let sets = try rows.sets(after: setNumber)
    guard sets.isEmpty else {
      page.add(sets)
      return page
    }
    let lists = try rows.signedLists(of: application)
    guard let set = try rows.lastSet()?.set, let newest = lists.first,
      let formerSets = try SigningWork(rows: rows).formerSets(of: newest, under: set)
    else { return page }
    let head = newest.head
    (page.epoch, page.number) = (head.epoch, head.number)
    guard (head.epoch, head.number) != (epoch, number) else {
      page.since = number
      return page
    }
    if after.isEmpty { page.begin(head, newest.proof, formerSets) }
    // The computer refuses a list that is older than its own, and needs no lines for that.
    guard (head.epoch, head.number) > (epoch, number) else { return page }
    if let known = lists.first(where: { $0.head.epoch == epoch && $0.head.number == number }) {
      page.since = number
      try addChanges(from: known, to: newest, rows, &page)
    } else {
      let found = try rows.lines(
        of: application, at: newest.serial, group: group, after: after, limit: Self.greatestRows)
      page.hasMore = found.count == Self.greatestRows
      for line in found where !page.add("+" + line.text) { break }
    }
    return page
  }

  private func addChanges(
    from known: SignedList, to newest: SignedList, _ rows: any SigningRows, _ page: inout SignedListPage
  ) throws {
    var last = after
    while true {
      let found = try rows.changes(
        of: application, from: known.serial, to: newest.serial, after: last, limit: Self.greatestRows)
      for change in found {
        if let text = change.text(for: group), !page.add(text) { return }
        last = change.name
      }
      guard found.count == Self.greatestRows else { return }
    }
  }
}

/// A page of a signed list, with the service's mark in the same view.
struct SignedListView: Sendable {
  var page: SignedListPage
  let mark: ServiceMark
}

/// What a computer is told: ``SignedUserListReply``, whose lines are the text that was signed, and not read again.
struct SignedListPage: Sendable {
  var requester: String
  var epoch: Int64 = 0
  var number: Int64 = 0
  var since: Int64 = 0
  var hasMore = false
  /// Told to those who do not wait.
  var unsigned: UnsignedChanges?
  private(set) var head: UserListHead?
  private(set) var proof: DocumentProof?
  private(set) var formerSets: [AdministratorSet] = []
  private(set) var changes: [String] = []
  private(set) var administrators: [SignedAdministratorSet] = []
  private var size = 0

  init(requester: String) { self.requester = requester }

  /// Whether it says what the computer does not have. That a list is older than the computer's is such a thing.
  var isNews: Bool { head != nil || !changes.isEmpty || !administrators.isEmpty }

  mutating func begin(_ head: UserListHead, _ proof: DocumentProof, _ formerSets: [AdministratorSet]) {
    (self.head, self.proof, self.formerSets) = (head, proof, formerSets)
    size = SigningWork.size(head, proof, formerSets)
  }

  /// The first one always has room: the next page begins after the last name.
  ///
  /// - Returns: false if there is no room for it: there is more then.
  mutating func add(_ change: String) -> Bool {
    // As JSON has it: nearly every quote is escaped.
    let bytes = JSON.string(change).encoded().count + 1
    guard changes.isEmpty || size + bytes <= SignedUserListReply.greatestPage else {
      hasMore = true
      return false
    }
    size += bytes
    changes.append(change)
    return true
  }

  /// As many as there is room for, at least one.
  mutating func add(_ sets: [StoredAdministratorSet]) {
    for one in sets.prefix(SignedUserListReply.greatestSetCount) {
      size += one.signed.json.encoded().count + 1
      guard administrators.isEmpty || size <= SignedUserListReply.greatestPage else { return }
      administrators.append(one.signed)
    }
  }

  func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "for": .string(requester), "epoch": .integer(epoch), "version": .integer(number),
      "since": .integer(since), "more": .bool(hasMore), "head": head?.json, "proof": proof?.json,
      "former_sets": formerSets.isEmpty ? nil : .array(formerSets.map(\.json)),
      "users": .array(changes.map { .string($0) }), "unsigned": unsigned?.json,
      "administrators": administrators.isEmpty ? nil : .array(administrators.map(\.json)),
    ]).encoded()
  }
}
