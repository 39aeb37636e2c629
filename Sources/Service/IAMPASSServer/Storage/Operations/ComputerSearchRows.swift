extension ComputerSearch {
  /// The ids of a page's credentials, in its order.
  func ids(in db: some StorageTransaction) throws -> [String] {
    let rows =
      if let silentSince {
        try db.all(
          """
          SELECT host_credential.id FROM host_credential
          LEFT JOIN host_mark ON host_mark.credential = host_credential.id
          WHERE revoked_at IS NULL AND is_openid = 0
            AND ($1::text = '' OR strpos(lower(host_credential.name || ' ' || host || ' ' || computer_group),
              lower($1::text)) > 0)
            AND ($2::bigint = 0 OR forked_at IS NOT NULL)
            AND (used_day, host_credential.name, host_credential.id) > (coalesce((
              SELECT former.used_day FROM host_credential AS former WHERE former.id = $4::text), -1), $3::text, $4::text)
            AND used_day <= $5::bigint / 86400000 AND coalesce(last_used_at, host_credential.created_at) < $5::bigint
          ORDER BY used_day, host_credential.name, host_credential.id LIMIT $6
          """, text, isCopied, after?.name ?? "", after?.id ?? "", silentSince.milliseconds, Self.pageLength)
      } else {
        try db.all(
          """
          SELECT host_credential.id FROM host_credential
          LEFT JOIN host_mark ON host_mark.credential = host_credential.id
          WHERE revoked_at IS NULL AND is_openid = 0
            AND ($1::text = '' OR strpos(lower(host_credential.name || ' ' || host || ' ' || computer_group),
              lower($1::text)) > 0)
            AND ($2::bigint = 0 OR forked_at IS NOT NULL)
            AND (host_credential.name, host_credential.id) > ($3::text, $4::text)
          ORDER BY host_credential.name, host_credential.id LIMIT $5
          """, text, isCopied, after?.name ?? "", after?.id ?? "", Self.pageLength)
      }
    return try rows.map { try $0.get("id") }
  }
}
