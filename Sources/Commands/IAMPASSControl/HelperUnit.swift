import CommandSupport
import Glibc

/// The helper's systemd unit.
enum HelperUnit {
  private static let systemctl = "/usr/bin/systemctl"
  private static let name = "iampass-helper.service"

  /// Makes a running helper read its files now. By itself it reads them every half minute. Until then `check` and
  /// `systemctl status` show old data.
  static func reload() {
    guard access("/run/systemd/system", F_OK) == 0, Program.run([systemctl, "is-active", "--quiet", name])?.status == 0
    else { return }
    if Program.run([systemctl, "reload", name])?.status == 0 { return }
    Terminal.complain("warning: iampass-helper was not told of the new settings\nhint: systemctl reload iampass-helper")
  }
}
