import DeviceProtocol
import IAMPASSProtocol
import Logging
import Testing

@testable import IAMPASSServer

/// A service whose administrator's phone signs, with one computer.
struct SigningFixture {
  let fixture: Fixture
  let phone: TestPhone
  let desk: HostCredential

  var storage: any ServiceStorage { fixture.service.core.storage }
  var operators: any OperatorStore {
    guard let operators = storage as? any OperatorStore else { fatalError("no storage of an engine") }
    return operators
  }
  var now: UnixTime { fixture.clock.now }
  var application: String { fixture.application.id }

  /// - Parameter starts: whether there is a first set.
  init(
    _ engine: StorageEngine = .sqlite, starts: Bool = true,
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  ) async throws {
    fixture = try await Fixture(logger: logger, engine: engine)
    phone = try await TestPhone.administrator(in: fixture, "ada", .admin)
    guard let operators = fixture.service.core.storage as? any OperatorStore else { throw StorageFixture.NotStarted() }
    desk = try await operators.createHostCredential(
      named: "desk", host: "desk-7", of: "shop", at: fixture.clock.now)
    if starts { _ = try await self.operators.createAdministratorSet(replacing: false, at: now) }
  }

  func list(_ names: String..., groups: [String] = []) async throws {
    for name in names {
      _ = try await storage.listUser(UserListOrder(application: "shop", name: name, groups: groups))
    }
  }

  var set: AdministratorSet {
    get async throws { try #require(try await operators.administratorSets().last).set }
  }

  // MARK: Phones

  /// Has a phone asked.
  @discardableResult
  func order(_ subject: DocumentOrder.Subject? = nil, by name: String = "ada") async throws -> DocumentProgress {
    try await fixture.service.documents.ask(
      for: DocumentOrder(subject ?? .users(application: application), by: name))
  }

  /// All of the document that the phone's only request names.
  func document(
    for phone: TestPhone? = nil, knowing set: Int64 = 0, session: String? = nil
  ) async throws -> (request: OpenRequest, pages: [DocumentPage]) {
    let phone = phone ?? self.phone
    let request = try #require(try await phone.list().first)
    var pages: [DocumentPage] = []
    var after: String? = ""
    while let place = after {
      let reply = try await fetch(session ?? request.session, by: phone, knowing: set, after: place)
      #expect(reply.status == 200)
      #expect(reply.body.count < 60 * 1_024)
      pages.append(try DocumentPage(parsing: reply.body))
      after = pages.last?.next
    }
    return (request, pages)
  }

  func fetch(_ session: String, by phone: TestPhone, knowing set: Int64 = 0, after: String = "") async throws
    -> ServiceReply
  {
    let ask = DocumentAsk(ask: try phone.ask(.document), session: session, knownSet: set, after: after)
    return try await phone.send(DeviceRoute.document, ask.json)
  }

  /// The phone approves its only request, as one that shows documents.
  ///
  /// - Parameter document: what it says that it computed; nil: nothing.
  @discardableResult
  func approve(by phone: TestPhone? = nil, saying document: String?? = .none) async throws -> ServiceReply {
    let phone = phone ?? self.phone
    let request = try #require(try await phone.list().first)
    let computed = request.challenge.map { Digest.hexadecimal($0.bytes) }
    let statement = AnswerStatement(
      origin: Fixture.origin, device: phone.device, session: request.session, answer: .approve,
      contextHash: ShownContext.hash(request.context), nonce: request.nonce, expires: request.expires,
      method: request.method, challenge: request.challenge, document: document ?? computed)
    return try await phone.send(DeviceRoute.answer, statement.json)
  }

  /// - Returns: what became of it.
  func sign(
    _ subject: DocumentOrder.Subject? = nil, by phone: TestPhone? = nil, called name: String = "ada",
    saying document: String?? = .none
  ) async throws -> DocumentOutcome? {
    let order = DocumentOrder(subject ?? .users(application: application), by: name)
    let id = try await operators.orderDocument(order, at: now)
    try await fixture.service.documents.attend()
    guard case .asked = try await operators.documentOrder(id) else { return try await outcome(of: id) }
    try await approve(by: phone, saying: document)
    return try await outcome(of: id)
  }

  func outcome(of id: String) async throws -> DocumentOutcome? {
    if case .ended(let outcome)? = try await operators.documentOrder(id) { outcome } else { nil }
  }

  // MARK: Computers

  /// - Parameter wait: seconds.
  func page(
    epoch: Int64 = 0, version: Int64 = 0, administrators: Int64 = 1, after: String = "",
    by computer: HostCredential? = nil, wait: Int? = nil
  ) async throws -> SignedUserListReply {
    let computer = computer ?? desk
    let target =
      "/authentication/user_list/\(computer.id)?signed=1&version=\(version)&epoch=\(epoch)&administrators="
      + "\(administrators)&after=\(PercentEncoding.encode(after))"
    let reply = await fixture.respond(try fixture.signed("GET", target, by: computer))
    #expect(reply.status == 200)
    #expect(reply.body.count < 64 * 1_024)
    return try SignedUserListReply(parsing: reply.body)
  }

  /// The whole list as a computer checks it.
  func whole(group: String = "", administrators: Int64 = 1, by computer: HostCredential? = nil) async throws
    -> [UserListLine]
  {
    var lines: [UserListLine] = []
    var reply = try await page(administrators: administrators, by: computer)
    let head = try #require(reply.head)
    let check = DocumentCheck(
      set: try await set, former: reply.formerSets, origin: Fixture.origin, verifier: DeviceVerifier())
    _ = try check.signer(of: .users(head), try #require(reply.proof))
    while true {
      for case .listed(let line) in reply.changes { lines.append(line) }
      guard reply.hasMore else { break }
      reply = try await page(administrators: administrators, after: try #require(lines.last?.name), by: computer)
    }
    let list = head.list(of: group)
    #expect(list.count == Int64(lines.count))
    #expect(UserListLine.digest(of: lines) == list.digest)
    return lines
  }
}
