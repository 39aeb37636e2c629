import IAMPASSProtocol

extension CloneDetector {
  fileprivate init(row: some StorageRow) throws {
    var fork: Fork?
    if let otherMark = try row.get("other_mark") as String?, let firstAt = try row.time("forked_at"),
      let lastAt = try row.time("fork_seen_at")
    {
      fork = try Fork(
        otherMark: otherMark, otherAddress: row.get("other_address"), firstAt: firstAt, lastAt: lastAt,
        areBothUsed: row.get("are_both_used"))
    }
    try self.init(
      mark: row.get("mark"), previous: row.get("previous"), address: row.get("address"),
      seenAt: UnixTime(milliseconds: row.get("seen_at")), broughtAt: row.get("brought_at"), fork: fork)
  }

  fileprivate static func find(_ credential: String, in db: some StorageTransaction) throws -> CloneDetector? {
    try db.first("SELECT * FROM host_mark WHERE credential = $1", credential).map(CloneDetector.init(row:))
  }

  /// Whether the credential was used with two marks, and that is not settled yet.
  static func isForked(_ credential: String, in db: some StorageTransaction) throws -> Bool {
    try db.first("SELECT 1 AS found FROM host_mark WHERE credential = $1 AND forked_at IS NOT NULL", credential) != nil
  }

  /// What a sighting says, and what is then to be stored; nil if nothing is.
  ///
  /// - Parameter latest: the computer's detector if it was read before.
  fileprivate static func judge(
    _ sighting: ComputerMarkSighting, latest: CloneDetector? = nil, in db: some StorageTransaction
  ) throws -> (finding: Finding, detector: CloneDetector?) {
    guard try HostCredential.find(sighting.credential, in: db) != nil else { return (.known, nil) }
    guard var detector = try latest ?? find(sighting.credential, in: db) else {
      return (.renewed, CloneDetector(sighting))
    }
    let finding = detector.take(sighting)
    return (finding, finding == .known ? nil : detector)
  }

  fileprivate func store(for credential: String, in db: some StorageTransaction) throws {
    try db.execute(
      """
      INSERT INTO host_mark (credential, mark, previous, address, seen_at, other_mark, other_address, forked_at,
        fork_seen_at, are_both_used, brought_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      ON CONFLICT (credential) DO UPDATE SET mark = excluded.mark, previous = excluded.previous,
        address = excluded.address, seen_at = excluded.seen_at, other_mark = excluded.other_mark,
        other_address = excluded.other_address, forked_at = excluded.forked_at, fork_seen_at = excluded.fork_seen_at,
        are_both_used = excluded.are_both_used, brought_at = excluded.brought_at
      """, credential, mark, previous, address, seenAt.milliseconds, fork?.otherMark, fork?.otherAddress,
      fork?.firstAt.milliseconds, fork?.lastAt.milliseconds, fork?.areBothUsed ?? false, broughtAt)
  }
}

extension StorageEngine {
  func isKnown(_ sighting: ComputerMarkSighting) async throws -> Bool {
    try await read { db in
      var detector = try CloneDetector.find(sighting.credential, in: db)
      return detector?.take(sighting) == .known
    }
  }

  func isForked(_ credential: String) async throws -> Bool {
    try await read { try CloneDetector.isForked(credential, in: $0) }
  }

  func renew(_ sightings: [ComputerMarkSighting]) async throws -> [CloneDetector.Finding?] {
    try await write { db in
      // One round trip, however many there are.
      try db.prefetch { db in
        for sighting in sightings {
          _ = try HostCredential.find(sighting.credential, in: db)
          _ = try CloneDetector.find(sighting.credential, in: db)
        }
      }
      var changed: [String: CloneDetector] = [:]
      let findings = try sightings.map { sighting -> CloneDetector.Finding? in
        do {
          let id = sighting.credential
          let (finding, detector) = try CloneDetector.judge(sighting, latest: changed[id], in: db)
          if case .forked = finding { return nil }
          if let detector { changed[id] = detector }
          return finding
        } catch is DamagedRow { return nil }
      }
      for (id, detector) in changed { try detector.store(for: id, in: db) }
      return findings
    }
  }

  func record(_ sighting: ComputerMarkSighting) async throws -> CloneDetector.Finding {
    try await write { db in
      let (finding, detector) = try CloneDetector.judge(sighting, in: db)
      try detector?.store(for: sighting.credential, in: db)
      return finding
    }
  }

  public func clonedComputers(of application: String) async throws -> [ClonedComputer] {
    try await read { [clock] db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw HostCredentialRefusal.unknownApplication
      }
      let rows = try db.all(
        """
        SELECT host_mark.*, host_credential.name FROM host_mark CROSS JOIN host_credential
        WHERE host_credential.id = host_mark.credential AND forked_at IS NOT NULL
          AND host_credential.application = $1 AND host_credential.revoked_at IS NULL
        ORDER BY host_credential.name
        """, application.id)
      return try rows.compactMap { row in
        let mark = try CloneDetector(row: row)
        return try mark.fork.map { fork in
          try ClonedComputer(mark, fork, credential: row.get("credential"), name: row.get("name"), clock: clock)
        }
      }
    }
  }

  public func settleComputer(named name: String, of application: String, at now: UnixTime) async throws -> Bool {
    try await write { db in
      guard let application = try Application.find(nameOrID: application, in: db) else {
        throw HostCredentialRefusal.unknownApplication
      }
      guard let credential = try HostCredential.usable(named: name, of: application.id, in: db) else {
        throw HostCredentialRefusal.unknownCredential
      }
      let settled = try db.change(
        """
        UPDATE host_mark SET other_mark = NULL, other_address = NULL, forked_at = NULL, fork_seen_at = NULL,
          are_both_used = 0, settled_at = $1
        WHERE credential = $2 AND forked_at IS NOT NULL RETURNING credential
        """, now.milliseconds, credential.id)
      return settled.count == 1
    }
  }
}
