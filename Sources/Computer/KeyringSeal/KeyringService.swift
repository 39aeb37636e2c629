import CHost
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// Answers one request of the module on a connection that systemd has accepted, and ends (`iampass-helper --keyring`).
public struct KeyringService {
  /// The longest time for a whole request, in milliseconds.
  private static let patience: Int64 = 2_000

  private let configurationPath: String
  private let creds: SystemdCreds
  private let log: (Int32, String) -> Void

  public init(configurationPath: String, creds: SystemdCreds, log: @escaping (Int32, String) -> Void) {
    self.configurationPath = configurationPath
    self.creds = creds
    self.log = log
  }

  /// - Parameter socket: the connection to the caller.
  public func answer(at socket: Int32) {
    guard iampass_peer(socket).uid == 0 else { return log(LOG_ERR, "refused: only root may ask") }
    guard let request = request(socket) else { return log(LOG_ERR, "refused: this is not a request") }
    do throws(Misconfiguration) {
      let setup = try HostSetup(path: configurationPath)
      guard setup.configuration.keyring == .sealed else { return refuse(leaving: setup.sealedPasswords) }
      // root has no keyring, and root's password is not kept.
      let whose = LogField.text("user", request.user.text)
      let found: SystemUser?
      do throws(UserLookupError) { found = try SystemUser.find(named: request.user) } catch {
        return log(LOG_ERR, "refused \(whose): \(error.explanation)")
      }
      guard let user = found, user.uid != 0 else { return log(LOG_ERR, "refused \(whose): no such user, or root") }
      switch request.act {
      case .seal(let password, let print):
        try seal(SealedPayload(user: user.name, password: password, print: print), user, setup)
      case .open: handOut(to: socket, user, setup.sealedPasswords)
      }
    } catch { log(LOG_ERR, "refused: \(error.explanation)") }
  }

  /// Logs whose passwords were kept before `keyring` was switched off.
  private func refuse(leaving kept: SealedPasswords) {
    let left = (try? kept.users()) ?? []
    let whose = left.isEmpty ? "" : "; still sealed: \(left.map(SealedPasswords.owner).joined(separator: ", "))"
    log(LOG_NOTICE, "refused: keyring = off\(whose)")
  }

  private func handOut(to socket: Int32, _ user: SystemUser, _ kept: SealedPasswords) {
    withFiles(of: user) { () throws(FileError) -> Void in
      var reply = KeyringReply.encoded(try password(of: user, kept))
      defer { reply.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
      if send(socket, reply, reply.count, Int32(MSG_NOSIGNAL)) != reply.count { log(LOG_NOTICE, "the caller left") }
    }
  }

  /// Seals a password. A user without a token cannot be approved by phone, and would never get the password back.
  private func seal(_ payload: SealedPayload, _ user: SystemUser, _ setup: HostSetup) throws(Misconfiguration) {
    let kept = setup.sealedPasswords
    let began = withFiles(of: user) { () throws(FileError) -> SealedPasswords.Forgetting? in try kept.lastForgetting() }
    guard let began else { return }
    // This comes after the sealing: `iampassctl user remove` removes the token, and then forgets the password.
    let hasToken = try setup.token(of: user.name, known: user) != nil
    withFiles(of: user) { () throws(FileError) -> Void in
      guard hasToken else {
        try kept.forget(user.uid)
        return log(LOG_NOTICE, "not sealed \(LogField.text("user", user.name.text)): the user has no token")
      }
      try seal(payload, user, kept, since: began)
    }
  }

  private func seal(
    _ payload: SealedPayload, _ user: SystemUser, _ kept: SealedPasswords, since began: SealedPasswords.Forgetting?
  ) throws(FileError) {
    let whose = LogField.text("user", user.name.text)
    // An expired password is changed after it was typed. The next sign-in has the new one.
    guard payload.print == ShadowPrint.of(user.name) else {
      try kept.forget(user.uid)
      return log(LOG_NOTICE, "not sealed \(whose): the password was changed meanwhile")
    }
    let key = creds.bestKey
    guard let sealed = creds.seal(payload.encoded(), as: Self.name(user), by: key) else {
      return log(LOG_ERR, "not sealed \(whose): systemd-creds failed")
    }
    guard try kept.write(sealed, of: user.uid, key, since: began) else {
      return log(LOG_NOTICE, "not sealed \(whose): a password was forgotten meanwhile; the next sign-in seals again")
    }
    log(LOG_INFO, "sealed \(whose) key=\(key.rawValue)")
  }

  private func password(of user: SystemUser, _ kept: SealedPasswords) throws(FileError) -> Secret? {
    let whose = LogField.text("user", user.name.text)
    guard let key = try kept.key(of: user.uid) else { return nil }
    guard let opened = creds.open(try kept.read(user.uid, key), as: Self.name(user)) else {
      log(LOG_ERR, "not opened \(whose): systemd-creds failed; the next sign-in by password seals again")
      return nil
    }
    guard let payload = SealedPayload(parsing: opened) else {
      try kept.forget(user.uid)
      log(LOG_NOTICE, "forgotten \(whose): what was sealed does not say whose it is, or cannot be read")
      return nil
    }
    switch payload.verdict(for: user.name, present: ShadowPrint.of(user.name)) {
    case .handOut(let password):
      log(LOG_INFO, "opened \(whose) key=\(key.rawValue)")
      return password
    case .forget(let reason):
      try kept.forget(user.uid)
      log(LOG_NOTICE, "forgotten \(whose): \(reason.explanation); the next sign-in by password seals again")
      return nil
    }
  }

  /// Nil, with a log line, if the files of sealed passwords cannot be used.
  @discardableResult
  private func withFiles<Result>(of user: SystemUser, _ act: () throws(FileError) -> Result) -> Result? {
    do throws(FileError) { return try act() } catch {
      log(LOG_ERR, "keyring \(LogField.text("user", user.name.text)): \(error.explanation)")
      return nil
    }
  }

  /// The name that the file is sealed for: a file that was copied to another user's name cannot be opened.
  private static func name(_ user: SystemUser) -> String { "iampass-keyring-\(user.uid)" }

  private func request(_ socket: Int32) -> KeyringRequest? {
    let end = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: KeyringRequest.greatestLength)
    defer {
      bytes.withUnsafeMutableBytes { if let base = $0.baseAddress { explicit_bzero(base, $0.count) } }
      chunk.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) }
    }
    while bytes.count <= KeyringRequest.greatestLength {
      let left = end.milliseconds(since: .now())
      var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&entry, 1, Int32(clamping: left)) > 0 else { return nil }
      // SAFETY: recv writes at most the chunk's size and returns the number of bytes.
      let received = chunk.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
      guard received >= 0 else { return nil }
      if received == 0 { return KeyringRequest(decoding: bytes) }
      bytes += chunk[..<received]
    }
    return nil
  }
}
