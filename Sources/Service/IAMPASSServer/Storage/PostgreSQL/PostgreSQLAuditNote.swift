import PostgreSQLLink

extension AuditNote {
  /// Sets the actor of one transaction's audit entries; nil if it is not known. The settings end with the transaction,
  /// committed or not. The call is sent with those that open the transaction, without another round trip.
  var call: PostgreSQLCall? {
    guard act != nil || actor != nil else { return nil }
    return PostgreSQLCall(
      """
      SELECT set_config('iampass.actor', $1, true), set_config('iampass.administrator', $2, true),
        set_config('iampass.approval', $3, true)
      """, .text(actor?.text ?? ""), .text(act?.administrator ?? ""), .text(act?.approval ?? ""))
  }
}
