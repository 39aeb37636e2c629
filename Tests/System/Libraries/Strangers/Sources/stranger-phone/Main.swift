import DeviceProtocol
import Glibc
import IAMPASSHTTPTransport
import IAMPASSPhone
import IAMPASSProtocol
import WorkerLink

// usage: stranger-phone LINK CA
//
// Registers, approves one request, prints the status, and unregisters.

func say(_ text: String) {
  print(text)
  fflush(nil)
}

/// Keeps its accounts in memory.
final class Memory: PhoneStorage {
  private var kept: [PhoneAccount] = []

  func accounts() -> [PhoneAccount] { kept }

  func add(_ register: () throws -> PhoneAccount) throws -> PhoneAccount {
    let account = try register()
    kept.append(account)
    return account
  }

  func remove(_ account: PhoneAccount) { kept.removeAll { $0.device == account.device } }
}

/// Says yes.
final class Agreeing: PhoneUser {
  func decision(on request: OpenRequest) -> PhoneDecision? {
    say("asked by \(request.context.service ?? "?") on \(request.context.host ?? "?")")
    return .approve()
  }

  func hear(_ event: WatchEvent) { if case .answered(_, .taken) = event { say("answered") } }

  func pause(milliseconds: Int64) { usleep(UInt32(milliseconds) * 1_000) }
}

@main
struct StrangerPhone {
  static func main() {
    do { try run() } catch { say("failed: \(error)") }
  }

  static func run() throws {
    let words = CommandLine.arguments
    let link = try RegistrationLink(words[1])
    let transport = try InProcessTransport(server: link.server, authority: try authority(words[2]))
    let registration = PhoneRegistration(link: link, transport: transport)
    say("for \(try registration.look().user)")
    let memory = Memory()
    let phone = try registration.register(in: memory)
    say("registered \(memory.accounts().count)")
    try RequestWatch(phone: phone, user: Agreeing()).run(once: true)
    say("sessions \(try phone.status().sessions.count)")
    try phone.unregister()
    memory.remove(phone.account)
    say("unregistered \(memory.accounts().count)")
  }

  static func authority(_ path: String) throws -> CertificateBundle? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, file)
    return CertificateBundle(pem: Array(bytes.prefix(count)))
  }
}
