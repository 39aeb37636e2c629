import DeviceProtocol
import IAMPASSProtocol
import WorkerLink

/// Registers this phone by a link.
public struct PhoneRegistration {
  public let link: RegistrationLink
  private let authority: String?
  private let transport: any HTTPTransport
  private let service: PhoneService

  /// - Parameters:
  ///   - transport: the transport to the link's service.
  ///   - authority: the certificates in PEM that the transport trusts instead of the system's. The account keeps them.
  public init(link: RegistrationLink, transport: any HTTPTransport, authority: String? = nil) {
    self.link = link
    self.transport = transport
    self.authority = authority
    service = PhoneService(server: link.server, transport: transport)
  }

  /// The link's user and application. Show them before the phone registers. The link stays unused.
  public func look() throws(PhoneError) -> LinkReply {
    let body = try service.get(["register", link.code.exposedValue])
    return try understood { () throws(MessageError) in try LinkReply(parsing: body) }
  }

  /// Uses up the link, and stores the new account.
  ///
  /// - Parameters:
  ///   - authenticator: nil: the phone proves `acceptance` only. If its user declines, nothing is registered.
  ///   - way: how the service rings this phone; nil: it does not.
  ///   - name: the user's name for this phone, which distinguishes it from the user's other phones; nil: the service
  ///     chooses one.
  /// - Throws: ``PhoneError``, and what `storage` and `authenticator` throw.
  public func register(
    in storage: some PhoneStorage, authenticator: (any PhoneAuthenticator)? = nil, push way: PushWay? = nil,
    name: String? = nil
  ) throws -> RegisteredPhone {
    let account = try storage.add { try registered(in: storage, authenticator, way, name) }
    return RegisteredPhone(account: account, transport: transport)
  }

  private func registered(
    in storage: some PhoneStorage, _ authenticator: (any PhoneAuthenticator)?, _ way: PushWay?, _ name: String?
  ) throws -> PhoneAccount {
    let key = try storage.makeKey()
    let agreementKey = try storage.makeAgreementKey()
    let publicKey = try keyed { () throws(DeviceKeyError) in try key.publicKeyText }
    let credential = try authenticator.map { (authenticator) in
      let challenge = CredentialChallenge.bytes(for: link.code, publicKey: publicKey)
      guard let made = try authenticator.makeCredential(challenge: challenge, origin: link.server.origin) else {
        throw PhoneError.methodNotSupported
      }
      return made
    }
    let keys = PhoneKeys(publicKey: publicKey, credential: credential.map(PhoneKeys.Credential.init))
    let request = RegisterRequest(
      code: link.code, publicKey: publicKey, credential: credential, pinMAC: link.pin(of: keys), way: way,
      name: name)
    let body = try posted(request.encoded())
    let reply = try understood { () throws(MessageError) in try RegisterReply(parsing: body) }
    return PhoneAccount(
      server: link.server, device: reply.device, key: key, agreementKey: agreementKey,
      application: reply.application, user: reply.user, authority: authority)
  }

  /// Sends the registration, and once more if its reply was lost: the service repeats it for the same keys.
  private func posted(_ body: [UInt8]) throws(PhoneError) -> [UInt8] {
    do throws(PhoneError) {
      return try service.post(DeviceRoute.register, body)
    } catch {
      guard error.isPassing else { throw error }
      return try service.post(DeviceRoute.register, body)
    }
  }
}

extension PhoneKeys.Credential {
  init(_ made: UnverifiedCredential) { self.init(id: Base64URL.encode(made.id), publicKey: made.publicKey) }
}
