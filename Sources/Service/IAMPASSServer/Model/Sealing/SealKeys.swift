import Crypto
import IAMPASSProtocol

/// The keys, outside the database, that seal secrets in it by AES-256-GCM. There is at least one.
///
/// Whoever reads the database or a copy of it has no use of sealed secrets. Nobody is kept from changing the database:
/// a sealed value only cannot be moved to another place, and one in clear is refused if the file says that all is sealed.
public struct SealKeys: Sendable {
  static let keyLength = 32
  private static let lineBegin = "iampass-seal-key-1 "
  /// The line by which the file says that the database is sealed.
  private static let sealedLine = "iampass-sealed-1"

  struct Key: Sendable {
    /// The beginning of a digest over the key.
    let id: String
    fileprivate let bytes: Secret

    fileprivate init(_ bytes: [UInt8]) {
      id = Digest.hexadecimal(Array(Digest.sha256(Array("iampass seal key".utf8) + bytes).prefix(8)))
      self.bytes = Secret(bytes: bytes)
    }

    fileprivate var symmetric: SymmetricKey { SymmetricKey(data: bytes.exposedBytes) }
  }

  /// The first one seals a database. All of them open.
  private let keys: [Key]
  /// The file or credential that they were read from, for messages.
  public let place: String
  /// Whether the file says that the database is sealed. One in clear is then refused: somebody else has written it.
  public let requiresSeal: Bool

  /// - Parameters:
  ///   - file: one key on each line, and perhaps ``noted(isSealed:in:)``. Empty lines, and those that begin with `#`, do
  ///     not count.
  ///   - place: the file's path.
  /// - Throws: ``SealFault``, if a line is anything else.
  public init(file: Secret, place: String) throws(SealFault) {
    var keys: [Key] = []
    var requiresSeal = false
    let lines = file.exposedValue.split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() where !line.isEmpty && !line.hasPrefix("#") {
      guard line != Self.sealedLine else {
        requiresSeal = true
        continue
      }
      guard line.hasPrefix(Self.lineBegin), let bytes = Base64.decode(String(line.dropFirst(Self.lineBegin.count))),
        bytes.count == Self.keyLength
      else { throw SealFault(.badLine, "\(number + 1)", place: place) }
      let key = Key(bytes)
      guard !keys.contains(where: { $0.id == key.id }) else {
        throw SealFault(.badLine, "\(number + 1)", place: place)
      }
      keys.append(key)
    }
    guard !keys.isEmpty else { throw SealFault(.noKeyInFile, place: place) }
    self.keys = keys
    self.place = place
    self.requiresSeal = requiresSeal
  }

  /// The file that says whether the database is sealed.
  public static func noted(isSealed: Bool, in file: Secret) -> Secret {
    let lines = file.exposedValue.split(separator: "\n", omittingEmptySubsequences: false)
    let others = lines.filter { $0 != sealedLine }.joined(separator: "\n")
    guard isSealed else { return Secret(others) }
    return Secret(others + (others.isEmpty || others.hasSuffix("\n") ? "" : "\n") + sealedLine + "\n")
  }

  /// A line with a new key, for the file.
  public static func newLine() throws(StorageError) -> Secret {
    Secret(lineBegin + Base64.encode(try RandomValue.bytes(keyLength)) + "\n")
  }

  /// The id of the key that seals a database.
  public var firstID: String { keys[0].id }

  /// Whether it can open what the key of this id has sealed.
  public func has(_ id: String) -> Bool { key(id) != nil }

  /// The ids of all keys.
  var ids: [String] { keys.map(\.id) }

  func key(_ id: String) -> Key? { keys.first { $0.id == id } }

  /// The secret as it is stored at that place.
  ///
  /// - Parameter id: which key seals it.
  func seal(_ secret: Secret, at place: SealedPlace, by id: String) throws -> String {
    guard let key = key(id) else { throw SealFault(.otherKey, id, place: self.place) }
    let box = try AES.GCM.seal(
      secret.exposedBytes, using: key.symmetric, authenticating: SealedText.bound(id, to: place))
    guard let combined = box.combined else { throw SealFault(.changed, place.told) }
    return SealedText(keyID: id, box: Array(combined)).text
  }

  func open(_ sealed: SealedText, at place: SealedPlace) throws(SealFault) -> Secret {
    guard let key = key(sealed.keyID) else { throw SealFault(.otherKey, sealed.keyID, place: self.place) }
    do {
      let opened = try AES.GCM.open(
        AES.GCM.SealedBox(combined: sealed.box), using: key.symmetric,
        authenticating: SealedText.bound(sealed.keyID, to: place))
      return Secret(bytes: Array(opened))
    } catch { throw SealFault(.changed, place.told) }
  }
}
