import Foundation
import GRDB
import LocalPostgreSQL
import Testing

@testable import IAMPASSServer

/// What a planner may not choose in the database of a company: see ``FilledSchema``.
enum FilledPlan {
  /// The most rows that a step may read if no LIMIT ends it: more than one user or one computer has, and less than all live
  /// sessions or users of an application.
  static let greatestRows = 2_000

  /// What reads many rows, and may: a part of the statement with single spaces, and why. Those of ``StatementPlanTests``
  /// come on top.
  private static let exceptions =
    StatementPlanTests.wholeLists.merging([
      "AND name NOT IN (SELECT name FROM signed_line WHERE application = $1 AND last_serial IS NULL)":
        "an order that signs a whole list",
      "UPDATE signed_line SET last_serial = $2 WHERE application = $1 AND last_serial IS NULL":
        "an order that signs a whole list",
      "WHERE audit.id > $1 AND audit.application IN":
        "what came since the last look. Its plan without values seems dear, and is not taken",
      "WHERE application = $1 AND version > $3 AND strpos(told_groups, $4) > 0":
        "what changed since the last look. Its plan without values seems dear, and is not taken",
      "app_user.application = (SELECT value FROM service_fact WHERE name = 'administrators')":
        "the application of the administrators has as many users as there are administrators",
      "WHERE app_user.application = $1 AND app_user.id > $2 AND app_user.id <= $3 AND strpos(":
        "a search that reads thousands of users at once, and takes the cheaper way to their phones",
      "(SELECT count(*) FROM join_code WHERE join_code.application = user_group.application":
        "the console's groups. A code is deleted when its time is over, so that there are few",
      "SELECT id, secret FROM joining WHERE secret IS NOT NULL AND id > $1": "a command that seals all of them",
      "DELETE FROM signed_line WHERE application = $1 AND last_serial <= $2": "it deletes what it reads",
    ]) { first, _ in first }

  /// Whole statements of the same kind.
  private static let wholeStatements = [
    "SELECT * FROM host_credential WHERE application = $1 ORDER BY revoked_at IS NOT NULL, name, created_at":
      "a command that lists all of them",
    "SELECT * FROM session WHERE ended_at IS NULL AND credential IS NULL AND application = $1":
      "an administrator gives the application a new secret",
  ]

  /// What is asked, but for the exceptions.
  static func statements(and own: [String]) throws -> [String] {
    let all = try (StatementPlanTests.statements() + own).map { (statement: $0, text: plain($0)) }
    for part in exceptions.keys { #expect(all.contains { $0.text.contains(part) }, "nobody asks \(part)") }
    for whole in wholeStatements.keys { #expect(all.contains { $0.text == whole }, "nobody asks \(whole)") }
    return all.filter { one in
      wholeStatements[one.text] == nil && !exceptions.keys.contains { one.text.contains($0) }
    }.map { $0.statement }
  }

  /// The statement with single spaces.
  static func plain(_ statement: String) -> String {
    statement.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}

/// SQLite has no statistics in a service's database. An administrator may make some, and then it plans by them.
@Suite struct FilledPlanTests {
  @Test func sqliteReadsFewRowsOfALargeTable() async throws {
    let folder = TestFolder.path + "/iampass-filled-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let database = try await FilledSchema.sqlite(in: folder)
    let statements = try FilledPlan.statements(and: StorageStatements.sqlite.get())
    let steps = try await database.read { db in try Self.steps(of: statements + Self.bad, db) }
    try await database.writeWithoutTransaction { try $0.execute(sql: "ANALYZE") }
    let analyzed = try await database.read { db in try Self.steps(of: statements + Self.bad, db) }
    let facts = try await database.read { db in try Self.facts(of: db) }
    try database.close()

    for table in StatementPlanTests.growing.intersection(facts.tables) {
      let rows = facts.rowsPerKey[table]?.first ?? 0
      #expect(rows >= FilledPlan.greatestRows, "\(table) is to be filled")
    }
    for (when, plans) in [("as in a service", steps), ("after ANALYZE", analyzed)] {
      let complaints = statements.flatMap { Self.complaints(of: $0, plans[$0] ?? [], facts) }
      #expect(complaints.isEmpty, "\(when):\n\(complaints.joined(separator: "\n"))")
      // It finds what it is for.
      for statement in Self.bad {
        let found = Self.complaints(of: statement, plans[statement] ?? [], facts)
        #expect(!found.isEmpty, "\(when): \(statement): \(plans[statement] ?? [])")
      }
    }
  }

  private static let bad = [
    "SELECT id FROM session WHERE status = $1",
    "SELECT count(*) FROM session WHERE application = $1 AND ended_at IS NULL",
    "SELECT one.id FROM app_user AS one WHERE one.application = $1 ORDER BY one.told_name LIMIT $2",
  ]

  /// What the plans' names mean.
  private struct Facts: Sendable {
    let tables: Set<String>
    /// The rows of a table; and of an index the rows, and how many of them one value of the first column has, one of the
    /// first two, and so on.
    let rowsPerKey: [String: [Int]]
  }

  private static func facts(of db: Database) throws -> Facts {
    var rowsPerKey: [String: [Int]] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT tbl, idx, stat FROM sqlite_stat1") {
      let numbers = (row["stat"] as String? ?? "").split(separator: " ").compactMap { Int($0) }
      if let index = row["idx"] as String? { rowsPerKey[index] = numbers }
      // Some indices have a part of the table's rows.
      if let table = row["tbl"] as String?, let all = numbers.first, all > rowsPerKey[table]?.first ?? 0 {
        rowsPerKey[table] = [all]
      }
    }
    return Facts(tables: try StatementPlanTests.names(in: db), rowsPerKey: rowsPerKey)
  }

  private static func steps(of statements: [String], _ db: Database) throws -> [String: [String]] {
    var steps: [String: [String]] = [:]
    for statement in statements { steps[statement] = try StatementPlanTests.steps(of: statement, db) }
    return steps
  }

  private static func complaints(of statement: String, _ steps: [String], _ facts: Facts) -> [String] {
    let sql = SQLiteDialect.translated(statement)
    let sorts = steps.contains { $0.contains("TEMP B-TREE FOR ORDER BY") }
    let endsEarly = statement.contains("LIMIT ") && !sorts
    return steps.compactMap { step -> String? in
      let read = SQLitePlan.tables(in: step, of: sql, facts.tables)
      guard !read.isSubset(of: facts.tables.subtracting(StatementPlanTests.growing)) else { return nil }
      let place = "\(step): \(FilledPlan.plain(statement))"
      if step.hasPrefix("SCAN ") { return "the whole of \(read.sorted()): \(place)" }
      if step.contains("USING AUTOMATIC ") { return "an index of its own for \(read.sorted()): \(place)" }
      guard !endsEarly, let rows = rows(in: step, facts), rows > FilledPlan.greatestRows else { return nil }
      return "\(rows) rows of \(read.sorted()): \(place)"
    }
  }

  /// How many rows of an index a step reads on an average, if each of its columns has one value. A range is as long as its
  /// caller makes it.
  private static func rows(in step: String, _ facts: Facts) -> Int? {
    guard let found = step.firstMatch(of: #/ INDEX (?<index>[a-z_0-9]+) \((?<terms>.*)\)/#) else { return nil }
    let terms = String(found.terms).components(separatedBy: " AND ")
    guard terms.allSatisfy({ $0.hasSuffix("=?") }), let rows = facts.rowsPerKey[String(found.index)] else { return nil }
    return rows.indices.contains(terms.count) ? rows[terms.count] : nil
  }
}
