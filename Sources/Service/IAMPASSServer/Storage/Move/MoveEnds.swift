import PostgreSQLLink

/// Rows of all tables, from one consistent view.
protocol MoveRows {
  /// - Parameter body: takes each row in the form of ``PostgreSQLTuple``, which it may not keep.
  func each(of table: PostgreSQLTable, _ body: (UnsafeRawBufferPointer) throws -> Void) throws
}

/// One of the two databases of a move.
protocol MoveEnd {
  /// The database's address, for people and for the mark of the other database.
  var place: String { get }
  /// The mark that makes the database refuse changes; nil if there is none.
  func mark() throws -> MoveMark?
  /// Whose data it is.
  func identity() throws -> MoveIdentity
  /// The database's present tables and columns.
  func form() throws -> TableForm
}

/// The database that the data is moved from.
protocol MoveSource: MoveEnd {
  /// Does `work` on one consistent view, while services go on.
  func view(_ work: (any MoveRows) throws -> Void) throws

  /// Runs `work` while writers are blocked. If it returns, its changes are on the disk. If it throws, nothing is
  /// stored.
  func hold(_ work: (any HeldSource) throws -> Void) throws
}

protocol HeldSource: MoveRows {
  func mark() throws -> MoveMark?
  func form() throws -> TableForm
  /// Stores the service's time.
  func keepTime() throws
  /// Notes in the audit who moves everything.
  func note(_ actor: AuditActor) throws
  /// Refuses every change from now on.
  func close(_ mark: MoveMark) throws
}

/// The database that the data is moved to.
protocol MoveDestination: MoveEnd {
  /// Runs `work` in one transaction, which only one move can have at a time. It commits only if
  /// ``FillingDestination/commit()`` is called.
  func fill(_ work: (any FillingDestination) throws -> Void) throws

  /// Accepts changes from now on.
  func open() throws

  /// Whether this move was completed here.
  func hasArrived(_ id: String) throws -> Bool
}

protocol FillingDestination: MoveRows {
  func mark() throws -> MoveMark?
  /// Whether the database has only the data of a new database.
  func isNew() throws -> Bool
  func identity() throws -> MoveIdentity
  func form() throws -> TableForm
  func empty(_ tables: [PostgreSQLTable]) throws
  func add(to table: PostgreSQLTable, _ body: (_ add: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
  func delete(_ keys: [PostgreSQLTuple], from table: PostgreSQLTable) throws
  func update(_ rows: [PostgreSQLTuple], in table: PostgreSQLTable) throws
  func rows(_ keys: [PostgreSQLTuple], of table: PostgreSQLTable) throws -> [PostgreSQLTuple]
  func count(_ table: PostgreSQLTable) throws -> Int64
  /// Updates the planner's statistics.
  func analyze() throws
  /// Sets the counters to continue after the present rows, and refuses every change from now on.
  func close(_ mark: MoveMark) throws
  func commit() throws
}
