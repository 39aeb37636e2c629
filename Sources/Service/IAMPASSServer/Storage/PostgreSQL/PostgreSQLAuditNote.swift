import PostgreSQLLink

extension AuditNote {
  /// Says for one transaction whose its entries in the audit are; nil if nobody is known. The settings end with the
  /// transaction, committed or not. It goes with the calls that open the transaction, and costs no round trip.
  var call: PostgreSQLCall? {
    guard act != nil || actor != nil else { return nil }
    return PostgreSQLCall(
      """
      SELECT set_config('iampass.actor', $1, true), set_config('iampass.administrator', $2, true),
        set_config('iampass.approval', $3, true)
      """, .text(actor?.text ?? ""), .text(act?.administrator ?? ""), .text(act?.approval ?? ""))
  }
}
