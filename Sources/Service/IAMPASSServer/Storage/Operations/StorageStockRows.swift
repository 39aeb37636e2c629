extension StorageStock {
  init(in db: some StorageTransaction) throws {
    let row = try db.first(
      """
      SELECT (SELECT count(*) FROM application) AS applications, (SELECT count(*) FROM app_user) AS users,
        (SELECT count(*) FROM phone WHERE cut_off_at IS NULL) AS phones,
        (SELECT count(*) FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0) AS host_credentials,
        (SELECT count(*) FROM session WHERE ended_at IS NULL AND approved_at IS NULL) AS unanswered,
        (SELECT count(*) FROM session WHERE ended_at IS NULL AND approved_at IS NOT NULL) AS live
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
