import DeviceProtocol
import IAMPASSProtocol

/// One registration of this phone: a user of an application at a service. A phone may have several.
public struct PhoneAccount: Sendable {
  public let server: ServerURL
  /// The phone's id at this service.
  public let device: String
  /// Each account has a key of its own, so that services cannot find out that two accounts are on one phone.
  public let key: any PhoneKey
  /// The key for approvals without a network; nil if the phone has none.
  public let agreementKey: (any PhoneAgreementKey)?
  /// The application's name, for people. It comes from outside: sanitize it before showing it.
  public let application: String
  /// The application's name for the user. It comes from outside, too.
  public let user: String
  /// The authority's certificates from the registration, in PEM; nil: the system's authorities.
  public let authority: String?
  /// The memory of the documents that this phone was shown as an administrator's phone.
  public var documents: DocumentMemory

  public init(
    server: ServerURL, device: String, key: any PhoneKey, agreementKey: (any PhoneAgreementKey)? = nil,
    application: String, user: String, authority: String?, documents: DocumentMemory = DocumentMemory()
  ) {
    self.server = server
    self.device = device
    self.key = key
    self.agreementKey = agreementKey
    self.application = application
    self.user = user
    self.authority = authority
    self.documents = documents
  }

  /// Six words. A person compares them with the words that a computer shows, before the computer trusts this phone.
  ///
  /// - Parameter credential: the credential for the method `device`, if this phone has one.
  public func words(credential: PhoneKeys.Credential? = nil) throws(PhoneError) -> String {
    let text = try keyed { () throws(DeviceKeyError) in try key.publicKeyText }
    return PhoneKeys(publicKey: text, credential: credential).words
  }
}

extension PhoneAccount {
  /// JSON that contains the private keys. Keep it where nobody else can read it.
  ///
  /// - Parameters:
  ///   - key: ``key``, whose private part can be read.
  ///   - agreementKey: ``agreementKey``, likewise.
  public func encoded(with key: DeviceKey, agreementKey: DeviceKey? = nil) throws(DeviceKeyError) -> [UInt8] {
    let agreement = try agreementKey.map { (key) throws(DeviceKeyError) in try key.exported().exposedValue }
    return JSON.object([
      "server": .string(server.description), "device": .string(device),
      "private_key": .string(try key.exported().exposedValue),
      "agreement_private_key": agreement.map { .string($0) }, "application": .string(application),
      "user": .string(user), "ca": authority.map { .string($0) },
      "documents": documents == DocumentMemory() ? nil : documents.json,
    ]).encoded()
  }

  /// Reads an account that ``encoded(with:agreementKey:)`` wrote; nil for any other text.
  public init?(parsing text: [UInt8]) {
    guard let json = try? JSON(parsing: text), let server = json["server"]?.string.flatMap({ try? ServerURL($0) }),
      let device = json["device"]?.string, let exported = json["private_key"]?.string,
      let key = try? DeviceKey(exported: Secret(exported))
    else { return nil }
    var agreementKey: DeviceKey?
    if let exported = json["agreement_private_key"]?.string {
      guard let read = try? DeviceKey(exported: Secret(exported)) else { return nil }
      agreementKey = read
    }
    // A phone without its memory would accept older documents.
    let documents = json["documents"].map(DocumentMemory.init) ?? DocumentMemory()
    guard let documents else { return nil }
    self.init(
      server: server, device: device, key: key, agreementKey: agreementKey,
      application: json["application"]?.string ?? "",
      user: json["user"]?.string ?? "user", authority: json["ca"]?.string, documents: documents)
  }
}
