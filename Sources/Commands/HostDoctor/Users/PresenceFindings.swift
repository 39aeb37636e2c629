import HostState
import HostSystem
import PresenceLink

/// Findings about phones that are bound for Bluetooth. There are none if no phone is bound.
public struct PresenceFindings {
  public let phones: [BoundPhone]
  /// Whether the configuration makes the helper look for them.
  public let isOn: Bool
  /// Whether iampass-presence.socket is active.
  public let socketListens: Bool
  /// The pairing of a bound phone; nil if BlueZ has none.
  public let bond: (BoundPhone) throws(FileError) -> BondedDevice?

  public init(
    phones: [BoundPhone], isOn: Bool, socketListens: Bool,
    bond: @escaping (BoundPhone) throws(FileError) -> BondedDevice?
  ) {
    self.phones = phones
    self.isOn = isOn
    self.socketListens = socketListens
    self.bond = bond
  }

  public var findings: [Finding] {
    guard !phones.isEmpty else { return [] }
    return phones.map(finding) + [isOn ? socket : off]
  }

  private var off: Finding {
    Finding(
      .warning, .configuration, "phones are bound, and presence is off: no phone is looked for",
      hint: "write presence = bluetooth into iampass.conf")
  }

  private var socket: Finding {
    socketListens
      ? Finding(.ok, .helper, "iampass-presence.socket listens")
      : Finding(
        .warning, .helper, "iampass-presence.socket does not listen: no phone is looked for",
        hint: "systemctl start iampass-presence.socket")
  }

  private func finding(_ phone: BoundPhone) -> Finding {
    let device: BondedDevice?
    do throws(FileError) { device = try bond(phone) } catch {
      return Finding(.warning, .users, error.explanation, hint: error.hint)
    }
    guard let device else {
      return Finding(
        .warning, .users, "\(phone.phone), the phone of \(phone.user), is not paired any more",
        hint: "pair it again, then iampassctl presence use \(phone.phone) --user \(phone.user)")
    }
    guard device.keyDigest == phone.keyDigest else {
      return Finding(
        .warning, .users, "\(phone.phone), the phone of \(phone.user), was paired again with another key",
        hint: "if that was you: iampassctl presence use \(phone.phone) --user \(phone.user)")
    }
    return Finding(.ok, .users, "\(phone.user): bound to the phone \(phone.phone)")
  }
}
