import PostgreSQLLink

@testable import IAMPASSServer

/// Where a move can end before its time.
enum MoveStep: CaseIterable, Sendable {
  case judging, emptied, viewed, added, checked, held, changedClosed, committed, sourceClosed, sourceCommitted, opened
}

struct Broken: Error {}

struct BreakingSource: MoveSource {
  let end: any MoveSource
  let reached: @Sendable (MoveStep) throws -> Void

  init(_ end: any MoveSource, _ reached: @escaping @Sendable (MoveStep) throws -> Void) {
    self.end = end
    self.reached = reached
  }

  var place: String { end.place }
  func mark() throws -> MoveMark? { try end.mark() }
  func identity() throws -> MoveIdentity { try end.identity() }
  func form() throws -> TableForm { try end.form() }

  func view(_ work: (any MoveRows) throws -> Void) throws {
    try end.view(work)
    try reached(.viewed)
  }

  func hold(_ work: (any HeldSource) throws -> Void) throws {
    try end.hold { held in
      try reached(.held)
      try work(held)
      try reached(.sourceClosed)
    }
    try reached(.sourceCommitted)
  }
}

struct BreakingDestination: MoveDestination {
  let end: any MoveDestination
  let reached: @Sendable (MoveStep) throws -> Void

  init(_ end: any MoveDestination, _ reached: @escaping @Sendable (MoveStep) throws -> Void) {
    self.end = end
    self.reached = reached
  }

  var place: String { end.place }
  func mark() throws -> MoveMark? { try end.mark() }
  func identity() throws -> MoveIdentity { try end.identity() }
  func form() throws -> TableForm { try end.form() }

  func fill(_ work: (any FillingDestination) throws -> Void) throws {
    try end.fill { try work(BreakingFilling(filling: $0, reached: reached)) }
  }

  func open() throws {
    try reached(.opened)
    try end.open()
  }

  func hasArrived(_ id: String) throws -> Bool { try end.hasArrived(id) }
}

private struct BreakingFilling: FillingDestination {
  let filling: any FillingDestination
  let reached: @Sendable (MoveStep) throws -> Void

  func mark() throws -> MoveMark? { try filling.mark() }
  func isNew() throws -> Bool {
    try reached(.judging)
    return try filling.isNew()
  }

  func identity() throws -> MoveIdentity { try filling.identity() }
  func form() throws -> TableForm { try filling.form() }
  func delete(_ keys: [PostgreSQLTuple], from table: PostgreSQLTable) throws { try filling.delete(keys, from: table) }
  func update(_ rows: [PostgreSQLTuple], in table: PostgreSQLTable) throws { try filling.update(rows, in: table) }
  func count(_ table: PostgreSQLTable) throws -> Int64 { try filling.count(table) }

  func rows(_ keys: [PostgreSQLTuple], of table: PostgreSQLTable) throws -> [PostgreSQLTuple] {
    try filling.rows(keys, of: table)
  }

  func each(of table: PostgreSQLTable, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try filling.each(of: table, body)
  }

  func empty(_ tables: [PostgreSQLTable]) throws {
    try filling.empty(tables)
    try reached(.emptied)
  }

  func add(to table: PostgreSQLTable, _ body: (_ add: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
    try filling.add(to: table, body)
    try reached(.added)
  }

  func analyze() throws {
    try reached(.checked)
    try filling.analyze()
  }

  func close(_ mark: MoveMark) throws {
    try filling.close(mark)
    try reached(.changedClosed)
  }

  func commit() throws {
    try filling.commit()
    try reached(.committed)
  }
}
