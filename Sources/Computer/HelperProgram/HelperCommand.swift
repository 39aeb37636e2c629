import CHost
import Glibc
import HostState
import IAMPASSProtocol
import KeyringSeal
import PresenceProbe
import SessionHelper
import SignInBroker

private let usage = """
  usage: iampass-helper [--config PATH | --probe] [--version]
         iampass-helper --broker [--config PATH] [--sessions PATH]
         iampass-helper --keyring [--config PATH]

  Watches the sessions that a phone opened, and logs them out when the phone leaves. Started by systemd:
  systemctl status iampass-helper.

    --config PATH   configuration file; credentials stand beside it (default: \(Configuration.path))
    --probe         look by Bluetooth for phones instead, for iampass-presence.service
    --broker        asks the phone for screen lockers and polkit, at the socket that systemd hands over
    --keyring       seals or opens one password, for iampass-keyring.socket
    --sessions PATH folder of logind's sessions, for --broker (default: /run/systemd/sessions)
    --version       the version
    --help          this text

  """

/// Logs to the journal with sd-daemon(3)'s priorities, and to a terminal without them.
final class StandardErrorLog: HelperLog, Sendable {
  private let isTerminal = isatty(STDERR_FILENO) == 1

  func write(_ priority: Int32, _ text: String) {
    let line = (isTerminal ? "iampass-helper: " : "<\(priority)>") + DisplayText.sanitized(text, limit: 1_000) + "\n"
    _ = line.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
  }
}

/// The program `iampass-helper`, which is the helper, the broker, the keyring's service or the probe.
public enum HelperCommand {
  private static let log = StandardErrorLog()

  public static func main() {
    let given = CommandLine.arguments.dropFirst()
    // The probe is in this program: another program would need a second copy of Swift's library.
    if given.elementsEqual(["--probe"]) { return probe() }
    let words = words(given)
    guard geteuid() == 0 else { stop("only root can do this", EX_NOPERM) }
    // A dump would have the secrets of all signed-in users.
    guard iampass_prctl(PR_SET_DUMPABLE, 0) == 0 else { stop("core dumps cannot be forbidden", EX_OSERR) }
    if words.isBroker { serveCallers(words) }
    if words.isKeyring { serveKeyring(words) }
    do { try HelperLoop(path: words.path, log: log).serve() } catch {
      stop("does not run: \(error.explanation)", EX_OSERR)
    }
  }

  /// Answers root's questions about phones, without privileges, until there were no questions for a while.
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

  private struct Words {
    var path = Configuration.path
    var isBroker = false
    var isKeyring = false
    var sessionsFolder = "/run/systemd/sessions"
  }

  private static func serveCallers(_ words: Words) -> Never {
    _ = iampass_name("iampass-broker")
    let broker = Broker(configurationPath: words.path, sessionsFolder: words.sessionsFolder) { log.write($0, $1) }
    do { try broker.serve() } catch { stop("does not run: \(error.explanation)", EX_OSERR) }
    exit(EX_OK)
  }

  /// Answers one request on the connection that systemd has accepted.
  private static func serveKeyring(_ words: Words) -> Never {
    _ = iampass_name("iampass-keyring")
    KeyringService(configurationPath: words.path, creds: SystemdCreds()) { log.write($0, $1) }
      .answer(at: STDIN_FILENO)
    exit(EX_OK)
  }

  private static func words(_ given: ArraySlice<String>) -> Words {
    var found = Words()
    var rest = given
    while let word = rest.popFirst() {
      switch word {
      case "--help", "-h":
        print(usage, terminator: "")
        exit(EX_OK)
      case "--version":
        print(ProductVersion.text)
        exit(EX_OK)
      case "--config":
        found.path = pathAfter(word, &rest)
      case "--broker": found.isBroker = true
      case "--keyring": found.isKeyring = true
      case "--sessions": found.sessionsFolder = pathAfter(word, &rest)
      default: stop("unknown argument \(word); see iampass-helper --help", EX_USAGE)
      }
    }
    return found
  }

  /// A relative path would depend on the working directory.
  private static func pathAfter(_ word: String, _ rest: inout ArraySlice<String>) -> String {
    guard let next = rest.popFirst(), next.hasPrefix("/"), !next.hasSuffix("/") else {
      stop("\(word) takes an absolute path", EX_USAGE)
    }
    return next
  }

  private static func stop(_ text: String, _ code: Int32) -> Never {
    log.write(LOG_ERR, text)
    exit(code)
  }
}
