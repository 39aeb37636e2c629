import IAMPASSProtocol

/// What an engine has of sets, signed lists and orders, in one transaction. It decides nothing: ``SigningWork`` does.
protocol SigningRows: SigningNews {
  func mark() throws -> ServiceMark

  // MARK: What there is to sign

  /// The live phones of administrators with the role *admin*, the oldest first.
  func administratorPhones() throws -> [PersonPhone]
  /// The application's listed users, by their names' bytes.
  func listedPeople(of application: String) throws -> [ListedPerson]
  /// The live phones of listed users, the oldest first.
  func listedPhones(of application: String) throws -> [PersonPhone]
  /// Applications that have a list of users or a signed one: id and name, by names.
  func listedApplicationNames() throws -> [(id: String, name: String)]

  // MARK: Sets

  /// By their numbers.
  func sets(after number: Int64) throws -> [StoredAdministratorSet]
  func set(_ number: Int64) throws -> StoredAdministratorSet?
  func lastSet() throws -> StoredAdministratorSet?
  func add(_ set: StoredAdministratorSet) throws
  /// Forgets sets, signed lists and orders, and no number that was given.
  func forgetSigning() throws

  // MARK: Signed lists

  /// A number of the epoch that no list of the application was given before, higher than all of them.
  func takeListNumber(of application: String, in epoch: Int64) throws -> Int64
  /// The kept ones, the newest first.
  func signedLists(of application: String) throws -> [SignedList]
  func add(_ list: SignedList) throws
  /// Forgets lists before this one, and lines that no later one has.
  func forgetLists(of application: String, before serial: Int64) throws
  /// Lines of the list as it was at `serial`, by names.
  ///
  /// - Parameter group: empty: all users.
  func lines(of application: String, at serial: Int64, group: String, after name: String, limit: Int64) throws
    -> [SignedLine]
  /// What the list at `serial` has, or has no more, since an older one, by names. Removed: a line with empty text.
  func changes(of application: String, from older: Int64, to serial: Int64, after name: String, limit: Int64) throws
    -> [ChangedLine]
  /// Makes the order's draft the application's list from `serial` on. Lines that are the same stay, and those of the list
  /// before that are not in the draft end. The database compares them: thousands take no longer than a few writes.
  func takeDraft(of order: String, to application: String, at serial: Int64) throws

  // MARK: Orders

  func add(_ order: StoredOrder) throws
  func order(_ id: String) throws -> StoredOrder?
  func order(ofSession session: String) throws -> StoredOrder?
  func openOrders() throws -> OpenOrders
  /// What became of each order that is kept, the oldest first. Without an application: of a set of administrators.
  func orderOutcomes() throws -> [(application: String?, outcome: DocumentOutcome?, reason: String?)]
  /// Stores what can change: document, session, times, outcome and reason.
  func change(_ order: StoredOrder) throws
  /// - Parameter start: orders from before this time are forgotten, too, if they have not ended.
  func forgetOrders(endedBefore time: UnixTime, orderedBefore start: UnixTime) throws
  func addDraft(_ line: SignedLine, to order: String) throws
  func draft(of order: String, after name: String, limit: Int64) throws -> [SignedLine]
  func forgetDraft(of order: String) throws
  /// What the phone sent as its answer.
  func approval(ofSession session: String) throws -> JSON
}

extension SigningRows {
  func epoch() throws -> Int64 { try mark().epoch }
}

/// The service's own part: an engine gives the rows, and ``SigningWork`` does the rest with them.
protocol SigningRowsStore: Sendable {
  /// One consistent view.
  func seeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value

  /// One atomic step, which may be repeated as a whole.
  func changeSigning<Value: Sendable>(
    _ work: @escaping @Sendable (any SigningRows) throws -> Value
  ) async throws -> Value
}

/// A phone with its owner's name.
struct PersonPhone: Sendable {
  /// The administrator's, or the listed user's.
  let owner: String
  let id: String
  let publicKey: String
  let credential: PhoneKeys.Credential?
  let name: String
  let registeredAt: UnixTime

  init(owner: String, _ phone: Phone, credential: String?, key: String?) {
    self.owner = owner
    id = phone.id
    publicKey = phone.publicKey
    self.credential = credential.flatMap { id in key.map { PhoneKeys.Credential(id: id, publicKey: $0) } }
    name = phone.name.isEmpty ? phone.displayName : phone.name
    registeredAt = phone.registeredAt
  }

  /// Nil if its keys have no form that computers take.
  ///
  /// Its time is service time, which looks like Unix time: what people are shown would move with the wall clock, and with
  /// it what was signed.
  var pinned: PinnedPhone? {
    PinnedPhone(
      UserPhonesReply.Phone(
        id: id, name: name, keys: PhoneKeys(publicKey: publicKey, credential: credential), pinMAC: nil,
        since: registeredAt.seconds),
      since: registeredAt.seconds)
  }
}

/// A user on an application's list.
struct ListedPerson: Sendable {
  let name: String
  /// As they are stored, between spaces.
  let groups: String
  let token: Secret
}

/// A line of a list that is or was to be signed.
struct SignedLine: Sendable, Equatable {
  let name: String
  /// As they are stored, between spaces, by their bytes.
  let groups: String
  /// Canonical JSON.
  let text: String

  func isOf(_ group: String) -> Bool { group.isEmpty || groups.contains(" \(group) ") }
  var groupNames: [String] { groups.split(separator: " ").map(String.init) }
}

/// A line that differs between two signed lists.
struct ChangedLine: Sendable {
  let name: String
  /// The groups of the older list; nil: it did not have the user.
  let formerGroups: String?
  /// Nil: the user was removed.
  let line: SignedLine?

  /// How a computer of the group is told; nil: it has nothing of it.
  func text(for group: String) -> String? {
    if let line, line.isOf(group) { return "+" + line.text }
    let had = formerGroups.map { group.isEmpty || $0.contains(" \(group) ") } ?? false
    return had ? "-" + name : nil
  }
}

/// A list that an administrator's phone signed.
struct SignedList: Sendable {
  /// How many are kept of an application: changes since one of them are told alone.
  static let keptCount = 8

  let application: String
  /// Grows with each list of the application, in every epoch.
  let serial: Int64
  let head: UserListHead
  let proof: DocumentProof
  /// The administrator's name.
  let signer: String
  /// ``PinnedPhone/fields`` of the phone in the set by which it was verified.
  let signerPhone: String
  /// The number of that set, which the head names.
  let setNumber: Int64
  let signedAt: UnixTime
}

/// The orders that have not ended.
struct OpenOrders: Sendable {
  /// The oldest first.
  var orders: [StoredOrder] = []
  /// Ids of those that this version cannot read: a newer version stored them, or their rows are damaged.
  var unreadable: [String] = []
}

/// An order as it is stored.
struct StoredOrder: Sendable {
  /// Seconds that an order waits for the service, and that its outcome is kept.
  static let patience: Int64 = 60
  static let lifetime: Int64 = 3_600
  /// Seconds after which the phone is asked by another service, or by one that was started again, if the one that made the
  /// document has not noted that. It needs far less.
  static let resumption: Int64 = 5
  /// Seconds since the order within which the phone is asked again if another signature came first.
  static let renewal: Int64 = 300
  /// Seconds since the order after which no service begins with it: whoever gave it was stopped, and so was the service.
  static let greatestDelay = renewal + patience
  /// Seconds since the order after which one that has not ended is forgotten: services end those that they can read.
  static let greatestAge: Int64 = 86_400

  let id: String
  let order: DocumentOrder
  let orderedAt: UnixTime
  /// A service makes the document of it.
  var takenAt: UnixTime?
  /// Canonical JSON of the head, or of the set.
  var document: String?
  /// The request on the phone.
  var session: String?
  var endedAt: UnixTime?
  var outcome: DocumentOutcome?
  /// Why the service failed, for people; nil for each other outcome.
  var reason: String?

  var progress: DocumentProgress {
    outcome.map(DocumentProgress.ended) ?? (session == nil ? .ordered : .asked)
  }

  /// The document that the phone is asked to sign; nil before it is made.
  func signedDocument() throws -> SignedDocument? {
    guard let document else { return nil }
    let json = try JSON.stored(document)
    switch order.subject {
    case .users: return .users(try UserListHead(json))
    case .administrators: return .administrators(try AdministratorSet(json))
    }
  }

  /// Whether the document is still the next one: nothing was signed since it was made.
  func isNext(_ rows: any SigningRows) throws -> Bool {
    guard let set = try rows.lastSet()?.set else { return false }
    switch try signedDocument() {
    case .administrators(let next)?: return next.follows(set)
    case .users(let head)?:
      return try Digest.areEqual(head.administrators, set.digest) && head.epoch == rows.epoch()
        && head.follows(rows.signedLists(of: head.application).first?.head)
    case nil: return false
    }
  }

  mutating func end(_ outcome: DocumentOutcome, because reason: String? = nil, at now: UnixTime) {
    (self.outcome, self.reason, endedAt) = (outcome, reason, now)
  }

  /// Something newer was signed since the document was made: another one is to be made in its place, unless the order is
  /// too old. It stays taken until the phone's request has ended.
  mutating func overtaken(at now: UnixTime) {
    guard now < orderedAt.advanced(seconds: Self.renewal) else { return end(.outdated, at: now) }
    (takenAt, document, session) = (now, nil, nil)
  }

  /// Whether another document is to be made, once the phone's request has ended.
  var isOvertaken: Bool { outcome == nil && takenAt != nil && document == nil }
}

extension StoredOrder {
  /// What the subject is stored as.
  var kind: String {
    switch order.subject {
    case .users: SignedDocument.Kind.users.rawValue
    case .administrators: SignedDocument.Kind.administrators.rawValue
    }
  }

  var application: String? { if case .users(let application) = order.subject { application } else { nil } }

  var recoveryKey: String? {
    if case .administrators(.replace(let key)) = order.subject { key.text } else { nil }
  }

  static func subject(kind: String, application: String?, recoveryKey: String?) throws -> DocumentOrder.Subject {
    switch (SignedDocument.Kind(rawValue: kind), application) {
    case (.users, let application?): return .users(application: application)
    case (.administrators, _):
      guard let recoveryKey else { return .administrators(.keep) }
      guard let key = P256PublicKey(recoveryKey) else { throw DamagedRow(column: "recovery_key") }
      return .administrators(.replace(key))
    default: throw DamagedRow(column: "kind")
    }
  }
}

extension SignedList {
  init(
    application: String, serial: Int64, head: String, proof: String, signer: String, signerPhone: String,
    setNumber: Int64, signedAt: Int64
  ) throws {
    self.init(
      application: application, serial: serial, head: try UserListHead(try JSON.stored(head)),
      proof: try DocumentProof(try JSON.stored(proof)), signer: signer, signerPhone: signerPhone, setNumber: setNumber,
      signedAt: UnixTime(milliseconds: signedAt))
  }
}

extension StoredAdministratorSet {
  init(document: String, proof: String?, signer: String, madeAt: Int64) throws {
    set = try AdministratorSet(try JSON.stored(document))
    self.proof = try proof.map { try DocumentProof(try JSON.stored($0)) }
    self.signer = signer
    self.madeAt = UnixTime(milliseconds: madeAt)
  }

  var document: String { self.set.json.storedText }
}

extension JSON {
  /// What the database has as text.
  static func stored(_ text: String) throws -> JSON { try JSON.reading(Array(text.utf8)) }

  var storedText: String { String(decoding: canonicallyEncoded(), as: UTF8.self) }
}
