import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSServer

struct CertificateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "certificate", abstract: "Look after the certificate of the packaged service.",
    subcommands: [CertificateRenew.self, CertificateNextAuthority.self])
}

struct CertificateRenew: AsyncParsableCommand {
  /// How long before the authority's end each renewal warns, in seconds: a year.
  private static let authorityWarning: Int64 = 365 * 86_400

  static let configuration = CommandConfiguration(
    commandName: "renew", abstract: "Renew the certificate, if it is of the service's own authority or certbot's.",
    discussion: """
      Makes a certificate of the own authority again 30 days before it ends; copies certbot's if it was renewed. The \
      running service takes it without losing a connection. A timer and certbot's hook run this.
      """)

  @Flag(help: "Make a certificate of the own authority now, however long the one that is there is good.")
  var force = false

  @OptionGroup var places: SetupPlaces

  func run() async throws {
    try await explaining {
      guard geteuid() == 0 else { throw CommandProblem.notRoot }
      let lock = try places.lock()
      defer { withExtendedLifetime(lock) {} }
      let folder = try places.setupFolder()
      let current = try CurrentSetup(try places.readSettings(), folder: folder)
      switch current.certificate {
      case nil, .files: try Output.say("the certificate is not setup's: there is nothing to renew")
      case .own: try renewOwn(try current.knownName, folder)
      case .certbot(let live): try takeCertbot(live, try current.knownName, folder)
      }
    }
  }

  private func renewOwn(_ name: PublicName, _ folder: SetupFolder) throws {
    let now = Int64(time(nil))
    guard let authority = try folder.ownAuthority() else { throw CommandProblem.noAuthority(folder.authority) }
    if authority.certificate.ends - now < Self.authorityWarning {
      Notice.tell(
        "the authority ends on \(UnixTime(seconds: authority.certificate.ends).text): make another one in time")
    }
    let facts = folder.leafFacts(for: name, by: authority, at: now)
    if LeafRenewal.decide(facts, at: now) == .keep, !force {
      let end = folder.ownLeaf().map { UnixTime(seconds: $0.certificate.ends).text } ?? ""
      return try Output.say("the certificate is good until \(end): nothing to do")
    }
    let leaf = try folder.makeLeaf(for: name, by: authority, at: now)
    try Output.say("renewed the certificate, good until \(UnixTime(seconds: leaf.ends).text)")
    try reload()
  }

  private func takeCertbot(_ live: String, _ name: PublicName, _ folder: SetupFolder) throws {
    let files = CertbotFiles(root: places.letsencrypt, folder: live)
    let pair = try GivenPair(certificate: files.chain, key: files.key, for: name, at: Int64(time(nil)))
    guard try folder.takeCertbot(key: pair.key, chain: pair.chain) else {
      return try Output.say("certbot's certificate is in use already: nothing to do")
    }
    try Output.say("took certbot's certificate, good until \(UnixTime(seconds: pair.certificate.ends).text)")
    try reload()
  }

  /// Makes the service load its files. It reads them every 30 seconds anyway.
  private func reload() throws {
    guard ServiceUnit.isThere else { return }
    _ = try ServiceUnit(name: places.unit).reload()
  }

}

struct CertificateNextAuthority: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "next-authority", abstract: "Make the authority that is to follow the service's own.",
    discussion: """
      Computers and phones can then know both authorities before the service uses the new one, which \
      iampass-server setup --new-authority has it do. Run again, it changes nothing.
      """)

  @OptionGroup var places: SetupPlaces

  func run() async throws {
    try await explaining {
      guard geteuid() == 0 else { throw CommandProblem.notRoot }
      let lock = try places.lock()
      defer { withExtendedLifetime(lock) {} }
      let folder = try places.setupFolder()
      let current = try CurrentSetup(try places.readSettings(), folder: folder)
      guard current.certificate == .own else { throw CommandProblem.noAuthority(folder.authority) }
      try folder.makeNextAuthority(for: try current.knownName, at: Int64(time(nil)))
      try Output.say("the next authority: \(folder.nextAuthorityFile)")
    }
  }
}

extension CurrentSetup {
  fileprivate var knownName: PublicName {
    get throws(CommandProblem) {
      guard let name else { throw .notSetUp }
      return name
    }
  }
}
