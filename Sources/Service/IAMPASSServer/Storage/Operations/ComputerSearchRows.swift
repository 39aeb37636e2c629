extension ComputerSearch {
  /// The ids of a page's credentials, in its order.
  func ids(in db: some StorageTransaction) throws -> [String] {
    let rows =
      if isCopied {
        // They are few, and have an index: no other computer is looked at. SQLite keeps the order of a CROSS JOIN.
        try db.all(
          """
          SELECT host_credential.id FROM host_mark CROSS JOIN host_credential
          WHERE host_credential.id = host_mark.credential AND forked_at IS NOT NULL AND revoked_at IS NULL AND is_openid = 0
            AND ($1::text = '' OR strpos(lower(host_credential.name || ' ' || host || ' ' || computer_group),
              lower($1::text)) > 0)
            AND coalesce(last_used_at, host_credential.created_at) < $2
            AND (host_credential.name, host_credential.id) > ($3::text, $4::text)
          ORDER BY host_credential.name, host_credential.id LIMIT $5
          """, text, silentSince?.milliseconds ?? Int64.max, after?.name ?? "", after?.id ?? "", Self.pageLength)
      } else if let silentSince {
        try db.all(
          """
          SELECT host_credential.id FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0
            AND ($1::text = '' OR strpos(lower(host_credential.name || ' ' || host || ' ' || computer_group),
              lower($1::text)) > 0)
            AND (used_day, host_credential.name, host_credential.id) > (coalesce((
              SELECT former.used_day FROM host_credential AS former WHERE former.id = $3::text), -1), $2::text, $3::text)
            AND used_day <= $4::bigint / 86400000 AND coalesce(last_used_at, host_credential.created_at) < $4::bigint
          ORDER BY used_day, host_credential.name, host_credential.id LIMIT $5
          """, text, after?.name ?? "", after?.id ?? "", silentSince.milliseconds, Self.pageLength)
      } else {
        try db.all(
          """
          SELECT host_credential.id FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0
            AND ($1::text = '' OR strpos(lower(host_credential.name || ' ' || host || ' ' || computer_group),
              lower($1::text)) > 0)
            AND (host_credential.name, host_credential.id) > ($2::text, $3::text)
          ORDER BY host_credential.name, host_credential.id LIMIT $4
          """, text, after?.name ?? "", after?.id ?? "", Self.pageLength)
      }
    return try rows.map { try $0.get("id") }
  }
}
