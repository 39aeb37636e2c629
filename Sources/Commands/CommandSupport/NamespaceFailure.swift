import HostSystem

/// A unit whose restrictions systemd could not set up. Its process ended with 226, NAMESPACE, before the program began
/// (systemd.exec(5)).
public struct NamespaceFailure: Sendable, Equatable {
  /// The value of `ExecMainStatus` in `systemctl show`.
  public static let exitStatus = "226"

  private let container: String?

  /// - Parameter container: systemd's name for the container that it runs in, such as `lxc`; nil outside of one.
  public init(container: String?) { self.container = container }

  /// The failure of a unit of this computer whose process has ended with this status; nil for other statuses.
  public init?(mainStatus: String) {
    guard mainStatus == Self.exitStatus else { return nil }
    let name = String(decoding: ProcessFile.read("/run/systemd/container", limit: 64) ?? [], as: UTF8.self)
    let word = name.prefix { $0 != "\n" }
    self.init(container: word.isEmpty ? nil : String(word))
  }

  public func explanation(of unit: String) -> String {
    "systemd cannot set up the restrictions of \(unit) (226/NAMESPACE): "
      + (container.map { "this container (\($0)) seems to be without nesting" }
        ?? "a folder that the unit names may be missing")
  }

  /// - Parameter manual: the manual page that says more.
  public func hint(for unit: String, manual: String) -> String {
    container == nil
      ? "journalctl -u \(unit) -n 20 says what is missing"
      : "allow nesting (Proxmox: Options, Features, nesting=1), and start the container again; see \(manual)"
  }
}
