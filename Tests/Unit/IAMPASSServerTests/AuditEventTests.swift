import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Every event that the audit knows, by an act that adds it over its route, or as its command does. The entry says who
/// did it.
@Suite struct AuditEventTests {
  struct Act: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The kind of the actor, by the event.
    let actors: [String: String]
    /// Returns the entries that it has added.
    let perform: @Sendable () async throws -> [AuditEntry]
  }

  static let acts = [
    Act(
      testDescription: "a sign-in",
      actors: [
        "application made": "cli", "user added": "application", "registration link made": "application",
        "phone registered": "phone", "asked": "application", "approved": "phone", "walked away": "phone",
        "back": "phone", "ended": "session", "phone cut off": "phone", "user deleted": "application",
      ], perform: { try await AuditedActs.signIn() }),
    Act(
      testDescription: "a denial", actors: ["denied": "phone", "block lifted": "cli"],
      perform: { try await AuditedActs.denial() }),
    Act(
      testDescription: "the console",
      actors: [
        "console link made": "cli", "console sign-in": "console", "application made": "console",
        "settings changed": "console", "application secret renewed": "console", "credential made": "console",
        "credential renamed": "console", "credential revoked": "console", "user listed": "console",
        "audit exported": "console", "console sign-out": "console",
      ], perform: { try await AuditedActs.console() }),
    Act(
      testDescription: "commands",
      actors: [
        "notifications set": "cli", "notifications removed": "cli", "application taken back": "cli",
        "signing key made": "service", "signing key removed": "cli", "backup made": "cli",
        "administrator added": "cli", "administrator changed": "cli", "administrator removed": "cli",
      ], perform: { try await AuditedActs.commands() }),
    Act(
      testDescription: "faces",
      actors: [
        "app vouches for faces": "phone", "app vouched for the face": "phone", "app vouches no more": "phone",
      ], perform: { try await AuditedActs.faces() }),
    Act(
      testDescription: "a screen lock",
      actors: ["phone credential added": "phone", "phone credential replaced": "phone"],
      perform: { try await AuditedActs.screenLock() }),
    Act(
      testDescription: "joins",
      actors: [
        "join code made": "cli", "computer asked to join": "newcomer", "computer joined": "cli",
        "computer refused": "cli", "join code revoked": "cli",
      ], perform: { try await AuditedActs.joins() }),
    Act(
      testDescription: "codes",
      actors: ["recovery code used": "credential", "approved offline": "credential", "sign-in disowned": "phone"],
      perform: { try await AuditedActs.codes() }),
    Act(
      testDescription: "locums",
      actors: ["locum allowed": "cli", "locum approved": "phone", "locum denied": "phone"],
      perform: { try await AuditedActs.locums() }),
    Act(
      testDescription: "a copied computer",
      actors: [
        "computer copied or put back": "credential", "computer copied": "credential", "computer settled": "cli",
      ], perform: { try await AuditedActs.copiedComputer() }),
    Act(
      testDescription: "signed lists", actors: ["administrators signed": "cli", "user list signed": "phone"],
      perform: { try await AuditedActs.signedLists() }),
    Act(
      testDescription: "sealed secrets",
      actors: ["secrets sealed": "cli", "secrets unsealed": "cli", "lost key given up": "cli"],
      perform: { try await AuditedActs.seals() }),
    Act(
      testDescription: "a move", actors: ["database moved": "cli"], perform: { try await AuditedActs.move() }),
  ]

  /// What else is in quotes in the triggers: settings, states, methods, and words of SQLite.
  private static let otherWords: Set = [
    "accepted", "active", "apps", "disabled", "enabled", "facial", "identifying", "joined", "no", "now", "off", "on",
    "pending", "recovery", "refused", "required", "unixepoch", "walkaway", "yes",
  ]

  @Test(arguments: acts) func theAuditSaysWhoDidIt(_ act: Act) async throws {
    let entries = try await act.perform()
    #expect(entries.filter { $0.actor == nil }.map(\.event) == [])
    for (event, kind) in act.actors {
      #expect(entries.contains { $0.event == event && $0.actor?.kind == kind }, "\(event)")
    }
  }

  /// A new event needs an act above.
  @Test func everyEventHasAnAct() async throws {
    let quoted: @Sendable (Database) throws -> Set<String> = { db in
      let triggers = try String.fetchAll(
        db, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%INTO audit%'")
      return Set(triggers.flatMap { text in text.matches(of: /'([^']*)'/).map { String($0.1) } })
    }
    let room = try await StorageFixture(.sqlite)
    let words = try await #require(room.storage as? SQLiteStorage).read(quoted)
    var events = words.filter { $0.wholeMatch(of: /[a-z][a-z -]*[a-z]/) != nil }.subtracting(Self.otherWords)
    events.formUnion(NotedEvent.allCases.map(\.rawValue))
    let shown = Set(Self.acts.flatMap { $0.actors.keys })
    #expect(events.subtracting(shown) == [], "no act shows who did this")
    #expect(shown.subtracting(events) == [], "the audit has no such event")
  }
}
