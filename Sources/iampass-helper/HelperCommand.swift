// The background helper: watches the sessions that phones opened, and logs their seats out. A service of systemd's.
import CHost
import Glibc
import HostState
import IAMPASSProtocol
import PresenceProbe
import SessionHelper

private let usage = """
  usage: iampass-helper [--config PATH | --probe] [--version]

  Watches the sessions that a phone opened, and logs them out when the phone leaves. Started by systemd:
  systemctl status iampass-helper.

    --config PATH   configuration file; credentials stand beside it (default: \(Configuration.path))
    --probe         look by Bluetooth for phones instead, for iampass-presence.service
    --version       the version
    --help          this text

  """

/// To the journal, with sd-daemon(3)'s priorities; to a terminal without.
final class StandardErrorLog: HelperLog, Sendable {
  private let isTerminal = isatty(STDERR_FILENO) == 1

  func write(_ priority: Int32, _ text: String) {
    let line = (isTerminal ? "iampass-helper: " : "<\(priority)>") + DisplayText.sanitized(text, limit: 1_000) + "\n"
    _ = line.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
  }
}

@main
enum HelperCommand {
  private static let log = StandardErrorLog()

  static func main() {
    let words = CommandLine.arguments.dropFirst()
    // In this program, since another one would bring Swift's whole library again.
    if words.elementsEqual(["--probe"]) { return probe() }
    let path = configurationPath(words)
    guard geteuid() == 0 else { stop("only root can do this", EX_NOPERM) }
    // A dump would hold the secrets of everybody who is signed in.
    guard iampass_prctl(PR_SET_DUMPABLE, 0) == 0 else { stop("core dumps cannot be forbidden", EX_OSERR) }
    do { try HelperLoop(path: path, log: log).serve() } catch {
      stop("does not run: \(error.explanation)", EX_OSERR)
    }
  }

  /// Answers root's questions about phones, without privileges, until nobody has asked for a while.
  private static func probe() {
    // The first descriptor that systemd passes (sd_listen_fds(3)).
    let given: Int32 = 3
    guard geteuid() != 0 else {
      stop("the probe does not run as root; systemctl start iampass-presence.socket", EX_USAGE)
    }
    guard iampass_is_listening(given) == 1 else {
      stop("the probe has no socket; systemctl start iampass-presence.socket", EX_USAGE)
    }
    ProbeService(listening: given).run()
  }

  private static func configurationPath(_ words: ArraySlice<String>) -> String {
    var path = Configuration.path
    var rest = words
    while let word = rest.popFirst() {
      switch word {
      case "--help", "-h":
        print(usage, terminator: "")
        exit(EX_OK)
      case "--version":
        print(ProductVersion.text)
        exit(EX_OK)
      case "--config":
        // A relative one would mean another file in each folder.
        guard let next = rest.popFirst(), next.hasPrefix("/"), !next.hasSuffix("/") else {
          stop("--config takes an absolute path", EX_USAGE)
        }
        path = next
      default: stop("unknown argument \(word); see iampass-helper --help", EX_USAGE)
      }
    }
    return path
  }

  private static func stop(_ text: String, _ code: Int32) -> Never {
    log.write(LOG_ERR, text)
    exit(code)
  }
}
