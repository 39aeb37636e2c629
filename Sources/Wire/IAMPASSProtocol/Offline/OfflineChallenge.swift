/// What a computer without a network asks a phone: in the part of a link that browsers never send.
///
/// Nobody has signed it. The phone's digits are worth something only to the computer whose private key belongs to
/// ``computer``, and only for this challenge: whoever changes a part gets other digits.
public struct OfflineChallenge: Sendable, Equatable {
  /// What begins the fragment.
  public static let fragment = "offline="
  /// Random bytes.
  public static let nonceSize = 16
  /// The greatest length of a fragment in bytes: a context of the greatest size, and the rest.
  public static let greatestLength = 12_288
  private static let times: ClosedRange<Int64> = 0...253_402_300_799

  /// The computer's key for agreement.
  public let computer: P256PublicKey
  public let nonce: [UInt8]
  /// Seconds since 1970 by the computer's clock: for people.
  public let time: Int64
  /// `device` if phones without a screen lock do not count.
  public let method: AuthenticationMethod
  public let context: SignInContext

  /// Nil if the nonce has another size.
  public init?(
    computer: P256PublicKey, nonce: [UInt8], time: Int64, method: AuthenticationMethod, context: SignInContext
  ) {
    guard nonce.count == Self.nonceSize, Self.times.contains(time), method != .facial, context.isWithinBounds else {
      return nil
    }
    self.computer = computer
    self.nonce = nonce
    self.time = time
    self.method = method
    self.context = context
  }

  /// With new random bytes; nil if the kernel has none, or a phone cannot show the context in full.
  public static func draw(
    by computer: P256PublicKey, at time: Int64, method: AuthenticationMethod, context: SignInContext
  ) -> OfflineChallenge? {
    Digest.randomBytes(nonceSize).flatMap {
      OfflineChallenge(computer: computer, nonce: $0, time: time, method: method, context: context)
    }
  }

  /// The link that the phone opens: the service's page, and this.
  public func link(to server: ServerURL) -> String { server.route(["phone", ""]) + "#" + text }

  /// ``fragment`` and five fields between dots: key, nonce, time, method, context.
  public var text: String {
    let fields = [
      Base64URL.encode(computer.point), Base64URL.encode(nonce), String(time), method.rawValue,
      Base64URL.encode(context.json.canonicallyEncoded()),
    ]
    return Self.fragment + fields.joined(separator: ".")
  }

  /// Reads ``text``, in its one spelling.
  public init?(text: String) {
    guard text.utf8.count <= Self.greatestLength, text.hasPrefix(Self.fragment) else { return nil }
    let fields = text.dropFirst(Self.fragment.count).split(separator: ".", omittingEmptySubsequences: false)
      .map(String.init)
    guard fields.count == 5, let point = Base64URL.decode(fields[0]), let computer = P256PublicKey(point: point),
      let nonce = Base64URL.decode(fields[1]), let time = Int64(fields[2]),
      let method = AuthenticationMethod(rawValue: fields[3]), let shown = Base64URL.decode(fields[4]),
      let json = try? JSON(parsing: shown), let context = try? SignInContext(json)
    else { return nil }
    self.init(computer: computer, nonce: nonce, time: time, method: method, context: context)
    guard self.text.utf8.elementsEqual(text.utf8) else { return nil }
  }

  /// What the digits are made of.
  ///
  /// - Parameter origin: scheme, host and port of the service.
  public func message(origin: String) -> [UInt8] {
    JSON.object([
      "purpose": .string("offline"), "origin": .string(origin), "challenge": .string(Base64URL.encode(nonce)),
      "time": .integer(time), "method": .string(method.rawValue), "context": context.json,
    ]).canonicallyEncoded()
  }
}
