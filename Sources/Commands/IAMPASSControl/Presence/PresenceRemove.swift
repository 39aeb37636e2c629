import ArgumentParser
import CommandSupport
import HostState
import PresenceLink

struct PresenceRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Unbinds a phone: the computer no longer looks for it.",
    discussion: "The phone stays paired, and goes on approving sign-ins.")

  @OptionGroup var options: PresenceOptions
  @Argument(help: "The phone's Bluetooth address.") var address: String

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let phone = try BluetoothAddress(argument: address)
      let files = PresenceFiles(options)
      let lock = try AdminLock(folder: options.host.folder)
      defer { withExtendedLifetime(lock) {} }
      let isRemoved: Bool
      do throws(BoundPhonesError) {
        isRemoved = try BoundPhonesEditor.remove(phone, fromFile: files.boundPath)
      } catch { throw files.failure(error) }
      guard isRemoved else { throw CommandProblem.presence(.notBound(phone)) }
      HelperUnit.reload()
      Terminal.say("\(phone): unbound")
    }
  }
}
