import PostgreSQLLink

/// Rows of all tables, as one consistent view has them.
protocol MoveRows {
  /// - Parameter body: takes each row in the form of ``PostgreSQLTuple``, which it may not keep.
  func each(of table: PostgreSQLTable, _ body: (UnsafeRawBufferPointer) throws -> Void) throws
}

/// One of the two databases of a move.
protocol MoveEnd {
  /// For people, and for the mark of the other database.
  var place: String { get }
  /// The mark that has the database refuse changes, if there is one.
  func mark() throws -> MoveMark?
  /// What tells two databases apart, and is the same in both after a move: the key that pushes are signed with.
  func identity() throws -> String
  /// The tables and columns that it has now.
  func form() throws -> TableForm
}

/// The database that everything is moved from.
protocol MoveSource: MoveEnd {
  /// Does `work` on one consistent view, while services go on.
  func view(_ work: (any MoveRows) throws -> Void) throws

  /// Does `work` while nobody can write. If it returns, what it stored is on the disk; if it throws, nothing is stored.
  func hold(_ work: (any HeldSource) throws -> Void) throws
}

protocol HeldSource: MoveRows {
  func mark() throws -> MoveMark?
  func form() throws -> TableForm
  /// Stores what time the service has.
  func keepTime() throws
  /// Refuses every change from now on.
  func close(_ mark: MoveMark) throws
}

/// The database that everything is moved to.
protocol MoveDestination: MoveEnd {
  /// Does `work` in one transaction that no other move can have at the same time. It commits where
  /// ``FillingDestination/commit()`` is called, and not otherwise.
  func fill(_ work: (any FillingDestination) throws -> Void) throws

  /// Changes are taken from now on.
  func open() throws

  /// Whether this move was completed here.
  func hasArrived(_ id: String) throws -> Bool
}

protocol FillingDestination: MoveRows {
  func mark() throws -> MoveMark?
  /// Whether there is nothing but what each new database has.
  func isNew() throws -> Bool
  func identity() throws -> String
  func form() throws -> TableForm
  func empty(_ tables: [PostgreSQLTable]) throws
  func add(to table: PostgreSQLTable, _ body: (_ add: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
  func delete(_ keys: [PostgreSQLTuple], from table: PostgreSQLTable) throws
  func update(_ rows: [PostgreSQLTuple], in table: PostgreSQLTable) throws
  func rows(_ keys: [PostgreSQLTuple], of table: PostgreSQLTable) throws -> [PostgreSQLTuple]
  func count(_ table: PostgreSQLTable) throws -> Int64
  /// The planner learns what is there.
  func analyze() throws
  /// Has counters go on after what is there, and refuses every change from now on.
  func close(_ mark: MoveMark) throws
  func commit() throws
}
