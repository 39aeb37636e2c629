import ArgumentParser
import CommandSupport
import DeviceProtocol
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

struct Register: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Register this phone for the user of the link.")

  @Argument(help: "The registration link from the administrator.")
  var link: String

  @OptionGroup var options: StateOption

  @Option(
    help: ArgumentHelp("PEM certificates to trust instead of the system's.", valueName: "file"),
    completion: .file())
  var ca: String?

  @Flag(help: "Replace the phone in the state file.")
  var force = false

  func run() throws {
    let link = try RegistrationLink(link)
    let file = StateFile(path: options.state)
    guard force || !file.exists else { throw CommandProblem.registeredAlready(options.state) }
    let authority = try ca.map { (path) throws(CommandProblem) in
      guard let bundle = CertificateBundle(pem: try FileText.read(authority: path)) else {
        throw .authorityNotReadable(path, "it does not contain a certificate")
      }
      return bundle
    }
    let service = PhoneService(
      server: link.server, authority: authority, worker: options.worker, interrupt: Interrupt.ofPhone())
    try explaining {
      let shown = try LinkReply(parsing: try service.get(["register", link.code.exposedValue]))
      let draft = try file.prepare()
      let key = try DeviceKey.generate()
      let keys = PhoneKeys(publicKey: try key.publicKey.text, credential: nil)
      let request = RegisterRequest(code: link.code, publicKey: keys.publicKey, pinMAC: link.pin(of: keys))
      let reply = try RegisterReply(parsing: try service.post(DeviceRoute.register, request.encoded()))
      let state = PhoneState(
        server: link.server, device: reply.device, key: key, application: reply.application, user: reply.user,
        authority: authority.map { String(decoding: $0.pem, as: UTF8.self) })
      try draft.commit(try state.encoded())
      PhoneTerminal.say(
        "registered: this is now the phone of \(DisplayText.sanitized(shown.user)) "
          + "for \(DisplayText.sanitized(shown.application))")
    }
  }
}

/// The parts of `https://…/register/CODE`, and of `#pin=SECRET` behind it.
struct RegistrationLink {
  let server: ServerURL
  let code: Secret
  /// The fragment's secret. It is never sent; nil without a fragment.
  private let pinSecret: Secret?

  /// What the computer that made the link checks the keys by; nil if the link has no secret.
  func pin(of keys: PhoneKeys) -> String? {
    pinSecret.map { keys.pinMAC(secret: $0, origin: server.origin, link: code) }
  }

  /// Throws: if the text is another one, or if its fragment is not ``PhoneKeys/pinFragment`` and a secret.
  init(_ text: String) throws(CommandProblem) {
    let marker = "/register/"
    let bytes = Array(text.utf8)
    let pattern = Array(marker.utf8)
    guard bytes.count > pattern.count,
      let start = (0...(bytes.count - pattern.count)).last(where: { bytes[$0...].starts(with: pattern) })
    else { throw .notALink(text) }
    let parts = bytes[(start + pattern.count)...].split(
      separator: UInt8(ascii: "#"), maxSplits: 1, omittingEmptySubsequences: false)
    let code = parts[0]
    guard code.count == 32, code.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
      let server = try? ServerURL(String(decoding: bytes[..<start], as: UTF8.self))
    else { throw .notALink(String(text.prefix { $0 != "#" })) }
    self.server = server
    self.code = Secret(bytes: Array(code))
    guard parts.count > 1 else {
      pinSecret = nil
      return
    }
    // Without its pin the phone would be registered, and no computer would believe it.
    guard let secret = Self.secret(inFragment: String(decoding: parts[1], as: UTF8.self)) else {
      throw .linkWithoutItsSecret
    }
    pinSecret = secret
  }

  private static func secret(inFragment fragment: String) -> Secret? {
    guard fragment.hasPrefix(PhoneKeys.pinFragment),
      let bytes = Base64URL.decode(String(fragment.dropFirst(PhoneKeys.pinFragment.count))),
      bytes.count == PhoneKeys.pinSecretSize
    else { return nil }
    return Secret(bytes: bytes)
  }
}
