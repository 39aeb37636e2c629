import Foundation
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// PostgreSQL takes a statement's plan without values after five uses, if it seems no dearer than those with values.
@Suite struct PostgreSQLFilledPlanTests {
  @Test func postgreSQLReadsFewRowsOfALargeTable() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try FilledSchema.postgreSQL(of: room)
    // Their files go. The server stays until all tests have ended.
    defer { try? connection.run(script: "TRUNCATE application, answer, audit, spent_nonce, committed_write CASCADE") }
    let statements = try FilledPlan.statements(and: StorageStatements.postgreSQL.get())
    try Self.prepare(connection)

    for table in StatementPlanTests.growing where table != "user" {
      let size = PostgreSQLCall(
        "SELECT reltuples::int8 AS rows FROM pg_class WHERE oid = to_regclass($1)", .text(table))
      let rows = try connection.run([size])[0].first?.integer(0) ?? 0
      #expect(rows >= Int64(FilledPlan.greatestRows), "\(table) is to be filled")
    }
    var complaints: [String] = []
    for statement in statements { complaints += try Self.complaints(of: statement, connection) }
    #expect(complaints.isEmpty, "\(complaints.joined(separator: "\n"))")
    // It finds what it is for.
    for statement in Self.bad {
      #expect(try !Self.complaints(of: statement, connection).isEmpty, "\(statement)")
    }
  }

  private static let bad = [
    "SELECT id FROM session WHERE status = $1",
    "SELECT count(*) FROM session WHERE application = $1 AND ended_at IS NULL",
    "SELECT one.id FROM app_user AS one WHERE one.application = $1 ORDER BY one.told_name LIMIT $2",
    "SELECT 1 FROM spent_nonce WHERE spent_at < $1 LIMIT 1",
  ]

  private static func prepare(_ connection: PostgreSQLConnection) throws {
    try connection.run(
      script: """
        SET jit = off;
        SET plan_cache_mode = force_generic_plan;
        CREATE FUNCTION plan(statement text, types text, parameters text) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE
          found json;
        BEGIN
          EXECUTE 'PREPARE explained' || types || ' AS ' || statement;
          EXECUTE 'EXPLAIN (FORMAT JSON) EXECUTE explained' || parameters INTO found;
          DEALLOCATE explained;
          RETURN found::text;
        END $$
        """)
  }

  private static func complaints(of statement: String, _ connection: PostgreSQLConnection) throws -> [String] {
    // Without a number the planner supposes a tenth of all rows. Then such a plan seems dear, and is not taken.
    let bounded = statement.replacing(#/\b(LIMIT|OFFSET) \$[0-9]+/#) { "\($0.output.1) 100" }
    let count = StatementPlanTests.parameterCount(of: statement)
    let used = Set(bounded.matches(of: #/\$([0-9]+)/#).compactMap { Int($0.output.1) })
    // A parameter that is not used any more has no type.
    let types = (0..<count).map { used.contains($0 + 1) ? "unknown" : "bigint" }
    let answer = try connection.run([
      PostgreSQLCall(
        "SELECT plan($1, $2, $3) AS plan", .text(bounded), .text(list(types)),
        .text(list(Array(repeating: "NULL", count: count))))
    ])[0].first?.text(0)
    let explained = try JSONDecoder().decode([Explained].self, from: Data((answer ?? "[]").utf8))
    #expect(explained.count == 1, "\(statement)")
    return explained.flatMap { $0.plan.complaints(of: statement) }
  }

  private static func list(_ words: [String]) -> String {
    words.isEmpty ? "" : "(\(words.joined(separator: ", ")))"
  }

  private struct Explained: Decodable {
    let plan: PostgreSQLPlan
    enum CodingKeys: String, CodingKey { case plan = "Plan" }
  }
}

/// A step of PostgreSQL's plan, and those below it.
private struct PostgreSQLPlan: Decodable {
  let kind: String
  let rows: Double
  let table: String?
  let index: String?
  let condition: String?
  let filter: String?
  let join: String?
  let strategy: String?
  /// What it is to the step above.
  let place: String?
  let below: [PostgreSQLPlan]?

  enum CodingKeys: String, CodingKey {
    case kind = "Node Type"
    case rows = "Plan Rows"
    case table = "Relation Name"
    case index = "Index Name"
    case condition = "Index Cond"
    case filter = "Filter"
    case join = "Join Type"
    case strategy = "Strategy"
    case place = "Parent Relationship"
    case below = "Plans"
  }

  /// - Parameter endsEarly: whether a step above takes no more rows than it needs.
  func complaints(of statement: String, endsEarly: Bool = false) -> [String] {
    let own = complaint(endsEarly: endsEarly).map { ["\($0): \(FilledPlan.plain(statement))"] } ?? []
    return own
      + (below ?? []).flatMap { step in
        step.complaints(of: statement, endsEarly: mayEndEarly(step, of: statement, under: endsEarly))
      }
  }

  private func complaint(endsEarly: Bool) -> String? {
    guard let table, StatementPlanTests.growing.contains(table) else { return nil }
    if kind == "Seq Scan" { return "the whole of \(table), filter \(filter ?? "none")" }
    guard kind.hasSuffix(" Scan") else { return nil }
    // It reads all of its indices before it gives the first row.
    let isBitmap = kind == "Bitmap Heap Scan"
    guard isBitmap || !endsEarly else { return nil }
    let indices = isBitmap ? (below ?? []).flatMap(\.scans) : [self]
    guard let most = indices.max(by: { $0.rows < $1.rows }), Int(most.rows) > FilledPlan.greatestRows,
      !most.hasTwoEnds
    else { return nil }
    return "\(Int(most.rows)) rows of \(table) by \(most.index ?? kind), condition \(most.condition ?? "none")"
  }

  /// The steps here and below that read an index.
  private var scans: [PostgreSQLPlan] { index == nil ? (below ?? []).flatMap(\.scans) : [self] }

  /// A range with two ends is as long as its caller makes it.
  private var hasTwoEnds: Bool {
    let condition = condition ?? ""
    let ends = condition.matches(of: #/\((?<column>ROW\([^)]*\)|[a-z_]+) (?<side>[<>])=? /#)
    let columns = { (side: String) in Set(ends.filter { $0.side == side }.map { String($0.column) }) }
    return !columns("<").isDisjoint(with: columns(">"))
  }

  private func mayEndEarly(_ step: PostgreSQLPlan, of statement: String, under endsEarly: Bool) -> Bool {
    // EXISTS ends at the first row, which such a plan does not say.
    if step.place == "InitPlan" || step.place == "SubPlan" { return statement.contains("EXISTS") }
    return switch kind {
    case "Limit": true
    case "Sort", "Hash", "SetOp", "ModifyTable", "CTE Scan": false
    case "Aggregate": strategy == "Sorted" && endsEarly
    default: step.place == "Inner" && ["Semi", "Anti"].contains(join) || endsEarly
    }
  }
}
