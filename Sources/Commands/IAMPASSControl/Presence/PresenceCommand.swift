import ArgumentParser
import CommandSupport
import HostState
import HostSystem
import IAMPASSProtocol
import PresenceLink

struct PresenceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "presence",
    abstract: "Binds phones that the computer looks for by Bluetooth, and shows whether they are near.",
    discussion: "Pair the phone first, in the desktop's settings or with bluetoothctl. Experimental.",
    subcommands: [PresenceList.self, PresenceUse.self, PresenceRemove.self, PresenceTest.self])
}

extension BluetoothAddress {
  /// - Throws: ``PresenceProblem/badAddress(_:)``.
  init(argument text: String) throws(CommandProblem) {
    guard let address = BluetoothAddress(text) else { throw .presence(.badAddress(text)) }
    self = address
  }
}

/// The file of bound phones, and BlueZ's bonds.
struct PresenceFiles {
  let boundPath: String
  let bondsFolder: String

  init(_ options: PresenceOptions) {
    boundPath = options.host.folder + "/presence"
    bondsFolder = options.bonds
  }

  func bound() throws(CommandProblem) -> [BoundPhone] {
    do { return try BoundPhones(path: boundPath).phones } catch { throw failure(error) }
  }

  func bonds() throws(CommandProblem) -> [BondedDevice] {
    do { return try BondedDevice.all(in: bondsFolder) } catch { throw .file(error) }
  }

  /// The bond; nil if BlueZ has no bond of this adapter with the phone.
  func bond(adapter: BluetoothAddress, phone: BluetoothAddress) throws(CommandProblem) -> BondedDevice? {
    do { return try BondedDevice.read(adapter: adapter, address: phone, in: bondsFolder) } catch { throw .file(error) }
  }

  func failure(_ error: BoundPhonesError) -> CommandProblem {
    if case .file(let file) = error { return .file(file) }
    return .presence(.badFile(error, path: boundPath))
  }
}

struct PresenceOptions: ParsableArguments {
  @OptionGroup var host: HostOptions
  @Option(help: ArgumentHelp("The folder of BlueZ's bonds.", visibility: .hidden))
  var bonds = BondedDevice.folder
  @Option(help: ArgumentHelp("The probe's socket.", visibility: .hidden))
  var probe = ProbeCall.path
}
