extension Migration {
  /// The indices of the audit's entries of what is signed, or is to be. They are few among those of sign-ins.
  ///
  /// They are in the words of `StoredSigningNews.swift`: SQLite uses them only if they are the same.
  static let signingEntries = Migration(
    "entries of signing",
    sql: """
      CREATE INDEX signing_entry ON audit (id) WHERE event IN (
        'user listed', 'user deleted', 'phone registered', 'phone cut off', 'phone credential added',
        'phone credential replaced', 'administrator added', 'administrator changed', 'administrator removed',
        'administrators signed', 'user list signed');
      CREATE INDEX signing_entry_time ON audit (noted_at) WHERE event IN (
        'user listed', 'user deleted', 'phone registered', 'phone cut off', 'phone credential added',
        'phone credential replaced', 'administrator added', 'administrator changed', 'administrator removed',
        'administrators signed', 'user list signed');
      """)
}
