import IAMPASSProtocol

/// What an application manages: its users and their phones.
struct ManagementReplies: Sendable {
  let core: ServiceCore
  /// The folder of the programs that may send registration links.
  let programs: String

  var links: RegistrationLinks { RegistrationLinks(core: core) }
  private var storage: any ServiceStorage { core.storage }

  func reply(
    to route: ManagementRoute, of application: KnownApplication, _ call: Call, _ client: VerifiedClient
  ) async throws -> ServiceReply {
    switch route {
    case .addUsers: try await addUsers(to: application, call)
    case .deleteUsers: try await deleteUsers(of: application, call)
    case .registrationLink(let user): try await makeLink(for: user, of: application, call, client)
    case .hasDevice(let user): try await hasDevice(user, of: application)
    case .lostDevice(let user): try await loseDevice(of: user, of: application, call, client)
    case .registrationMessage(let user): try await sendMessage(to: user, of: application, call)
    case .phones(let user): try await phones(of: user, of: application)
    }
  }

  private func addUsers(to application: KnownApplication, _ call: Call) async throws -> ServiceReply {
    guard let request = try? AddUsersRequest(parsing: call.request.body) else { return .refused(.badRequest) }
    let users = request.users
    guard !users.isEmpty else { return .refused(.noUsers) }
    guard users.allSatisfy(User.isFit) else { return .refused(.badUserID) }
    // Each user once, compared by bytes as the database does.
    var seen: Set<[UInt8]> = []
    let names = users.filter { seen.insert(Array($0.utf8)).inserted }
    guard request.names.allSatisfy({ seen.contains(Array($0.user.utf8)) }) else { return .refused(.nameWithoutUser) }
    guard request.names.allSatisfy(\.isFit) else { return .refused(.badDisplayName) }
    let called = Dictionary(request.names.map { (Array($0.user.utf8), $0) }, uniquingKeysWith: { $1 })
    var (created, existing): ([String], [String]) = ([], [])
    for portion in UserPortions(names) {
      let theirs = portion.compactMap { called[Array($0.utf8)] }
      let added = try await storage.addUsers(portion, called: theirs, to: application.id)
      created += added.created
      existing += added.existing
    }
    return ServiceReply(201, AddUsersReply(created: created, existing: existing).encoded())
  }

  /// Deletes users. An unknown user is not an error, because a repeated call must succeed.
  private func deleteUsers(of application: KnownApplication, _ call: Call) async throws -> ServiceReply {
    guard let users = try? UsersRequest(parsing: call.request.body).users else { return .refused(.badRequest) }
    guard !users.isEmpty else { return .refused(.noUsers) }
    // This is done even if a later portion fails.
    defer { core.board.changed(.userList(application.id)) }
    for portion in UserPortions(users) {
      core.announceEnd(of: try await storage.deleteUsers(portion, of: application.id, at: core.clock()))
    }
    return .done
  }

  private func hasDevice(_ name: String, of application: KnownApplication) async throws -> ServiceReply {
    guard let user = try await storage.user(name, of: application.id) else { return .refused(.unknownUser) }
    return ServiceReply(200, DeviceRegisteredReply(isRegistered: !user.phones.isEmpty).encoded())
  }

  private func phones(of name: String, of application: KnownApplication) async throws -> ServiceReply {
    guard let user = try await storage.user(name, of: application.id) else { return .refused(.unknownUser) }
    let phones = user.phones.map { $0.phone.keys(with: $0.credential, storage.clock) }
    let settings = try await storage.settings(of: application.id)
    return ServiceReply(200, UserPhonesReply(phones: phones, greatestCount: settings.phones).encoded())
  }

  private func makeLink(
    for name: String, of application: KnownApplication, _ call: Call, _ client: VerifiedClient
  ) async throws -> ServiceReply {
    guard let isSealed = call.wantsSealedLink else { return .refused(.badRequest) }
    let made = try await links.make(
      for: name, of: application.id, displayName: call.displayName, at: call.address.url)
    return try made.map { try linkReply($0, sealedFor: isSealed ? client : nil) } ?? .refused(.unknownUser)
  }

  private func loseDevice(
    of name: String, of application: KnownApplication, _ call: Call, _ client: VerifiedClient
  ) async throws -> ServiceReply {
    guard let isSealed = call.wantsSealedLink else { return .refused(.badRequest) }
    let loss: PhoneLoss
    switch LostDeviceSessions.asked(in: call.target.query) {
    case .no: loss = .keepsSessions
    case .yes(let sessions): loss = .endsSessions(but: Set(sessions.kept))
    case .unclear: return .refused(.badRequest)
    }
    let made = try await links.make(
      for: name, of: application.id, displayName: call.displayName, losing: loss, phone: call.lostPhone,
      at: call.address.url)
    if let made { return try linkReply(made, sealedFor: isSealed ? client : nil) }
    let user = call.lostPhone == nil ? nil : try await storage.user(name, of: application.id)
    return .refused(user == nil ? .unknownUser : .unknownDevice, as: 404)
  }

  /// Lets the administrator's program send the link, which is the last word of the message.
  private func sendMessage(to name: String, of application: KnownApplication, _ call: Call) async throws -> ServiceReply
  {
    guard try await storage.user(name, of: application.id) != nil else { return .refused(.unknownUser) }
    let settings = try await storage.settings(of: application.id)
    guard !settings.hook.isEmpty else { return .refused(.noTextMessages) }
    // The program is checked again, because the setting may be old.
    if let problem = RegistrationHook.problem(with: settings.hook, in: programs) {
      core.logger.warning(
        "no registration link was sent", metadata: ["file": "\(settings.hook)", "problem": "\(problem)"])
      return .refused(.messageNotSent)
    }
    guard let request = try? RegistrationMessageRequest(parsing: call.request.body) else {
      return .refused(.badRequest)
    }
    guard RegistrationHook.isNumber(request.phoneNumber) else { return .refused(.badPhoneNumber) }
    let words = request.message ?? "Register your phone for \(application.name):"
    guard words.utf8.count <= RegistrationHook.greatestMessage else { return .refused(.badRequest) }
    guard
      let link = try await links.make(
        for: name, of: application.id, displayName: request.displayName ?? "", at: call.address.url)
    else { return .refused(.unknownUser) }
    let isSent = await RegistrationHook.run(
      settings.hook, number: request.phoneNumber, message: words + " " + link.url)
    if !isSent {
      core.logger.warning("the program that sends registration links failed", metadata: ["file": "\(settings.hook)"])
    }
    return isSent ? .done : .refused(.messageNotSent)
  }

  private func linkReply(_ link: RegistrationLinks.Made, sealedFor client: VerifiedClient?) throws -> ServiceReply {
    guard let client else {
      let reply = RegistrationLinkReply(registerURL: link.url)
      return ServiceReply(200, reply.encoded(endedSessions: link.endedSessions))
    }
    let seal = LinkSeal(secret: client.replySecret, nonce: client.nonce)
    let text = seal.sealed(link.url, salt: try RandomValue.bytes(LinkSeal.saltLength))
    return ServiceReply(200, SealedLinkReply.sealed(text).encoded(endedSessions: link.endedSessions))
  }
}

extension Phone {
  /// - Parameter clock: the clock for times that computers show.
  fileprivate func keys(with credential: VerifiedCredential?, _ clock: StorageClock) -> UserPhonesReply.Phone {
    UserPhonesReply.Phone(
      id: id, name: name.isEmpty ? displayName : name,
      keys: PhoneKeys(
        publicKey: publicKey, credential: credential.map { .init(id: $0.id, publicKey: $0.publicKey) }),
      pinMAC: pinMAC, since: clock.unixTime(of: registeredAt).seconds)
  }
}

extension Call {
  /// The user's name for the registration.
  fileprivate var displayName: String { target.value("display_name") ?? "" }

  /// The id of the lost phone; nil: all phones of the user.
  fileprivate var lostPhone: String? { target.value(LostDeviceSessions.phoneName) }

  /// Whether to seal the link; nil if the query's value is not valid.
  fileprivate var wantsSealedLink: Bool? {
    guard target.has(SealedLinkReply.query.name) else { return false }
    return target.value(SealedLinkReply.query.name) == SealedLinkReply.query.value ? true : nil
  }
}
