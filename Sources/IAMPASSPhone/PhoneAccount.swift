import DeviceProtocol
import IAMPASSProtocol

/// One registration of this phone: a user of an application at a service. A phone may have several.
public struct PhoneAccount: Sendable {
  public let server: ServerURL
  /// The phone's id at this service.
  public let device: String
  /// Each account has a key of its own, so that services cannot find out that two accounts are on one phone.
  public let key: any PhoneKey
  /// The application's name, for people. It comes from outside: sanitize it before showing it.
  public let application: String
  /// The application's name for the user. It comes from outside, too.
  public let user: String
  /// The authority's certificates from the registration, in PEM; nil: the system's authorities.
  public let authority: String?

  public init(
    server: ServerURL, device: String, key: any PhoneKey, application: String, user: String, authority: String?
  ) {
    self.server = server
    self.device = device
    self.key = key
    self.application = application
    self.user = user
    self.authority = authority
  }

  /// Six words that a person compares with those that a computer shows, before they trust this phone there.
  ///
  /// - Parameter credential: the credential for the method `device`, if this phone has one.
  public func words(credential: PhoneKeys.Credential? = nil) throws(PhoneError) -> String {
    let text = try keyed { () throws(DeviceKeyError) in try key.publicKeyText }
    return PhoneKeys(publicKey: text, credential: credential).words
  }
}

extension PhoneAccount {
  /// JSON with the private key in it: for a place that nobody else can read.
  ///
  /// - Parameter key: ``key``, whose private part can be read.
  public func encoded(with key: DeviceKey) throws(DeviceKeyError) -> [UInt8] {
    JSON.object([
      "server": .string(server.description), "device": .string(device),
      "private_key": .string(try key.exported().exposedValue), "application": .string(application),
      "user": .string(user), "ca": authority.map { .string($0) },
    ]).encoded()
  }

  /// An account as ``encoded(with:)`` wrote it; nil for any other text.
  public init?(parsing text: [UInt8]) {
    guard let json = try? JSON(parsing: text), let server = json["server"]?.string.flatMap({ try? ServerURL($0) }),
      let device = json["device"]?.string, let exported = json["private_key"]?.string,
      let key = try? DeviceKey(exported: Secret(exported))
    else { return nil }
    self.init(
      server: server, device: device, key: key, application: json["application"]?.string ?? "",
      user: json["user"]?.string ?? "user", authority: json["ca"]?.string)
  }
}
