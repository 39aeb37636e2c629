import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Which phone's answer an entry of the audit goes back to, and whether its signatures are right.
@Suite struct AuditProofTests {
  private func proof(of event: String, in fixture: Fixture) async throws -> AuditProof {
    let storage = fixture.service.storage
    let entry = try #require(try await storage.newestAuditEntries(before: nil, limit: 100).first { $0.event == event })
    return try #require(try await storage.auditProof(ofEntry: entry.id))
  }

  /// Changes what is kept of the phone's answers.
  private func forge(_ column: AnswerColumn, in fixture: Fixture) async throws {
    try await fixture.service.storage.write { db in
      switch column {
      case .statement: try db.execute("UPDATE answer SET statement = replace(statement, 'approve', 'not_me')")
      case .context: try db.execute("UPDATE answer SET context = replace(context, 'ada', 'eve')")
      case .key: try db.execute("UPDATE answer SET public_key = 'AAAA'")
      }
    }
  }

  enum AnswerColumn: Sendable { case statement, context, key }

  @Test func aChangeInTheConsoleGoesBackToThePhonesSignature() async throws {
    let fixture = try await Fixture()
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    #expect(await visitor.post("/applications", ["name": "made"]).status == 200)
    let made = try await proof(of: "application made", in: fixture)
    let answer = try #require(made.answer)
    #expect(made.entry["approval"] == answer.session && answer.flaw == nil)
    #expect(answer.context.contains("console of iampass.test"))
    #expect(made.jsonLine.hasSuffix(#","verified":true}"#))
    // The sign-in's own entries go back to the same answer.
    #expect(try await proof(of: "approved", in: fixture).answer?.signature == answer.signature)
  }

  @Test(arguments: [
    (AnswerColumn.statement, AnswerProof.Flaw.signature), (.context, .context), (.key, .signature),
  ])
  func anAnswerThatWasChangedProvesNothing(_ column: AnswerColumn, _ flaw: AnswerProof.Flaw) async throws {
    let fixture = try await Fixture()
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    #expect(await visitor.post("/applications", ["name": "made"]).status == 200)
    try await forge(column, in: fixture)
    let made = try await proof(of: "application made", in: fixture)
    #expect(made.answer?.flaw == flaw)
    #expect(made.jsonLine.hasSuffix(#","verified":false}"#))
  }

  @Test func anotherRequestsAnswerProvesNothing() async throws {
    let fixture = try await Fixture()
    let (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .admin)
    #expect(await visitor.post("/applications", ["name": "made"]).status == 200)
    let made = try await proof(of: "application made", in: fixture)
    let answer = try #require(made.answer)
    let moved = AnswerProof(
      session: "another", phone: answer.phone, publicKey: answer.publicKey, statement: answer.statement,
      signature: answer.signature, context: answer.context, assertion: nil, members: [])
    #expect(moved.flaw == .statement)
    let asserted = AnswerProof(
      session: answer.session, phone: answer.phone, publicKey: answer.publicKey, statement: answer.statement,
      signature: answer.signature, context: answer.context, assertion: ("{}", answer.publicKey), members: [])
    #expect(asserted.flaw == .assertion)
  }

  @Test(arguments: StorageEngine.allCases)
  func aSignedListGoesBackToTheSignatureOfIt(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    let head = try #require(try await office.page().head)
    let entries = try await office.storage.newestAuditEntries(before: nil, limit: 100)
    let signed = try #require(entries.first { $0.event == "user list signed" })
    let proof = try #require(try await office.operators.auditProof(ofEntry: signed.id))
    let answer = try #require(proof.answer)
    #expect(answer.flaw == nil && answer.phone == office.phone.device)
    #expect(answer.statement.contains(Digest.hexadecimal(head.digest)))
    // The first set was made by a command.
    let first = try #require(entries.first { $0.event == "administrators signed" })
    #expect(try await office.operators.auditProof(ofEntry: first.id)?.answer == nil)
  }

  @Test func whatNoPhoneApprovedHasNoAnswer() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    #expect(await visitor.post("/applications", ["name": "made"]).status == 200)
    let made = try await proof(of: "application made", in: fixture)
    #expect(made.answer == nil && made.jsonLine.contains(#""answer":null,"verified":false"#))
    #expect(try await fixture.service.storage.auditProof(ofEntry: 1_000_000) == nil)
  }
}
