import HostSystem
import IAMPASSProtocol
import PresenceLink

/// A phone that the helper looks for while its owner is signed in.
public struct BoundPhone: Sendable, Equatable {
  public var user: UnixUsername
  /// The adapter that the phone was paired with.
  public var adapter: BluetoothAddress
  public var phone: BluetoothAddress
  /// SHA-256 of the pairing's link key, 64 hexadecimal digits. A pairing with another key is another phone, or an
  /// attack.
  public var keyDigest: String

  public init(user: UnixUsername, adapter: BluetoothAddress, phone: BluetoothAddress, keyDigest: String) {
    self.user = user
    self.adapter = adapter
    self.phone = phone
    self.keyDigest = keyDigest
  }
}

/// Why the file of bound phones is not used.
public enum BoundPhonesError: Error, Sendable, Equatable {
  case file(FileError)
  case badLine(Int)
  /// The phone is already bound to a user.
  case phoneTwice(line: Int)
  case tooManyPhones

  public func explanation(path: String) -> String {
    switch self {
    case .file(let error): error.explanation
    case .badLine(let line): "\(path):\(line): not a line of the form USER ADAPTER PHONE SHA256"
    case .phoneTwice(let line): "\(path):\(line): this phone is bound twice"
    case .tooManyPhones: "\(path): more than \(BoundPhones.greatestCount) phones"
    }
  }
}

/// `/etc/iampass/presence`: a line `USER ADAPTER PHONE SHA256` for each bound phone. Only root can read it.
public struct BoundPhones: Sendable, Equatable {
  public static let path = "/etc/iampass/presence"
  /// The most bound phones. Bluetooth pages are serial and take 5 s each: with more phones, none would be found in
  /// time.
  public static let greatestCount = 16
  /// Greatest size of the file in bytes.
  static let greatestSize = 64 * 1024

  public private(set) var phones: [BoundPhone] = []

  public init() {}

  /// Reads the file. If it is missing, no phone is bound.
  public init(path: String) throws(BoundPhonesError) {
    let bytes: [UInt8]
    do {
      bytes = try SecureFile.read(path, privacy: .secret, limit: Self.greatestSize)
    } catch {
      guard error.code == .missing else { throw .file(error) }
      self.init()
      return
    }
    try self.init(parsing: bytes)
  }

  /// Parses a file's text. Empty lines and comments that begin with `#` are allowed.
  public init(parsing bytes: [UInt8]) throws(BoundPhonesError) {
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let words = line.split { KeyValueFile.isBlank($0) }
      if words.isEmpty || words[0].first == UInt8(ascii: "#") { continue }
      guard let phone = Self.phone(words) else { throw .badLine(number) }
      guard !phones.contains(where: { $0.phone == phone.phone }) else { throw .phoneTwice(line: number) }
      phones.append(phone)
      guard phones.count <= Self.greatestCount else { throw .tooManyPhones }
    }
  }

  private static func phone(_ words: [ArraySlice<UInt8>]) -> BoundPhone? {
    let texts = words.compactMap { String(validating: $0, as: UTF8.self) }
    guard texts.count == words.count, texts.count == 4, let user = UnixUsername(validating: texts[0]),
      let adapter = BluetoothAddress(texts[1]), let phone = BluetoothAddress(texts[2]), isDigest(texts[3])
    else { return nil }
    return BoundPhone(user: user, adapter: adapter, phone: phone, keyDigest: texts[3])
  }

  private static func isDigest(_ text: String) -> Bool {
    text.utf8.count == 64
      && text.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
  }

  public func phones(of user: UnixUsername) -> [BoundPhone] { phones.filter { $0.user == user } }
}

/// Changes the file of bound phones, and keeps comments and other lines. At any moment the old or the new file is
/// there. The caller holds `iampassctl`'s lock.
public enum BoundPhonesEditor {
  /// Binds the phone. A line that already binds it is replaced: the phone then belongs to this user, with this key.
  public static func bind(_ phone: BoundPhone, inFile path: String) throws(BoundPhonesError) {
    var lines = try lines(ofFile: path, without: phone.phone)
    lines.append("\(phone.user.text) \(phone.adapter) \(phone.phone) \(phone.keyDigest)")
    try write(lines, to: path)
  }

  /// Removes the phone's line.
  ///
  /// - Returns: false if the file does not bind it.
  public static func remove(_ phone: BluetoothAddress, fromFile path: String) throws(BoundPhonesError) -> Bool {
    guard try BoundPhones(path: path).phones.contains(where: { $0.phone == phone }) else { return false }
    try write(try lines(ofFile: path, without: phone), to: path)
    return true
  }

  private static func lines(
    ofFile path: String, without phone: BluetoothAddress
  ) throws(BoundPhonesError) -> [String] {
    // A file with a bad line is not edited: the line may be a user's phone.
    _ = try BoundPhones(path: path)
    let bytes: [UInt8]
    do {
      bytes = try SecureFile.read(path, privacy: .secret, limit: BoundPhones.greatestSize)
    } catch {
      if error.code == .missing { return [] }
      throw .file(error)
    }
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.filter { line in (try? BoundPhones(parsing: Array(line)))?.phones.first?.phone != phone }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  private static func write(_ lines: [String], to path: String) throws(BoundPhonesError) {
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    _ = try BoundPhones(parsing: bytes)
    do { try AtomicFile.write(bytes, to: path, mode: 0o600) } catch { throw .file(error) }
  }
}
