extension StorageStock {
  /// Triggers keep the counts of what grows with a company, by its applications, which are few.
  init(in db: some StorageTransaction) throws {
    let row = try db.first(
      """
      SELECT (SELECT count(*) FROM application) AS applications,
        coalesce(sum(CASE WHEN kind = 'users' THEN kept_count.count END), 0)::bigint AS users,
        coalesce(sum(CASE WHEN kind = 'phones' THEN kept_count.count END), 0)::bigint AS phones,
        coalesce(sum(CASE WHEN kind = 'computers' THEN kept_count.count END), 0)::bigint AS host_credentials,
        coalesce(sum(CASE WHEN kind = 'unanswered' THEN kept_count.count END), 0)::bigint AS unanswered,
        coalesce(sum(CASE WHEN kind = 'live' THEN kept_count.count END), 0)::bigint AS live
      FROM kept_count
      """)
    guard let row else { throw DamagedRow(column: "applications") }
    applications = try row.get("applications")
    users = try row.get("users")
    phones = try row.get("phones")
    hostCredentials = try row.get("host_credentials")
    unanswered = try row.get("unanswered")
    live = try row.get("live")
    bytes = try db.size()
  }
}
