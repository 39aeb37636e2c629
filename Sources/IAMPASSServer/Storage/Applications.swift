import GRDB
import IAMPASSProtocol

/// A customer of the service: hosts that share users.
public struct Application: Sendable {
  public let id: String
  public let name: String
  public let secret: Secret
}

/// Why there is no new application.
public enum ApplicationRefusal: Error, Equatable, Sendable {
  case nameTaken
  /// Empty, longer than 100 characters, or with control characters.
  case nameNotFit
}

extension Application {
  private static let greatestNameLength = 100

  init(row: Row) {
    self.init(id: row["id"], name: row["name"], secret: Secret(row["secret"]))
  }

  /// The name of a user's application; empty where there is no such user.
  static func name(of user: Int64, in db: Database) throws -> String {
    let sql =
      "SELECT application.name FROM application JOIN user ON user.application = application.id WHERE user.id = ?"
    return try String.fetchOne(db, sql: sql, arguments: [user]) ?? ""
  }

  static func find(_ id: String, in db: Database) throws -> Application? {
    try Row.fetchOne(db, sql: "SELECT * FROM application WHERE id = ?", arguments: [id]).map(Application.init(row:))
  }

  /// An id wins over a name: ids are random, and a name may be chosen to look like one.
  static func find(nameOrID text: String, in db: Database) throws -> Application? {
    if let application = try find(text, in: db) { return application }
    return try Row.fetchOne(db, sql: "SELECT * FROM application WHERE name = ?", arguments: [text])
      .map(Application.init(row:))
  }
}

extension Storage {
  /// A new application. Its secret is to be shown this one time.
  public func createApplication(named name: String, at now: UnixTime) async throws -> Application {
    guard Application.isFit(name) else { throw ApplicationRefusal.nameNotFit }
    let application = Application(id: try Fresh.identifier(), name: name, secret: try Fresh.secret())
    return try await write { db in
      let taken = try Bool.fetchOne(db, sql: "SELECT 1 FROM application WHERE name = ?", arguments: [name]) ?? false
      guard !taken else { throw ApplicationRefusal.nameTaken }
      try db.execute(
        sql: "INSERT INTO application (id, name, secret, created_at) VALUES (?, ?, ?, ?)",
        arguments: [application.id, name, application.secret.exposedValue, now.milliseconds])
      return application
    }
  }
}

extension Application {
  fileprivate static func isFit(_ name: String) -> Bool {
    !name.isEmpty && name.unicodeScalars.count <= greatestNameLength && DisplayText.sanitized(name) == name
  }
}
