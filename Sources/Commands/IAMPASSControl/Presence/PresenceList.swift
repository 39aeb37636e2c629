import ArgumentParser
import CommandSupport
import HostState
import IAMPASSProtocol
import PresenceLink

struct PresenceList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the paired phones, and the user to whom each is bound.",
    discussion: "KEY says whether somebody compared digits when the phone was paired.")

  @OptionGroup var options: PresenceOptions
  @Flag(help: "List every paired device, not only phones.") var all = false
  @Flag(help: "Print a JSON array.") var json = false

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let files = PresenceFiles(options)
      let rows = PairedPhone.all(bound: try files.bound(), bonds: try files.bonds())
        .filter { all || $0.bound != nil || $0.device?.looksLikeAPhone == true }
      if json { return Terminal.say(.array(rows.map(\.json))) }
      TextTable(head: PairedPhone.head, rows: rows.map(\.columns)).show(
        whenEmpty: all ? "no paired device" : "no paired phone; --all lists every paired device")
    }
  }
}

/// A bond, a bound phone, or both.
struct PairedPhone {
  static let head = ["ADDRESS", "NAME", "ADAPTER", "KEY", "USER", "STATE"]

  let adapter: BluetoothAddress
  let address: BluetoothAddress
  let device: BondedDevice?
  let bound: BoundPhone?

  /// Every bond, then the bound phones without one.
  static func all(bound: [BoundPhone], bonds: [BondedDevice]) -> [PairedPhone] {
    bonds.map { device in
      PairedPhone(
        adapter: device.adapter, address: device.address, device: device,
        bound: bound.first { $0.phone == device.address && $0.adapter == device.adapter })
    }
      + bound.filter { phone in !bonds.contains { $0.address == phone.phone && $0.adapter == phone.adapter } }
      .map { PairedPhone(adapter: $0.adapter, address: $0.phone, device: nil, bound: $0) }
  }

  private var state: BondState? { bound.map { BondState(pinned: $0.keyDigest, device) } }
  private var key: String? { device.map { $0.isAuthenticated ? "authenticated" : "unauthenticated" } }

  var columns: [String] {
    [
      "\(address)", device?.name ?? "", "\(adapter)", key ?? "", bound?.user.text ?? "", state?.rawValue ?? "",
    ].map { DisplayText.sanitized($0, limit: 64) }.map { $0.isEmpty ? "-" : $0 }
  }

  var json: JSON {
    .object([
      "address": .string("\(address)"), "adapter": .string("\(adapter)"),
      "name": device.map { .string(DisplayText.sanitized($0.name, limit: 248)) },
      "phone": device.map { .bool($0.looksLikeAPhone) }, "key_authenticated": device.map { .bool($0.isAuthenticated) },
      "user": bound.map { .string($0.user.text) }, "state": state.map { .string($0.rawValue) },
    ])
  }
}
