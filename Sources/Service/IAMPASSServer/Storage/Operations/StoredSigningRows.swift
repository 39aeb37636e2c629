import IAMPASSProtocol

/// ``SigningRows`` in one transaction.
struct StoredSigningRows<Transaction: StorageTransaction>: SigningRows {
  let db: Transaction

  func mark() throws -> ServiceMark { try HistoryMark.current(in: db) }

  func listedApplicationNames() throws -> [(id: String, name: String)] {
    let sql: StaticString = """
      SELECT id, name FROM application WHERE id IN (SELECT application FROM user_list UNION SELECT application FROM signed_list)
      ORDER BY name
      """
    return try db.all(sql).map { (try $0.get("id"), try $0.get("name")) }
  }
}

// What there is to sign.
extension StoredSigningRows {
  func administratorPhones() throws -> [PersonPhone] {
    let sql: StaticString = """
      SELECT administrator.name AS owner, phone.*, phone_credential.credential AS credential,
        phone_credential.public_key AS credential_key
      FROM administrator JOIN app_user ON app_user.name = administrator.name
        AND app_user.application = (SELECT value FROM service_fact WHERE name = 'administrators')
      JOIN phone ON phone.user_id = app_user.id AND phone.cut_off_at IS NULL
      LEFT JOIN phone_credential ON phone_credential.phone = phone.id
      WHERE administrator.role = 'admin' ORDER BY phone.registered_at, phone.number
      """
    return try db.all(sql).map(PersonPhone.init(row:))
  }

  func listedPeople(of application: String) throws -> [ListedPerson] {
    let sql: StaticString = """
      SELECT listed_user.name AS name, listed_user.groups AS groups, app_user.name AS token
      FROM listed_user JOIN app_user ON app_user.id = listed_user.user_id WHERE listed_user.application = $1 ORDER BY listed_user.name COLLATE "C"
      """
    return try db.all(sql, application).map {
      ListedPerson(name: try $0.get("name"), groups: try $0.get("groups"), token: Secret(try $0.get("token")))
    }
  }

  func listedPhones(of application: String) throws -> [PersonPhone] {
    let sql: StaticString = """
      SELECT listed_user.name AS owner, phone.*, phone_credential.credential AS credential,
        phone_credential.public_key AS credential_key
      FROM listed_user JOIN phone ON phone.user_id = listed_user.user_id AND phone.cut_off_at IS NULL
      LEFT JOIN phone_credential ON phone_credential.phone = phone.id
      WHERE listed_user.application = $1 ORDER BY phone.registered_at, phone.number
      """
    return try db.all(sql, application).map(PersonPhone.init(row:))
  }
}

extension PersonPhone {
  fileprivate init(row: some StorageRow) throws {
    let phone = try Phone(row: row)
    let (credential, key): (String?, String?) = (try row.get("credential"), try row.get("credential_key"))
    self.init(owner: try row.get("owner"), phone, credential: credential, key: key)
  }
}

// Sets.
extension StoredSigningRows {
  func sets(after number: Int64) throws -> [StoredAdministratorSet] {
    try db.all("SELECT * FROM administrator_set WHERE set_number > $1 ORDER BY set_number", number)
      .map(StoredAdministratorSet.init(row:))
  }

  func set(_ number: Int64) throws -> StoredAdministratorSet? {
    try db.first("SELECT * FROM administrator_set WHERE set_number = $1", number)
      .map(StoredAdministratorSet.init(row:))
  }

  func lastSet() throws -> StoredAdministratorSet? {
    try db.first("SELECT * FROM administrator_set ORDER BY set_number DESC LIMIT 1")
      .map(StoredAdministratorSet.init(row:))
  }

  func add(_ set: StoredAdministratorSet) throws {
    try db.execute(
      "INSERT INTO administrator_set (set_number, document, proof, signer, made_at) VALUES ($1, $2, $3, $4, $5)",
      set.set.number, set.document, set.proof?.json.storedText, set.signer, set.madeAt.milliseconds)
  }

  func forgetSigning() throws {
    try db.execute("DELETE FROM administrator_set")
    try db.execute("DELETE FROM signed_list")
    try db.execute("DELETE FROM signed_line")
    try db.execute("DELETE FROM document_order")
  }
}

extension StoredAdministratorSet {
  fileprivate init(row: some StorageRow) throws {
    try self.init(
      document: row.get("document"), proof: row.get("proof"), signer: row.get("signer"), madeAt: row.get("made_at"))
  }
}

// Signed lists.
extension StoredSigningRows {
  func takeListNumber(of application: String, in epoch: Int64) throws -> Int64 {
    let sql: StaticString = """
      INSERT INTO list_number (application, epoch, last_number) VALUES ($1, $2, 1)
      ON CONFLICT (application, epoch) DO UPDATE SET last_number = list_number.last_number + 1 RETURNING last_number
      """
    guard let row = try db.change(sql, application, epoch).first else { throw DamagedRow(column: "last_number") }
    return try row.get("last_number")
  }

  func signedLists(of application: String) throws -> [SignedList] {
    try db.all("SELECT * FROM signed_list WHERE application = $1 ORDER BY serial DESC", application)
      .map(SignedList.init(row:))
  }

  func add(_ list: SignedList) throws {
    try db.execute(
      """
      INSERT INTO signed_list (application, serial, head, proof, signer, signer_phone, set_number, signed_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      """,
      list.application, list.serial, list.head.json.storedText, list.proof.json.storedText, list.signer,
      list.signerPhone, list.setNumber, list.signedAt.milliseconds)
  }

  func forgetLists(of application: String, before serial: Int64) throws {
    try db.execute("DELETE FROM signed_list WHERE application = $1 AND serial < $2", application, serial)
    try db.execute("DELETE FROM signed_line WHERE application = $1 AND last_serial <= $2", application, serial)
  }

  func lines(
    of application: String, at serial: Int64, group: String, after name: String, limit: Int64
  ) throws -> [SignedLine] {
    let rows =
      if group.isEmpty {
        try db.all(
          """
          SELECT name, groups, line FROM signed_line WHERE application = $1 AND name > $3 AND first_serial <= $2
            AND (last_serial IS NULL OR last_serial > $2) ORDER BY name LIMIT $4
          """, application, serial, name, limit)
      } else {
        try db.all(
          """
          SELECT signed_line.name AS name, signed_line.groups AS groups, signed_line.line AS line
          FROM signed_member JOIN signed_line ON signed_line.application = signed_member.application
            AND signed_line.name = signed_member.name AND signed_line.first_serial = signed_member.first_serial
          WHERE signed_member.application = $1 AND signed_member.group_name = $5 AND signed_member.name > $3
            AND signed_member.first_serial <= $2 AND (signed_line.last_serial IS NULL OR signed_line.last_serial > $2)
          ORDER BY signed_member.name LIMIT $4
          """, application, serial, name, limit, group)
      }
    return try rows.map(SignedLine.init(row:))
  }

  func changes(
    of application: String, from older: Int64, to serial: Int64, after name: String, limit: Int64
  ) throws -> [ChangedLine] {
    let sql: StaticString = """
      SELECT changed.name AS name, former.groups AS former_groups, line.groups AS groups, line.line AS line
      FROM (SELECT name FROM (
            SELECT name FROM signed_line WHERE application = $1 AND first_serial > $2 AND first_serial <= $3
            UNION SELECT name FROM signed_line WHERE application = $1 AND last_serial > $2 AND last_serial <= $3
          ) AS either WHERE name > $4 ORDER BY name LIMIT $5) AS changed
        LEFT JOIN signed_line AS line ON line.application = $1 AND line.name = changed.name AND line.first_serial <= $3
          AND (line.last_serial IS NULL OR line.last_serial > $3)
        LEFT JOIN signed_line AS former ON former.application = $1 AND former.name = changed.name
          AND former.first_serial <= $2 AND (former.last_serial IS NULL OR former.last_serial > $2)
      ORDER BY changed.name
      """
    return try db.all(sql, application, older, serial, name, limit).map { row in
      let (name, text): (String, String?) = (try row.get("name"), try row.get("line"))
      return ChangedLine(
        name: name, formerGroups: try row.get("former_groups"),
        line: try text.map { SignedLine(name: name, groups: try row.get("groups"), text: $0) })
    }
  }

  func takeDraft(of order: String, to application: String, at serial: Int64) throws {
    try db.execute(
      """
      UPDATE signed_line SET last_serial = $2 WHERE application = $1 AND last_serial IS NULL AND NOT EXISTS (
        SELECT 1 FROM document_line WHERE document_line.document = $3 AND document_line.name = signed_line.name
          AND document_line.groups = signed_line.groups AND document_line.line = signed_line.line)
      """, application, serial, order)
    try db.execute(
      """
      INSERT INTO signed_line (application, name, first_serial, groups, line)
      SELECT $1::text, name, $2::bigint, groups, line FROM document_line WHERE document = $3
        AND name NOT IN (SELECT name FROM signed_line WHERE application = $1 AND last_serial IS NULL)
      """, application, serial, order)
  }
}

extension SignedLine {
  fileprivate init(row: some StorageRow) throws {
    self.init(name: try row.get("name"), groups: try row.get("groups"), text: try row.get("line"))
  }
}

extension SignedList {
  fileprivate init(row: some StorageRow) throws {
    let (application, head, proof): (String, String, String) = (
      try row.get("application"), try row.get("head"), try row.get("proof")
    )
    let (signer, phone): (String, String) = (try row.get("signer"), try row.get("signer_phone"))
    let (serial, set, at): (Int64, Int64, Int64) = (
      try row.get("serial"), try row.get("set_number"), try row.get("signed_at")
    )
    try self.init(
      application: application, serial: serial, head: head, proof: proof, signer: signer, signerPhone: phone,
      setNumber: set, signedAt: at)
  }
}

// Orders.
extension StoredSigningRows {
  func add(_ order: StoredOrder) throws {
    try db.execute(
      """
      INSERT INTO document_order (id, kind, application, recovery_key, administrator, ordered_at)
      VALUES ($1, $2, $3, $4, $5, $6)
      """,
      order.id, order.kind, order.application, order.recoveryKey, order.order.administrator,
      order.orderedAt.milliseconds)
  }

  func order(_ id: String) throws -> StoredOrder? {
    try db.first("SELECT * FROM document_order WHERE id = $1", id).map(StoredOrder.init(row:))
  }

  func order(ofSession session: String) throws -> StoredOrder? {
    try db.first("SELECT * FROM document_order WHERE session = $1", session).map(StoredOrder.init(row:))
  }

  func openOrders() throws -> OpenOrders {
    var open = OpenOrders()
    for row in try db.all("SELECT * FROM document_order WHERE outcome IS NULL ORDER BY ordered_at, id") {
      if let order = try? StoredOrder(row: row) {
        open.orders.append(order)
      } else {
        // It must not keep all others waiting.
        open.unreadable.append(try row.get("id"))
      }
    }
    return open
  }

  func orderOutcomes() throws -> [(application: String?, outcome: DocumentOutcome?, reason: String?)] {
    try db.all("SELECT application, outcome, reason FROM document_order ORDER BY ordered_at, id").map { row in
      let (application, outcome): (String?, String?) = (try row.get("application"), try row.get("outcome"))
      return (application, outcome.flatMap(DocumentOutcome.init(rawValue:)), try row.get("reason") as String?)
    }
  }

  func change(_ order: StoredOrder) throws {
    try db.execute(
      """
      UPDATE document_order SET taken_at = $1, document = $2, session = $3, ended_at = $4, outcome = $5, reason = $6
      WHERE id = $7
      """,
      order.takenAt?.milliseconds, order.document, order.session, order.endedAt?.milliseconds,
      order.outcome?.rawValue, order.reason, order.id)
  }

  func forgetOrders(endedBefore time: UnixTime, orderedBefore start: UnixTime) throws {
    try db.execute(
      "DELETE FROM document_order WHERE ended_at < $1 OR (outcome IS NULL AND ordered_at < $2)", time.milliseconds,
      start.milliseconds)
  }

  func addDraft(_ line: SignedLine, to order: String) throws {
    try db.execute(
      "INSERT INTO document_line (document, name, groups, line) VALUES ($1, $2, $3, $4)",
      order, line.name, line.groups, line.text)
  }

  func draft(of order: String, after name: String, limit: Int64) throws -> [SignedLine] {
    try db.all(
      "SELECT name, groups, line FROM document_line WHERE document = $1 AND name > $2 ORDER BY name LIMIT $3",
      order, name, limit
    ).map(SignedLine.init(row:))
  }

  func forgetDraft(of order: String) throws { try db.execute("DELETE FROM document_line WHERE document = $1", order) }

  func approval(ofSession session: String) throws -> JSON { try KeptAnswer.approval(of: session, in: db) }
}

extension StoredOrder {
  fileprivate init(row: some StorageRow) throws {
    let (application, key): (String?, String?) = (try row.get("application"), try row.get("recovery_key"))
    let outcome: String? = try row.get("outcome")
    let subject = try Self.subject(kind: try row.get("kind"), application: application, recoveryKey: key)
    let (id, administrator, orderedAt): (String, String, Int64) = (
      try row.get("id"), try row.get("administrator"), try row.get("ordered_at")
    )
    let (document, session): (String?, String?) = (try row.get("document"), try row.get("session"))
    self.init(
      id: id, order: DocumentOrder(subject, by: administrator), orderedAt: UnixTime(milliseconds: orderedAt),
      takenAt: try row.time("taken_at"), document: document, session: session, endedAt: try row.time("ended_at"),
      outcome: outcome.map { DocumentOutcome(rawValue: $0) ?? .unfit }, reason: try row.get("reason"))
  }
}
