import Glibc
import HostSystem
import IAMPASSProtocol
import PresenceLink

/// A device that BlueZ has a bond with, by its file `/var/lib/bluetooth/ADAPTER/DEVICE/info`. D-Bus is not used: any
/// local user may call BlueZ, and only the file has the key.
public struct BondedDevice: Sendable, Equatable {
  public static let folder = "/var/lib/bluetooth"
  /// Greatest size of a file in bytes.
  private static let greatestSize = 64 * 1024

  public let adapter: BluetoothAddress
  public let address: BluetoothAddress
  /// The device's own name, which may be any text.
  public let name: String
  /// The class of device (Assigned Numbers, 2.8); nil if the device has not given one.
  public let deviceClass: UInt32?
  /// SHA-256 of the link key.
  public let keyDigest: String
  /// Whether digits were compared when the key was made (Core, Vol 4, Part E, 7.7.24: types 5 and 8).
  public let isAuthenticated: Bool

  /// The major device class of phones is 2.
  public var looksLikeAPhone: Bool { deviceClass.map { $0 >> 8 & 0x1f == 2 } ?? false }

  /// The bond of this adapter with this device; nil if there is none with a key for BR/EDR.
  ///
  /// - Throws: if a file cannot be read, or if others than root can use it.
  public static func read(
    adapter: BluetoothAddress, address: BluetoothAddress, in folder: String = folder
  ) throws(FileError) -> BondedDevice? {
    let bytes: [UInt8]
    do {
      bytes = try SecureFile.read("\(folder)/\(adapter)/\(address)/info", privacy: .secret, limit: greatestSize)
    } catch {
      if error.code == .missing { return nil }
      throw error
    }
    return BondedDevice(adapter: adapter, address: address, parsing: bytes)
  }

  /// All bonds with a key for BR/EDR, sorted by adapter and address.
  public static func all(in folder: String = folder) throws(FileError) -> [BondedDevice] {
    var found: [BondedDevice] = []
    for adapter in try addresses(in: folder) {
      for address in try addresses(in: "\(folder)/\(adapter)") {
        if let device = try read(adapter: adapter, address: address, in: folder) { found.append(device) }
      }
    }
    return found
  }

  /// The folders that are named after an address.
  private static func addresses(in folder: String) throws(FileError) -> [BluetoothAddress] {
    do {
      return try FolderListing.names(in: folder).compactMap { BluetoothAddress($0) }.sorted { "\($0)" < "\($1)" }
    } catch {
      if error.code == .missing || error.code == .system(ENOENT) { return [] }
      throw error
    }
  }

  /// Parses a file's text: groups of `Key=Value` lines. Nil if it has no link key.
  init?(adapter: BluetoothAddress, address: BluetoothAddress, parsing bytes: [UInt8]) {
    var group = ""
    var values: [String: String] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let text = String(validating: line, as: UTF8.self) else { continue }
      if text.hasPrefix("["), text.hasSuffix("]") {
        group = text
      } else if let equals = text.firstIndex(of: "=") {
        values[group + text[..<equals]] = String(text[text.index(after: equals)...])
      }
    }
    guard let key = values["[LinkKey]Key"].flatMap(Self.key), let type = values["[LinkKey]Type"].flatMap({ Int($0) })
    else { return nil }
    self.adapter = adapter
    self.address = address
    name = values["[General]Name"] ?? ""
    deviceClass = values["[General]Class"].flatMap { $0.hasPrefix("0x") ? UInt32($0.dropFirst(2), radix: 16) : nil }
    keyDigest = Digest.hexadecimal(Digest.sha256(key))
    isAuthenticated = [5, 8].contains(type)
  }

  /// The key's 16 bytes.
  private static func key(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8).map { UInt8(String(decoding: [$0], as: UTF8.self), radix: 16) }
    guard digits.count == 32, digits.allSatisfy({ $0 != nil }) else { return nil }
    return stride(from: 0, to: 32, by: 2).map { digits[$0]! << 4 | digits[$0 + 1]! }
  }
}
