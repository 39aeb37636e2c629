import PostgreSQLLink

/// Moves all data of a service to a database of the other engine, while the service runs.
///
/// All rows are copied from a consistent view, and each is read back. Then writers of the source are blocked for a
/// moment, while later changes are copied.
///
/// **Interruption.** The destination is filled in one transaction, which commits it closed, so that it refuses changes.
/// Then the source is closed, and only then the destination is opened. So at most one of the two accepts changes. A
/// second run completes an interrupted move: before the source is closed it begins again, and afterwards it only opens
/// the destination.
public struct DatabaseMove {
  let source: any MoveSource
  let destination: any MoveDestination
  /// The tables, each after those that it refers to.
  let tables: [PostgreSQLTable]

  private static let clock = ContinuousClock()

  func run() throws -> MoveReport {
    if let mark = try source.mark() { return try complete(mark) }
    // Databases work in threads of their own.
    let actor = AuditActor.current
    let form = TableForm(tables)
    try form.agree(with: source.form())
    let id = try RandomValue.identifier()
    var report = MoveReport(place: destination.place)
    try destination.fill { filling in
      try form.agree(with: filling.form())
      try judge(filling)
      try filling.empty(tables)
      var rowIndices = try copy(to: filling)
      try follow(&rowIndices, to: filling)
      try check(rowIndices, in: filling)
      try filling.analyze()
      var held = Self.clock.now
      try source.hold { source in
        held = Self.clock.now
        if let mark = try source.mark() { throw MoveRefusal(.sourceMoved, mark.place) }
        // A service may have been updated meanwhile.
        try form.agree(with: source.form())
        try source.keepTime()
        if let actor { try source.note(actor) }
        try followAtLast(&rowIndices, from: source, to: filling)
        try filling.close(MoveMark(id: id, state: .arriving, place: self.source.place))
        try filling.commit()
        try source.close(MoveMark(id: id, state: .moved, place: destination.place))
      }
      report.pause = held.duration(to: Self.clock.now)
      report.counts = rowIndices.map { ($0.table.name, $0.count) }
    }
    try destination.open()
    return report
  }

  /// An earlier move has closed the source. Only the opening of the destination can be missing.
  private func complete(_ mark: MoveMark) throws -> MoveReport {
    guard mark.state == .moved else { throw MoveRefusal(.sourceArriving, mark.place) }
    if try destination.mark()?.id == mark.id {
      try destination.open()
    } else if try !destination.hasArrived(mark.id) {
      throw MoveRefusal(.sourceMoved, mark.place)
    }
    return MoveReport(place: destination.place, isCompleted: true)
  }

  private func judge(_ filling: any FillingDestination) throws {
    if let mark = try filling.mark() {
      guard mark.state == .arriving else { throw MoveRefusal(.destinationMoved, mark.place) }
      // It may be the open destination of another move.
      guard try filling.identity().isSame(as: source.identity()) else {
        throw MoveRefusal(.destinationArriving, mark.place)
      }
      return
    }
    guard try filling.isNew() else { throw MoveRefusal(.destinationNotEmpty, destination.place) }
  }

  private func copy(to filling: any FillingDestination) throws -> [RowIndex] {
    var rowIndices: [RowIndex] = []
    try source.view { rows in
      for table in tables {
        var index = RowIndex(table)
        if table.keyCount > 0 {
          try filling.add(to: table) { add in
            try rows.each(of: table) { tuple in
              _ = try index.note(tuple)
              try add(tuple)
            }
          }
        }
        rowIndices.append(index)
      }
    }
    return rowIndices
  }

  /// Copies changes since the copy of all rows, so that little is left for the moment in which writers are blocked.
  private func follow(_ rowIndices: inout [RowIndex], to filling: any FillingDestination) throws {
    try source.view { rows in
      try apply(try differences(of: &rowIndices, rows), &rowIndices, to: filling)
    }
  }

  /// Copies the last changes, each read back, and the tables without a key, which are small.
  private func followAtLast(
    _ rowIndices: inout [RowIndex], from source: any HeldSource, to filling: any FillingDestination
  ) throws {
    let differences = try differences(of: &rowIndices, source)
    try apply(differences, &rowIndices, to: filling)
    for (place, difference) in differences.enumerated() {
      try check(difference, rowIndices[place], in: filling)
      let table = rowIndices[place].table
      if table.keyCount == 0 { rowIndices[place] = try rewritten(table, from: source, in: filling) }
      guard try filling.count(table) == rowIndices[place].count else { throw MoveRefusal(.differs, table.name) }
    }
  }

  private func rewritten(
    _ table: PostgreSQLTable, from source: any HeldSource, in filling: any FillingDestination
  ) throws -> RowIndex {
    var index = RowIndex(table)
    var rows: [PostgreSQLTuple] = []
    try source.each(of: table) { rows.append(PostgreSQLTuple(copying: $0)) }
    try filling.add(to: table) { add in for row in rows { try row.bytes.withUnsafeBytes(add) } }
    var found: [PostgreSQLTuple] = []
    try filling.each(of: table) { found.append(PostgreSQLTuple(copying: $0)) }
    let order: (PostgreSQLTuple, PostgreSQLTuple) -> Bool = { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    guard rows.sorted(by: order) == found.sorted(by: order) else { throw MoveRefusal(.differs, table.name) }
    index.noteKeyless(rows.count)
    return index
  }

  private struct Difference {
    var new: [PostgreSQLTuple] = []
    var changed: [PostgreSQLTuple] = []
    var missing: [PostgreSQLTuple] = []
  }

  private func differences(of rowIndices: inout [RowIndex], _ rows: any MoveRows) throws -> [Difference] {
    var differences: [Difference] = []
    for place in rowIndices.indices {
      var difference = Difference()
      if rowIndices[place].table.keyCount > 0 {
        rowIndices[place].beginPass()
        try rows.each(of: rowIndices[place].table) { tuple in
          switch try rowIndices[place].note(tuple) {
          case .same: break
          case .new: difference.new.append(PostgreSQLTuple(copying: tuple))
          case .changed: difference.changed.append(PostgreSQLTuple(copying: tuple))
          }
        }
        difference.missing = rowIndices[place].takeMissing()
      }
      differences.append(difference)
    }
    return differences
  }

  /// Rows are deleted before those that they refer to, and added after them.
  private func apply(
    _ differences: [Difference], _ rowIndices: inout [RowIndex], to filling: any FillingDestination
  ) throws {
    for (difference, index) in zip(differences, rowIndices).reversed() where !difference.missing.isEmpty {
      try filling.delete(difference.missing, from: index.table)
    }
    for (difference, index) in zip(differences, rowIndices) {
      // A revoked phone makes room for the next one of its user.
      if !difference.changed.isEmpty { try filling.update(difference.changed, in: index.table) }
      if !difference.new.isEmpty {
        try filling.add(to: index.table) { add in for row in difference.new { try row.bytes.withUnsafeBytes(add) } }
      }
    }
  }

  /// Reads every row back.
  private func check(_ rowIndices: [RowIndex], in filling: any FillingDestination) throws {
    for index in rowIndices where index.table.keyCount > 0 {
      var count = 0
      try filling.each(of: index.table) { tuple in
        guard index.has(tuple) else { throw MoveRefusal(.differs, index.table.name) }
        count += 1
      }
      guard count == index.count else { throw MoveRefusal(.differs, index.table.name) }
    }
  }

  private func check(_ difference: Difference, _ index: RowIndex, in filling: any FillingDestination) throws {
    let rows = difference.new + difference.changed
    guard !rows.isEmpty else { return }
    let found = try filling.rows(rows.map(index.keyTuple), of: index.table)
    guard found.count == rows.count, found.allSatisfy({ $0.bytes.withUnsafeBytes(index.has) }) else {
      throw MoveRefusal(.differs, index.table.name)
    }
  }
}
