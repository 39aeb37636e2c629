import ArgumentParser
import CommandSupport
import IAMPASSProtocol
import IAMPASSServer

struct OpenIDClientCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "openid-client", abstract: "Manage programs that ask phones by OpenID Connect (CIBA).",
    discussion: """
      Such a program names a user and a message; the phone shows both the program and the message. An approval gives the \
      program a signed token. It can manage no user and no phone.
      """,
    subcommands: [OpenIDClientCreate.self, OpenIDClientList.self, OpenIDClientRevoke.self])
}

struct OpenIDClientCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make one and print its id and secret, this one time.",
    discussion: "The service may be running.")

  @OptionGroup var options: HostCredentialOptions

  @OptionGroup var seal: SealOptions

  @Argument(help: "What administrators call it.")
  var name: String

  @Option(help: ArgumentHelp("The program's name that phones show.", valueName: "text"))
  var shown: String

  @Flag(help: "Print one line of JSON.")
  var json = false

  func run() async throws {
    try await options.managing(name: name, host: shown, isOpenID: true, by: seal) { storage in
      // This is first: a failure after the secret was made would have to undo it.
      let issuer = try await storage.publicAddress()
      let (client, secret) = try await storage.createOpenIDClient(
        named: name, shown: shown, of: options.application, at: storage.now())
      let made = NewCredential(openIDClient: client.id, secret: secret, issuer: issuer)
      try await CredentialLines.show(made, id: client.id, json: json) {
        try await storage.revokeHostCredential(
          named: name, of: options.application, isOpenID: true, at: storage.now())
      }
    }
  }
}

struct OpenIDClientList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List an application's OpenID clients, without their secrets.",
    discussion: "Shows name, shown name, id, and when each was made, last used and revoked. Times are UTC.")

  @OptionGroup var options: HostCredentialOptions

  @Flag(help: "Print a line of JSON for each, with Unix times.")
  var json = false

  func run() async throws {
    let clients = try await options.managing(isOpenID: true) {
      try await $0.hostCredentials(of: options.application, areOpenID: true)
    }
    try Output.say(clients.map { json ? $0.jsonLine : $0.textLine })
  }
}

struct OpenIDClientRevoke: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Refuse an OpenID client from now on.",
    discussion: "What it asked and nobody has answered is closed. It cannot be undone.")

  @OptionGroup var options: HostCredentialOptions

  @Argument(help: "Its name.")
  var name: String

  func run() async throws {
    try await options.managing(name: name, isOpenID: true) { storage in
      try await storage.revokeHostCredential(named: name, of: options.application, isOpenID: true, at: storage.now())
    }
  }
}
