/// The question of a computer without a network to a phone. It is in the fragment of a link, which browsers never send.
///
/// It is not signed. The phone's digits are valid only at the computer with the private key of ``computer``, and only
/// for this challenge. If anyone changes a part, the digits differ.
public struct OfflineChallenge: Sendable, Equatable {
  /// The beginning of the fragment.
  public static let fragment = "offline="
  /// The number of random bytes.
  public static let nonceSize = 16
  /// The greatest length of a fragment in bytes: a context of the greatest size and the other fields.
  public static let greatestLength = 12_288
  private static let times: ClosedRange<Int64> = 0...253_402_300_799

  /// The computer's key for agreement.
  public let computer: P256PublicKey
  public let nonce: [UInt8]
  /// Seconds since 1970 by the computer's clock, for people.
  public let time: Int64
  /// `device` if only phones with a screen lock may approve.
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

  /// Draws new random bytes; nil if the kernel gives none, or if a phone cannot show the whole context.
  public static func draw(
    by computer: P256PublicKey, at time: Int64, method: AuthenticationMethod, context: SignInContext
  ) -> OfflineChallenge? {
    Digest.randomBytes(nonceSize).flatMap {
      OfflineChallenge(computer: computer, nonce: $0, time: time, method: method, context: context)
    }
  }

  /// The link that the phone opens: the service's page, with this challenge as its fragment.
  public func link(to server: ServerURL) -> String { server.route(["phone", ""]) + "#" + text }

  /// ``fragment`` and five fields, separated by dots: key, nonce, time, method, context.
  public var text: String {
    let fields = [
      Base64URL.encode(computer.point), Base64URL.encode(nonce), String(time), method.rawValue,
      Base64URL.encode(context.json.canonicallyEncoded()),
    ]
    return Self.fragment + fields.joined(separator: ".")
  }

  /// Reads ``text``; nil for any other form.
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

  /// The message from which the digits are computed.
  ///
  /// - Parameter origin: scheme, host and port of the service.
  public func message(origin: String) -> [UInt8] {
    JSON.object([
      "purpose": .string("offline"), "origin": .string(origin), "challenge": .string(Base64URL.encode(nonce)),
      "time": .integer(time), "method": .string(method.rawValue), "context": context.json,
    ]).canonicallyEncoded()
  }
}
