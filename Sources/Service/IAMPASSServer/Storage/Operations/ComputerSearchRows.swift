import IAMPASSProtocol

extension ComputerPage {
  init(_ search: ComputerSearch, at now: UnixTime, in db: some StorageTransaction) throws {
    let end = try search.end(in: db)
    computers = try ComputerSummary.find(search.ids(to: end, in: db), at: now, in: db)
    let last = computers.last.map { (name: $0.credential.name, id: $0.credential.id) }
    further = computers.count == ComputerSearch.pageLength ? last : end.map { (name: $0.name, id: $0.id) }
  }
}

extension ComputerSearch {
  /// A computer in the order of the page.
  fileprivate struct Place {
    let name: String
    let id: String
    let usedDay: Int64
  }

  /// The last computer that a search by text looks at; nil if it looks at all that come.
  fileprivate func end(in db: some StorageTransaction) throws -> Place? {
    guard !text.isEmpty, !isCopied else { return nil }
    let row =
      if let silentSince {
        try db.first(
          """
          SELECT name, id, used_day FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0
            AND (used_day, name, id) > (coalesce((
              SELECT former.used_day FROM host_credential AS former WHERE former.id = $2::text), -1), $1::text, $2::text)
            AND used_day <= $3::bigint / 86400000 AND coalesce(last_used_at, created_at) < $3::bigint
          ORDER BY used_day, name, id LIMIT 1 OFFSET $4
          """, after?.name ?? "", after?.id ?? "", silentSince.milliseconds, reach - 1)
      } else {
        try db.first(
          """
          SELECT name, id, used_day FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0
            AND (name, id) > ($1::text, $2::text) ORDER BY name, id LIMIT 1 OFFSET $3
          """, after?.name ?? "", after?.id ?? "", reach - 1)
      }
    return try row.map { Place(name: try $0.get("name"), id: try $0.get("id"), usedDay: try $0.get("used_day")) }
  }

  /// The ids of a page's credentials, in its order.
  ///
  /// - Parameter end: the last one that may be among them; nil: any.
  fileprivate func ids(to end: Place?, in db: some StorageTransaction) throws -> [String] {
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
        // Without a last one: those of a later day are not silent.
        try db.all(
          """
          SELECT id FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0
            AND ($1::text = '' OR strpos(lower(name || ' ' || host || ' ' || computer_group), lower($1::text)) > 0)
            AND (used_day, name, id) > (coalesce((
              SELECT former.used_day FROM host_credential AS former WHERE former.id = $3::text), -1), $2::text, $3::text)
            AND (used_day, name, id) <= ($4::bigint, $5::text, $6::text)
            AND coalesce(last_used_at, created_at) < $7::bigint
          ORDER BY used_day, name, id LIMIT $8
          """, text, after?.name ?? "", after?.id ?? "", end?.usedDay ?? silentSince.day + 1, end?.name ?? "",
          end?.id ?? "", silentSince.milliseconds, Self.pageLength)
      } else if let end {
        try db.all(
          """
          SELECT id FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0
            AND strpos(lower(name || ' ' || host || ' ' || computer_group), lower($1::text)) > 0
            AND (name, id) > ($2::text, $3::text) AND (name, id) <= ($4::text, $5::text)
          ORDER BY name, id LIMIT $6
          """, text, after?.name ?? "", after?.id ?? "", end.name, end.id, Self.pageLength)
      } else {
        try db.all(
          """
          SELECT id FROM host_credential WHERE revoked_at IS NULL AND is_openid = 0
            AND ($1::text = '' OR strpos(lower(name || ' ' || host || ' ' || computer_group), lower($1::text)) > 0)
            AND (name, id) > ($2::text, $3::text)
          ORDER BY name, id LIMIT $4
          """, text, after?.name ?? "", after?.id ?? "", Self.pageLength)
      }
    return try rows.map { try $0.get("id") }
  }
}
