import HostSystem
import IAMPASSProtocol

/// This computer's identity: its machine id and, if the firmware has one, its serial number.
public enum ComputerName {
  /// A digest, because the id itself must stay confidential (machine-id(5)); nil if systemd's file has no id.
  ///
  /// A copy of the disk has the same machine id: only the firmware's number differs. Containers and some virtual
  /// machines have no such number.
  public static func current() -> String? {
    guard let id = ProcessFile.read("/etc/machine-id", limit: 64)?.filter({ $0 > 0x20 }), id.count == 32 else {
      return nil
    }
    let serial = ProcessFile.read("/sys/class/dmi/id/product_uuid", limit: 128) ?? []
    return name(machine: id, serial: serial.filter { $0 > 0x20 })
  }

  static func name(machine: [UInt8], serial: [UInt8]) -> String {
    let text = Array("iampass recovery ".utf8) + machine + Array("\n".utf8) + serial
    return Digest.hexadecimal(Digest.sha256(text))
  }
}
