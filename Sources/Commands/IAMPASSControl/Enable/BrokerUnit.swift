import CommandSupport
import Glibc
import HostState

/// The broker's socket unit. It is on only if a listed service needs it.
enum BrokerUnit {
  private static let systemctl = "/usr/bin/systemctl"
  private static let name = "iampass-broker.socket"

  /// Switches the socket on if one of the services or `unlock` needs the broker, and off otherwise. A failure is
  /// printed, but does not stop the command: without the broker users are asked for their password.
  ///
  /// - Parameter services: the services in force, without groups.
  static func settle(for services: [String], unlock: UnlockPolicy) {
    guard unlock != .off || services.contains(where: DesktopServices.asksBroker) else { return switchOff() }
    guard hasSystemd else { return }
    if Program.run([systemctl, "enable", "--quiet", "--now", name], seconds: 30)?.status == 0 { return }
    Terminal.complain("warning: \(name) could not be started: screen lockers and polkit ask for the password only")
    Terminal.complain("hint: systemctl enable --now \(name)")
  }

  /// Does nothing if the socket is already off.
  static func switchOff() {
    guard hasSystemd, isOn else { return }
    // If a trial ends at boot, systemctl must not wait for jobs that come after its own.
    if Program.run([systemctl, "disable", "--quiet", "--now", "--no-block", name], seconds: 30)?.status == 0 { return }
    Terminal.complain("warning: \(name) could not be stopped\nhint: systemctl disable --now \(name)")
  }

  private static var hasSystemd: Bool { access("/run/systemd/system", F_OK) == 0 }

  private static var isOn: Bool {
    ["is-enabled", "is-active"].contains { Program.run([systemctl, $0, "--quiet", name], seconds: 5)?.status == 0 }
  }
}
