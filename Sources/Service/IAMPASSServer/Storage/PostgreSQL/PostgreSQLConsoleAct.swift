extension ConsoleAct {
  /// What this transaction adds to the audit is this administrator's. The settings end with the transaction.
  func sign(in db: PostgreSQLWork) throws {
    _ = try db.first(
      "SELECT set_config('iampass.administrator', $1, true), set_config('iampass.approval', $2, true)", administrator,
      approval ?? "")
  }
}
