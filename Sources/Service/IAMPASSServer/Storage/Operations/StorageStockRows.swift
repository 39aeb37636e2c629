import GRDB

extension StorageStock {
  init(in db: Database) throws {
    func number(_ sql: String) throws -> Int64 { try Int64.fetchOne(db, sql: sql) ?? 0 }
    applications = try number("SELECT count(*) FROM application")
    users = try number("SELECT count(*) FROM user")
    phones = try number("SELECT count(*) FROM phone WHERE cut_off_at IS NULL")
    hostCredentials = try number("SELECT count(*) FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0")
    unanswered = try number("SELECT count(*) FROM session WHERE ended_at IS NULL AND approved_at IS NULL")
    live = try number("SELECT count(*) FROM session WHERE ended_at IS NULL AND approved_at IS NOT NULL")
    bytes = try number("PRAGMA page_count") * number("PRAGMA page_size")
  }
}
