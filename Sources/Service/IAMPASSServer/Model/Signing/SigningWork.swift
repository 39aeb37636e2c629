import IAMPASSProtocol

/// What follows from the rows of one transaction: which set and lists there should be, and how they differ from those that
/// were signed.
struct SigningWork {
  /// More lines than a list may have.
  static let allLines = UserListHead.greatestUserCount + 1

  let rows: any SigningRows

  // MARK: Sets

  /// The keys that the next set should have; nil without a phone of an administrator.
  ///
  /// - Parameter former: its recovery keys go on.
  func keys(after former: AdministratorSet?, _ wish: RecoveryWish) throws -> [AdministratorSet.Key] {
    var seen: Set<String> = []
    let phones = try rows.administratorPhones().compactMap { one -> AdministratorSet.Key? in
      guard let phone = one.pinned, seen.insert(phone.key.text).inserted else { return nil }
      return .phone(name: one.owner, phone)
    }
    let recovery: [AdministratorSet.Key]
    switch wish {
    case .keep:
      recovery = (former?.keys ?? []).filter { if case .recovery = $0 { true } else { false } }
    case .replace(let key): recovery = [.recovery(name: "recovery", key)]
    }
    return phones + recovery
  }

  /// The set that would follow; nil if it has the same keys.
  ///
  /// - Throws: ``Unfit`` for one that no computer takes.
  func nextSet(after former: AdministratorSet, _ wish: RecoveryWish) throws -> AdministratorSet? {
    guard
      let next = AdministratorSet(
        number: former.number + 1, previous: former.digest, keys: try keys(after: former, wish))
    else { throw Unfit() }
    return next.keys == former.keys ? nil : next
  }

  /// What was made of the rows fits no document.
  struct Unfit: Error {}

  /// How one set's keys differ from another's, in plain words.
  static func changes(from former: AdministratorSet, to next: [AdministratorSet.Key]) -> [String] {
    let added = next.filter { !former.keys.contains($0) }.map { "add " + text(of: $0) }
    let removed = former.keys.filter { !next.contains($0) }.map { "remove " + text(of: $0) }
    return removed + added
  }

  private static func text(of key: AdministratorSet.Key) -> String {
    switch key {
    case .phone(let name, let phone): "phone of \(name): \(phone.keys.words)"
    case .recovery(_, let key):
      "recovery key \(PhoneKeys(publicKey: key.text, credential: nil).words)"
    }
  }

  // MARK: Lists

  /// The lines that the application's list should have now, by names.
  func currentLines(of application: String) throws -> [SignedLine] {
    let phones = Dictionary(grouping: try rows.listedPhones(of: application), by: \.owner)
    return try rows.listedPeople(of: application).compactMap { person in
      var seen: Set<String> = []
      let pinned = (phones[person.name] ?? []).compactMap(\.pinned).filter { seen.insert($0.key.text).inserted }
      // Computers trust no more: those that registered last.
      let trusted = Array(pinned.suffix(UserListLine.greatestPhoneCount))
      guard let line = UserListLine(name: person.name, phones: trusted, token: person.token) else { return nil }
      let groups = person.groups.split(separator: " ").map(String.init)
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      return SignedLine(name: person.name, groups: UserListOrder.stored(groups), text: line.json.storedText)
    }
  }

  /// Where a new list stands.
  struct ListPlace {
    let application: String
    let epoch: Int64
    let number: Int64
    /// In force.
    let set: AdministratorSet
    /// The last one that was signed.
    let former: UserListHead?
  }

  /// The lists of these lines: each group's, and the list of all users.
  static func lists(of lines: [SignedLine]) -> [UserListHead.List] {
    var texts: [String: [UInt8]] = ["": []]
    var counts: [String: Int64] = [:]
    for line in lines {
      for group in Set([""] + line.groupNames) {
        texts[group, default: []] += Array(line.text.utf8) + [UInt8(ascii: "\n")]
        counts[group, default: 0] += 1
      }
    }
    return texts.map { group, text in
      UserListHead.List(group: group, count: counts[group] ?? 0, digest: Digest.sha256(text))
    }
  }

  /// - Throws: ``Unfit`` for a list that no computer takes.
  static func head(at place: ListPlace, _ lists: [UserListHead.List]) throws -> UserListHead {
    guard
      let head = UserListHead(
        application: place.application, epoch: place.epoch, number: place.number, administrators: place.set.digest,
        previous: place.former?.digest ?? [], lists: lists)
    else { throw Unfit() }
    return head
  }

  /// What a computer needs beside the set in force to verify a list: the sets from the one that the list names to the one
  /// before it. Nil if the list does not count: its signer's phone is not in the set in force as it was, or the sets since
  /// then are too large for a page.
  func formerSets(of list: SignedList, under set: AdministratorSet) throws -> [AdministratorSet]? {
    guard set.phones.contains(where: { $0.fields.utf8.elementsEqual(list.signerPhone.utf8) }) else { return nil }
    let sets = try rows.sets(after: list.setNumber - 1).map(\.set).filter { $0.number < set.number }
    let size = sets.reduce(0) { $0 + $1.json.encoded().count + 1 }
    let fits =
      size <= SignedUserListReply.greatestFormerSets && sets.count <= SignedUserListReply.greatestSetCount
      && Self.size(list.head, list.proof, sets) <= SignedUserListReply.greatestBeginning
    return fits ? sets : nil
  }

  /// Bytes of what the first page of a list has before its changes.
  static func size(_ head: UserListHead, _ proof: DocumentProof, _ formerSets: [AdministratorSet]) -> Int {
    ([head.json, proof.json] + formerSets.map(\.json)).reduce(0) { $0 + $1.encoded().count + 1 }
  }

  func lines(of list: SignedList?) throws -> [SignedLine] {
    guard let list else { return [] }
    return try rows.lines(of: list.application, at: list.serial, group: "", after: "", limit: Self.allLines)
  }

  /// By names. Both are in that order.
  static func changes(from former: [SignedLine], to now: [SignedLine]) -> [ListChange] {
    let known = Dictionary(former.map { ($0.name, $0) }) { first, _ in first }
    let names = Set(now.map(\.name))
    let removed = former.filter { !names.contains($0.name) }.map {
      ListChange(name: $0.name, kind: .removed, groups: [], hasOtherPhones: false, hasOtherGroups: false)
    }
    let others = now.compactMap { line -> ListChange? in
      guard let old = known[line.name] else {
        return ListChange(
          name: line.name, kind: .added, groups: line.groupNames, hasOtherPhones: false, hasOtherGroups: false)
      }
      guard old != line else { return nil }
      return ListChange(
        name: line.name, kind: .changed, groups: line.groupNames, hasOtherPhones: phones(in: old) != phones(in: line),
        hasOtherGroups: old.groups != line.groups)
    }
    return (removed + others).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  private static func phones(in line: SignedLine) -> JSON? { (try? JSON.stored(line.text))?["phones"] }

  // MARK: Both

  func state() throws -> SigningState {
    guard let stored = try rows.lastSet() else { return SigningState(set: nil, setChanges: [], lists: []) }
    let set = stored.set
    let epoch = try rows.epoch()
    let lists = try rows.listedApplicationNames().map { application, name in
      let last = try rows.signedLists(of: application).first
      let changes = Self.changes(from: try lines(of: last), to: try currentLines(of: application))
      let counts = try last.map { try formerSets(of: $0, under: set) != nil } ?? false
      return SigningState.List(
        application: application, name: name, head: last?.head, signer: last?.signer ?? "", signedAt: last?.signedAt,
        isSignerGone: last != nil && !counts,
        isOfOtherEpoch: last.map { $0.head.epoch != epoch } ?? false,
        changes: changes,
        unsignedSince: try unsignedSince(
          of: application, last, hasChanges: !changes.isEmpty, counts: counts, under: stored))
    }
    let setChanges = Self.changes(from: set, to: try keys(after: set, .keep))
    var state = SigningState(
      set: set, setChanges: setChanges, lists: lists,
      setUnsignedSince: setChanges.isEmpty
        ? nil : try rows.firstAdministratorChange(after: stored.madeAt) ?? stored.madeAt)
    state.failed = FailedSignatures(try rows.orderOutcomes())
    return state
  }
}
