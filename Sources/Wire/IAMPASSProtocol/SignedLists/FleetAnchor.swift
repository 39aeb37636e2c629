/// The part of a join code besides the certificate: the administrators who sign the computer's list of users, and which
/// list that is.
public struct FleetAnchor: Sendable, Equatable {
  private static let purpose = "iampass-join/2"

  /// The set in force when the code was made.
  public let administrators: AdministratorSet
  /// The application's id.
  public let application: String
  /// The computer's group; empty: it gets all users.
  public let group: String

  /// Nil if the id or the group is malformed.
  public init?(administrators: AdministratorSet, application: String, group: String) {
    guard UserListHead.isID(application), group.isEmpty || UserListLine.isName(group) else { return nil }
    self.administrators = administrators
    self.application = application
    self.group = group
  }

  /// Reads ``json``.
  public init(_ json: JSON) throws(MessageError) {
    guard let group = json["group"]?.string else { throw .member("group") }
    let set = try AdministratorSet(json["administrators"] ?? .null)
    guard
      let anchor = FleetAnchor(administrators: set, application: try json.text("application"), group: group)
    else { throw .member("group") }
    self = anchor
  }

  /// Contains the whole set, for the reply to a join and for the computer's own file.
  public var json: JSON {
    .object([
      "administrators": administrators.json, "application": .string(application), "group": .string(group),
    ])
  }

  /// 32 bytes, for ``JoinCode/fleet``.
  public var digest: [UInt8] {
    Self.digest(administrators: administrators.digest, application: application, group: group)
  }

  /// - Parameter administrators: the digest of the set.
  public static func digest(administrators: [UInt8], application: String, group: String) -> [UInt8] {
    Digest.sha256(
      JSON.object([
        "purpose": .string(purpose), "administrators": .string(Digest.hexadecimal(administrators)),
        "application": .string(application), "group": .string(group),
      ]).canonicallyEncoded())
  }
}
