import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol

/// `/etc/iampass-server`: the certificates that setup makes or copies. Each file is complete at any time, so that an
/// interrupted setup can continue.
struct SetupFolder: Sendable {
  /// The greatest size of a file in bytes. A chain with its key has a few thousand.
  private static let greatestFile = 1_048_576

  let path: String
  /// The group that may read keys.
  let group: gid_t

  init(path: String, group: gid_t) {
    self.path = path
    self.group = group
  }

  var ownFolder: String { path + "/own" }
  /// The authority's certificate, for computers and phones.
  var authority: String { ownFolder + "/authority.pem" }
  /// The authority's key. Only root can read it.
  var authorityKey: String { ownFolder + "/authority.key" }
  /// The next authority's certificate and key.
  var nextAuthorityFile: String { ownFolder + "/next-authority.pem" }
  var nextAuthorityKey: String { ownFolder + "/next-authority.key" }
  /// The service's key, and its certificate by the own authority. They are in one file, so that they change together.
  var ownPair: String { ownFolder + "/service.pem" }
  /// The service's key and certificate by certbot.
  var certbotPair: String { path + "/certbot.pem" }

  /// The key of the pair that the first start makes.
  var firstKey: String { path + "/key.pem" }

  /// The file that exists while the running service may have older settings than those on the disk.
  private var restartNote: String { path + "/restart-needed" }

  var needsRestart: Bool { access(restartNote, F_OK) == 0 }

  /// Notes that a restart is needed, before the settings change. If the setup is interrupted afterwards, the next run
  /// restarts the service.
  func noteRestart() throws(CommandProblem) { try Self.write([], to: restartNote, mode: 0o644) }

  /// Removes the note, after a start with the present settings.
  func forgetRestart() throws(CommandProblem) {
    guard unlink(restartNote) == 0 || errno == ENOENT else {
      throw CommandProblem(FileError(.system(errno), path: restartNote))
    }
  }

  /// Makes the folders that are missing.
  func make() throws(CommandProblem) {
    for folder in [path, ownFolder] {
      guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
        throw CommandProblem(FileError(.system(errno), path: folder))
      }
      // The service must have access, whatever root's umask is.
      guard chmod(folder, 0o755) == 0 else { throw CommandProblem(FileError(.system(errno), path: folder)) }
    }
  }

  /// The present authority; nil if there is none yet.
  ///
  /// - Throws: if it is damaged. Computers trust it, so it is replaced only on request.
  func ownAuthority() throws(CommandProblem) -> OwnAuthority? {
    guard let keyBytes = try present(authorityKey, .secret) else {
      guard try present(authority, .readableByAll) == nil else { throw .authorityWithoutKey(authorityKey) }
      return nil
    }
    let key = try Self.read(authorityKey) { () throws(CertificateError) in try TLSKey(pem: keyBytes) }
    guard let bytes = try present(authority, .readableByAll) else { return nil }
    let certificate = try Self.read(authority) { () throws(CertificateError) in try TLSCertificate(pem: bytes) }
    guard certificate.fits(key) else { throw .notAPair(authority, authorityKey) }
    return OwnAuthority(certificate: certificate, key: key)
  }

  /// Makes the first authority. The key is written first, so that an interrupted setup continues with the same key.
  func makeAuthority(for name: PublicName, at now: Int64) throws(CommandProblem) -> OwnAuthority {
    var key: TLSKey?
    if let bytes = try present(authorityKey, .secret) {
      key = try Self.read(authorityKey) { () throws(CertificateError) in try TLSKey(pem: bytes) }
    }
    return try make(for: name, by: key, at: now, certificate: authority, keyFile: authorityKey)
  }

  /// Makes the next authority, once, so that computers can get it before the service uses it.
  func makeNextAuthority(for name: PublicName, at now: Int64) throws(CommandProblem) {
    guard !isChangingAuthority else { throw .changeBrokenOff }
    guard try nextAuthority() == nil else { return }
    _ = try make(for: name, by: nil, at: now, certificate: nextAuthorityFile, keyFile: nextAuthorityKey)
  }

  /// The next authority; nil unless both of its files exist and belong together.
  func nextAuthority() throws(CommandProblem) -> OwnAuthority? {
    guard let certificate = try present(nextAuthorityFile, .readableByAll),
      let key = try present(nextAuthorityKey, .secret)
    else { return nil }
    let read = try Self.read(nextAuthorityKey) { () throws(CertificateError) in try TLSKey(pem: key) }
    let next = try Self.read(nextAuthorityFile) { () throws(CertificateError) in try TLSCertificate(pem: certificate) }
    return next.fits(read) ? OwnAuthority(certificate: next, key: read) : nil
  }

  private func make(
    for name: PublicName, by known: TLSKey?, at now: Int64, certificate: String, keyFile: String
  ) throws(CommandProblem) -> OwnAuthority {
    do {
      let key = try known ?? TLSKey.generate()
      let made = try OwnAuthority.made(for: name, by: key, at: now)
      try Self.write(try key.pem(), to: keyFile, mode: 0o600)
      try Self.write(try made.certificate.pem(), to: certificate, mode: 0o644)
      return made
    } catch let problem as CommandProblem { throw problem } catch { throw .notMade(certificate, "\(error)") }
  }

  /// The service's certificate by its own authority; nil if there is none that can be read.
  func ownLeaf() -> (certificate: TLSCertificate, key: TLSKey)? {
    guard let bytes = try? read(ownPair), let certificate = try? TLSCertificate(pem: bytes),
      let key = try? TLSKey(pem: bytes), certificate.fits(key)
    else { return nil }
    return (certificate, key)
  }

  /// The facts about that certificate.
  func leafFacts(for name: PublicName, by authority: OwnAuthority, at now: Int64) -> LeafFacts? {
    guard let leaf = ownLeaf()?.certificate else { return nil }
    // The rule checks the certificate's own time.
    let moment = min(max(now, leaf.begins), leaf.ends)
    let isForName = leaf.covers(name)
    return LeafFacts(
      isOfAuthority: !isForName
        || leaf.refusal(by: authority.certificate, for: name, at: moment) == nil && shows(authority),
      isForName: isForName, begins: leaf.begins, ends: leaf.ends, authorityEnds: authority.certificate.ends)
  }

  /// Whether the authority is in the service's certificate file.
  private func shows(_ authority: OwnAuthority) -> Bool {
    guard let bytes = try? read(ownPair), let pem = try? authority.certificate.pem() else { return false }
    return !Set(CertificateChain.certificates(in: bytes)).isDisjoint(with: CertificateChain.certificates(in: pem))
  }

  /// Makes the service's certificate for its present key, which computers may have pinned.
  func makeLeaf(
    for name: PublicName, by authority: OwnAuthority, at now: Int64
  ) throws(CommandProblem) -> TLSCertificate {
    do {
      let key = try ownLeaf()?.key ?? TLSKey.generate()
      let leaf = try authority.leaf(for: name, key: key, at: now)
      // Joining computers get the authority too, and recognize it by its digest.
      let bytes = try key.pem() + leaf.pem() + authority.certificate.pem()
      try Self.write(bytes, to: ownPair, mode: 0o640, group: group)
      return leaf
    } catch let problem as CommandProblem { throw problem } catch CertificateError.notAccepted(let reason) {
      throw .authorityRefuses(name.text, reason)
    } catch { throw .notMade(ownPair, "\(error)") }
  }

  /// Copies certbot's key and chain into one file, which the service may read.
  ///
  /// - Returns: false if the present copy is the same.
  func takeCertbot(key: [UInt8], chain: [UInt8]) throws(CommandProblem) -> Bool {
    let bytes = key + (key.last == UInt8(ascii: "\n") ? [] : [UInt8(ascii: "\n")]) + chain
    if let there = try? read(certbotPair), there == bytes { return false }
    try Self.write(bytes, to: certbotPair, mode: 0o640, group: group)
    return true
  }

  private func read(_ path: String) throws(FileError) -> [UInt8] {
    try SecureFile.read(path, privacy: .readableByAll, limit: Self.greatestFile)
  }

  /// Nil if it is missing.
  func present(_ path: String, _ privacy: SecureFile.Privacy) throws(CommandProblem) -> [UInt8]? {
    do { return try SecureFile.read(path, privacy: privacy, limit: Self.greatestFile) } catch {
      guard error.code == .missing else { throw CommandProblem(error) }
      return nil
    }
  }

  private static func read<Value>(
    _ path: String, _ parse: () throws(CertificateError) -> Value
  ) throws(CommandProblem) -> Value {
    do { return try parse() } catch { throw .notReadable(path, error) }
  }

  static func write(
    _ bytes: [UInt8], to path: String, mode: UInt32, group: gid_t? = nil
  ) throws(CommandProblem) {
    do throws(FileError) {
      let file = try NewFile(for: path, mode: mode)
      // The file is still empty.
      if let group { try file.give(toGroup: group) }
      try file.write(bytes)
      try file.takePlace()
    } catch { throw CommandProblem(error) }
  }
}
