import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSHTTPTransport
import IAMPASSProtocol
import WorkerLink

// usage: relying-party SERVER CA APPLICATION SECRET USER
//
// Adds the user, prints a registration link, waits for a line on standard input, then signs the user in, prints the
// status, logs them out, and prints the status again.

func say(_ text: String) {
  print(text)
  fflush(nil)
}

func soon() -> MonotonicInstant { .now().advanced(milliseconds: 30_000) }

@main
struct RelyingParty {
  static func main() {
    do { try run() } catch { say("failed: \(error)") }
  }

  static func run() throws {
    let words = CommandLine.arguments
    let server = try ServerURL(words[1])
    let transport = try InProcessTransport(server: server, authority: try authority(words[2]))
    let settings = ServiceSettings(
      server: server, scheme: .documented, dialect: .iampass, signedReplies: true, signedTargets: true)
    let credential = ServiceCredential(applicationID: words[3], secret: Secret(words[4]))
    let user = Secret(words[5])
    let management = try ManagementClient(
      settings: settings, credential: credential, transport: transport, unixTime: { Int64(time(nil)) })
    say("created \(try management.addUsers([user], deadline: soon()).created.count)")
    say("link " + (try management.deviceRegistrationLink(token: user, displayName: "Alice", deadline: soon())))
    _ = readLine()
    say("phone \(try management.hasRegisteredMobileDevice(token: user, deadline: soon()))")
    let client = try AuthenticationClient(
      settings: settings, credential: credential, transport: transport, unixTime: { Int64(time(nil)) })
    try signIn(user, by: client)
  }

  static func authority(_ path: String) throws -> CertificateBundle? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, file)
    return CertificateBundle(pem: Array(bytes.prefix(count)))
  }

  static func signIn(_ user: Secret, by client: AuthenticationClient) throws {
    let question = ApprovalQuestion.service(
      methods: [.acceptance], context: SignInContext(host: "web-1", service: "stranger", user: "alice"))
    let answer = try client.start(token: user, question, durationSeconds: 600, deadline: soon())
    guard case .pending(let session) = answer else { return say("not started: \(answer)") }
    while true {
      switch try client.approval(of: session, waitSeconds: 10, deadline: soon()) {
      case .approved(let active):
        say("approved")
        try client.end(active.remote, deadline: soon())
        let left = try client.approval(of: session, waitSeconds: nil, deadline: soon())
        if case .ended(let status, _) = left { say("logged out: \(status.word)") } else { say("still there") }
        return
      case .waiting: continue
      case .ended(let status, let reason): return say("ended: \(status.word) \(reason ?? "")")
      }
    }
  }
}
