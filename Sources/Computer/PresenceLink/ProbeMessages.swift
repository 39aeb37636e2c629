/// A request to the probe: one look for one phone. It is sent as one packet, `ADAPTER PHONE LEVEL`.
public struct ProbeRequest: Sendable, Equatable {
  /// How well the link must be secured (Bluetooth Core, Vol 3, Part C, 5.2.2.8).
  public enum Level: String, Sendable, CaseIterable {
    /// Encrypted with a key of any pairing.
    case medium
    /// Encrypted with a key of a pairing in which digits were compared.
    case high

    /// The value of `BT_SECURITY_MEDIUM` or `BT_SECURITY_HIGH`.
    public var number: UInt8 { self == .medium ? 2 : 3 }
  }

  /// The path of the probe's socket, in a folder that belongs to root.
  public static let socket = "/run/iampass-presence/socket"

  public var adapter: BluetoothAddress
  public var phone: BluetoothAddress
  public var level: Level

  public init(adapter: BluetoothAddress, phone: BluetoothAddress, level: Level) {
    self.adapter = adapter
    self.phone = phone
    self.level = level
  }

  public var bytes: [UInt8] { Array("\(adapter) \(phone) \(level.rawValue)".utf8) }

  /// Nil if the packet is not such a request.
  public init?(bytes: [UInt8]) {
    guard let words = PacketWords.read(bytes, count: 3), let adapter = BluetoothAddress(words[0]),
      let phone = BluetoothAddress(words[1]), let level = Level(rawValue: words[2])
    else { return nil }
    self.init(adapter: adapter, phone: phone, level: level)
  }
}

/// The probe's reply: its result, and how long it looked. It is sent as one packet, `PHONE ANSWER MILLISECONDS`.
public struct ProbeReply: Sendable, Equatable {
  /// The phone. An answer about another phone than the requested one does not count.
  public var phone: BluetoothAddress
  public var answer: ProbeAnswer
  /// How long the look took, from 0 to ``greatestTime``.
  public var milliseconds: Int64

  /// One minute. A look ends by itself long before.
  public static let greatestTime: Int64 = 60_000

  public init(phone: BluetoothAddress, answer: ProbeAnswer, milliseconds: Int64) {
    self.phone = phone
    self.answer = answer
    self.milliseconds = min(max(0, milliseconds), Self.greatestTime)
  }

  public var bytes: [UInt8] { Array("\(phone) \(answer.word) \(milliseconds)".utf8) }

  /// Nil if the packet is not such a reply.
  public init?(bytes: [UInt8]) {
    guard let words = PacketWords.read(bytes, count: 3), let phone = BluetoothAddress(words[0]),
      let answer = ProbeAnswer(word: words[1]), let milliseconds = Int64(words[2]), "\(milliseconds)" == words[2],
      (0...Self.greatestTime).contains(milliseconds)
    else { return nil }
    self.init(phone: phone, answer: answer, milliseconds: milliseconds)
  }
}

/// A packet of a few words.
public enum PacketWords {
  /// The greatest length in bytes. A longer packet is not read.
  public static let greatest = 128

  static func read(_ bytes: [UInt8], count: Int) -> [String]? {
    guard bytes.count <= greatest, bytes.allSatisfy({ (0x20..<0x7f).contains($0) }) else { return nil }
    let words = bytes.split(separator: 0x20, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    return words.count == count ? words : nil
  }
}
