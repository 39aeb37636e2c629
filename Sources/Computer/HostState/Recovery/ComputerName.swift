import HostSystem
import IAMPASSProtocol

/// What tells this computer from others: its machine id and, if the firmware has one, its serial number.
public enum ComputerName {
  /// A digest, since the id itself must stay confidential (machine-id(5)); nil if systemd's file does not tell.
  ///
  /// A copy of the disk has the same machine id: only the firmware's number tells the two apart. Containers and some
  /// virtual machines have none.
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
