import CommandSupport
import Glibc
import HostState

/// The broker's socket as systemd runs it: on only if a listed service needs it.
enum BrokerUnit {
  private static let systemctl = "/usr/bin/systemctl"
  private static let name = "iampass-broker.socket"

  /// Switches the socket on if one of the services or `unlock` needs the broker, and off otherwise. A failure is said and stops
  /// nothing: without the broker the password is asked for.
  ///
  /// - Parameter services: those in force, without groups.
  static func settle(for services: [String], unlock: UnlockPolicy) {
    guard unlock != .off || services.contains(where: DesktopServices.asksBroker) else { return switchOff() }
    guard hasSystemd else { return }
    if Program.run([systemctl, "enable", "--quiet", "--now", name], seconds: 30)?.status == 0 { return }
    Terminal.complain("warning: \(name) could not be started: screen lockers and polkit ask for the password only")
    Terminal.complain("hint: systemctl enable --now \(name)")
  }

  /// Nothing if the socket is off already.
  static func switchOff() {
    guard hasSystemd, isOn else { return }
    // At boot, where a trial ends, systemctl must not wait for jobs behind its own.
    if Program.run([systemctl, "disable", "--quiet", "--now", "--no-block", name], seconds: 30)?.status == 0 { return }
    Terminal.complain("warning: \(name) could not be stopped\nhint: systemctl disable --now \(name)")
  }

  private static var hasSystemd: Bool { access("/run/systemd/system", F_OK) == 0 }

  private static var isOn: Bool {
    ["is-enabled", "is-active"].contains { Program.run([systemctl, $0, "--quiet", name], seconds: 5)?.status == 0 }
  }
}
