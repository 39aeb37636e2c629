import CommandSupport
import Glibc

/// The helper as systemd runs it.
enum HelperUnit {
  private static let systemctl = "/usr/bin/systemctl"
  private static let name = "iampass-helper.service"

  /// Has a running helper read its files now. It looks at them every half minute by itself, and until then `check` and
  /// `systemctl status` show what it knew before.
  static func reload() {
    guard access("/run/systemd/system", F_OK) == 0, Program.run([systemctl, "is-active", "--quiet", name])?.status == 0
    else { return }
    if Program.run([systemctl, "reload", name])?.status == 0 { return }
    Terminal.complain("warning: iampass-helper was not told of the new settings\nhint: systemctl reload iampass-helper")
  }
}
