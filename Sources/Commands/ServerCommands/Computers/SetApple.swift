import ArgumentParser
import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

extension NotificationsCommand {
  struct SetApple: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "apple", abstract: "Ring the application's apps through Apple's APNs.",
      discussion: """
        Give a token key with its key id and team id, a certificate with its key, or both in a PKCS #12 file. It takes the \
        place of an earlier one. The service may be running.
        """)

    @OptionGroup var options: Options

    @Option(help: ArgumentHelp("The app's bundle id.", valueName: "id"))
    var topic: String

    @Option(help: ArgumentHelp("A token key of your team: AuthKey_….p8.", valueName: "file"), completion: .file())
    var tokenKey: String?

    @Option(name: .customLong("key-id"), help: ArgumentHelp("The token key's id.", valueName: "id"))
    var keyID: String?

    @Option(name: .customLong("team-id"), help: ArgumentHelp("Your team's id.", valueName: "id"))
    var teamID: String?

    @Option(help: ArgumentHelp("A certificate for the app, in PEM.", valueName: "file"), completion: .file())
    var certificate: String?

    @Option(
      help: ArgumentHelp("The certificate's private key, in PEM without a passphrase.", valueName: "file"),
      completion: .file())
    var certificateKey: String?

    @Option(
      help: ArgumentHelp("Certificate and private key in one PKCS #12 file (.p12).", valueName: "file"),
      completion: .file())
    var bundle: String?

    @Option(
      help: ArgumentHelp("A file whose first line is the PKCS #12 file's passphrase.", valueName: "file"),
      completion: .file())
    var passphraseFile: String?

    @Flag(help: "Use Apple's development service, for apps that Xcode installed.")
    var sandbox = false

    private var environment: AppleNotifications.Environment { sandbox ? .sandbox : .production }

    func validate() throws {
      guard [tokenKey, certificate, bundle].compactMap({ $0 }).count == 1 else {
        throw ValidationError("give one of --token-key, --certificate and --bundle")
      }
      guard (tokenKey == nil) == (keyID == nil), (tokenKey == nil) == (teamID == nil) else {
        throw ValidationError("--token-key, --key-id and --team-id belong together")
      }
      guard (certificate == nil) == (certificateKey == nil) else {
        throw ValidationError("--certificate and --certificate-key belong together")
      }
      guard passphraseFile == nil || bundle != nil else {
        throw ValidationError("--passphrase-file belongs to --bundle")
      }
    }

    func run() async throws { try await options.set { .apple(try settings()) } }

    private func settings() throws -> AppleNotifications {
      if let tokenKey {
        let key = Secret(bytes: try SettingFile.read(tokenKey))
        return try faulting(tokenKey) { () throws(NotificationFault) in
          try AppleNotifications(
            tokenKey: key, keyID: keyID ?? "", teamID: teamID ?? "", topic: topic, environment: environment)
        }
      }
      if let bundle {
        let bytes = try SettingFile.read(bundle)
        let line = try passphraseFile.map { try SettingFile.read($0).prefix { $0 != UInt8(ascii: "\n") } } ?? []
        return try faulting(bundle) { () throws(NotificationFault) in
          try AppleNotifications(
            bundle: bytes, passphrase: Secret(bytes: Array(line)), topic: topic, environment: environment, at: .now())
        }
      }
      let chain = String(decoding: try SettingFile.read(certificate ?? ""), as: UTF8.self)
      let key = Secret(bytes: try SettingFile.read(certificateKey ?? ""))
      return try faulting(certificate ?? "") { () throws(NotificationFault) in
        try AppleNotifications(certificate: chain, key: key, topic: topic, environment: environment, at: .now())
      }
    }
  }
}
