import HostSystem
import IAMPASSProtocol

/// Recovery codes on the way from the computer that made them to the receiver. A tool that carries them, such as one
/// that runs commands on many computers, sees only a sealed text. So do its logs.
///
/// The computer makes a key for each text. HMAC-SHA-256 over the shared secret of both keys, and over both keys, gives
/// the secret of a ``LinkSeal``.
public struct SealedCodes: Sendable, Equatable {
  /// The beginning of each sealed text, by which it is found in any output.
  public static let beginning = "iampass-codes-1."
  private static let version: Int64 = 1
  private static let purpose = "iampass recovery codes"
  private static let pointSize = 65
  /// The greatest size of a sealed text in bytes. Ten codes, a user and a host need less than half.
  private static let greatestLength = 4_096

  /// The computer's own name. It is not proof: a person who knows the receiver's key can write any name.
  public let computer: String
  public let user: String
  public let codes: [RecoveryCode]

  /// - Parameter computer: the computer's name for the receiver.
  public init(computer: String, user: UnixUsername, codes: [RecoveryCode]) {
    self.computer = computer
    self.user = user.text
    self.codes = codes
  }

  // MARK: The computer's side

  /// The text for the owner of a key.
  public func sealed(for receiver: Receiver) throws(RecoveryError) -> String {
    guard let salt = Digest.randomBytes(LinkSeal.saltLength) else { throw .cannotSeal("no random numbers") }
    let secret: Secret
    let own: AgreementKey
    do throws(OfflineError) {
      own = try AgreementKey.make()
      secret = try own.agreed(with: receiver.key)
    } catch { throw .cannotSeal(error) }
    let seal = Self.seal(agreed: secret, sender: own.publicKey, receiver: receiver.key)
    guard let text = Base64.decode(seal.sealed(String(decoding: encoded(), as: UTF8.self), salt: salt)) else {
      throw .cannotSeal("the text has no form")
    }
    return Self.beginning + Base64URL.encode(own.publicKey.point + text)
  }

  private func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "computer": .string(computer), "user": .string(user),
      "codes": .array(codes.map { .string($0.exposedText) }),
    ]).encoded()
  }

  // MARK: The receiver's side

  /// The receiver of codes: a P-256 public key.
  public struct Receiver: Sendable, Equatable {
    let key: P256PublicKey
    /// The key in Base64url without padding, which shells and tools do not change.
    public var text: String { Base64URL.encode(key.point) }

    /// Nil for another spelling, and for texts that are not a key.
    public init?(_ text: String) {
      guard text.utf8.count <= 2 * pointSize, let key = Base64URL.decode(text).flatMap({ P256PublicKey(point: $0) })
      else { return nil }
      self.key = key
    }

    fileprivate init(key: P256PublicKey) { self.key = key }
  }

  /// The private key. It is only here: if it is lost, so are the texts.
  public struct Opener: Sendable {
    private let key: AgreementKey
    public var receiver: Receiver { Receiver(key: key.publicKey) }

    /// Makes a new key.
    public init() throws(RecoveryError) {
      do throws(OfflineError) { key = try AgreementKey.make() } catch { throw .cannotSeal(error) }
    }

    /// Nil for a text that was sealed for another key, was changed, or does not have ten codes.
    public func opened(_ text: String) -> SealedCodes? {
      guard text.hasPrefix(beginning), text.utf8.count <= greatestLength,
        let bytes = Base64URL.decode(String(text.dropFirst(beginning.count))), bytes.count > pointSize,
        let sender = P256PublicKey(point: Array(bytes.prefix(pointSize))), let agreed = try? key.agreed(with: sender)
      else { return nil }
      let seal = SealedCodes.seal(agreed: agreed, sender: sender, receiver: key.publicKey)
      return seal.opened(Base64.encode(Array(bytes.dropFirst(pointSize)))).flatMap { SealedCodes(parsing: $0) }
    }
  }

  private static func seal(agreed: Secret, sender: P256PublicKey, receiver: P256PublicKey) -> LinkSeal {
    let secret = Digest.hmacSHA256(
      key: Array(purpose.utf8), agreed.exposedBytes + sender.point + receiver.point)
    return LinkSeal(secret: Secret(bytes: secret), nonce: purpose)
  }

  private init?(parsing text: String) {
    guard let json = try? JSON(parsing: Array(text.utf8)), json["version"]?.integer == Self.version,
      let computer = json["computer"]?.string, let user = json["user"]?.string, let listed = json["codes"]?.array,
      listed.count == RecoverySet.codeCount,
      case let codes = listed.compactMap({ $0.string.flatMap { RecoveryCode(typed: Secret($0)) } }),
      codes.count == listed.count
    else { return nil }
    self.computer = computer
    self.user = user
    self.codes = codes
  }

  /// The sealed texts in a program's output, in order. A text that is too long is cut just beyond the bound.
  public static func texts(in output: String) -> [String] {
    let (bytes, start) = (Array(output.utf8), Array(beginning.utf8))
    var found: [String] = []
    var place = 0
    while place + start.count <= bytes.count {
      guard bytes[place..<place + start.count].elementsEqual(start) else {
        place += 1
        continue
      }
      var end = place + start.count
      while end < bytes.count, isOfText(bytes[end]) { end += 1 }
      found.append(String(decoding: bytes[place..<end].prefix(greatestLength + 1), as: UTF8.self))
      place = end
    }
    return found
  }

  /// Whether base64url has this character.
  private static func isOfText(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
