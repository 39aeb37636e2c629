import IAMPASSProtocol

// The console's changes. The browser has signed in, and has sent one of our forms.

extension Console {
  func act(_ route: ConsoleRoute, _ visitor: Visitor) async throws -> ServiceReply {
    switch route {
    case .leave: try await leave(visitor)
    case .applications: try await addApplication(visitor)
    case .applicationAct(let id, let act): try await perform(act, on: id, visitor)
    case .credentialAct(let application, let credential, let act):
      try await perform(act, on: credential, of: application, visitor)
    case .userAct(let application, let user, let act): try await perform(act, on: user, of: application, visitor)
    case .joins: try await addJoinCode(visitor)
    case .joinAct(let id, let act): try await perform(act, onJoin: id, visitor)
    case .endSession(let id): try await endSession(id)
    case .administrators: try await addAdministrator(visitor)
    case .signAdministrators: try await signAdministrators(visitor)
    case .administratorAct(let name, let act): try await perform(act, onAdministrator: name, visitor)
    case .style, .script, .overview, .enter, .signIn, .application, .groups, .group, .user, .joinCode, .sessions,
      .audit, .auditExport:
      refusal(.notFound)
    }
  }

  private func addApplication(_ visitor: Visitor) async throws -> ServiceReply {
    do {
      let application = try await storage.createApplication(
        named: trimmedField("name"), matchCodes: .on, at: now)
      return newApplicationPage(application, visitor)
    } catch let refusal as ApplicationRefusal {
      return try await applicationsPage(visitor, problem: refusal.explanation)
    }
  }

  private func perform(
    _ act: ConsoleRoute.ApplicationAct, on id: String, _ visitor: Visitor
  ) async throws -> ServiceReply {
    guard let application = try await storage.application(id) else { return refusal(.unknownApplication) }
    switch act {
    case .settings: return try await storeSettings(of: id, visitor)
    case .secret:
      let secret = try RandomValue.secret()
      guard let closed = try await storage.renewSecret(of: id, to: secret, at: now) else {
        return refusal(.unknownApplication)
      }
      core.announceEnd(of: closed)
      return newSecretPage(secret, of: application, visitor)
    case .disable, .enable:
      guard let closed = try await storage.setDisabled(act == .disable, of: id, at: now) else {
        return refusal(.unknownApplication)
      }
      core.announceEnd(of: closed)
      return redirect("/application/\(id)", done: act == .disable ? .disabled : .enabled)
    case .credentials: return try await addCredential(to: id, visitor)
    case .notifications: return try await changeNotifications(of: id, visitor)
    case .users: return try await listUser(of: id, visitor)
    case .sign: return try await signUsers(of: id, visitor)
    }
  }

  private func listUser(of id: String, _ visitor: Visitor) async throws -> ServiceReply {
    let groups = trimmedField("groups").split(separator: " ").map(String.init)
    let name = trimmedField("name")
    do {
      _ = try await storage.listUser(
        UserListOrder(application: id, name: name, groups: groups))
      core.board.changed(.userList(id))
      guard let code = try await storage.invitation(ofListed: name, of: id, isFurther: false, at: now) else {
        return redirect("/application/\(id)", done: .listed)
      }
      let link = publicAddress.route(["register", code.exposedValue])
      return linkPage(link, name: name, back: "/application/\(id)", visitor)
    } catch let refusal as UserListRefusal {
      return try await applicationPage(id, visitor, problem: refusal.explanation)
    }
  }

  private func addCredential(to id: String, _ visitor: Visitor) async throws -> ServiceReply {
    do {
      let made = try await storage.createHostCredential(
        named: trimmedField("name"), host: trimmedField("host"), of: id, at: now)
      return newCredentialPage(made, visitor)
    } catch let refusal as HostCredentialRefusal {
      return try await applicationPage(id, visitor, problem: refusal.explanation)
    }
  }

  private func storeSettings(of id: String, _ visitor: Visitor) async throws -> ServiceReply {
    guard let answerTime = field("answer_time").flatMap({ Int64($0) }),
      ApplicationSettings.answerTimes.contains(answerTime)
    else { return try await applicationPage(id, visitor, problem: "The time for an answer is out of range.") }
    guard let duration = field("greatest_duration").flatMap({ Int64($0) }),
      SessionLifecycle.durations.contains(duration)
    else { return try await applicationPage(id, visitor, problem: "The length of a session is out of range.") }
    let hook = trimmedField("hook")
    if let problem = RegistrationHook.problem(with: hook, in: management.programs) {
      return try await applicationPage(id, visitor, problem: problem)
    }
    let walkaway = field("walkaway") == "on"
    let silenceLeaves = field("silence") == "on"
    let appsVouchForFaces = field("face") == "on"
    guard let matchCodes = field("match_code").flatMap(MatchCodes.init(rawValue:)) else {
      return try await applicationPage(id, visitor, problem: "Match codes must be off, on or required.")
    }
    // A form of a page that was opened before an upgrade does not have this and the next one.
    let phones = field("phones").flatMap { Int64($0) }
    guard phones.map(ApplicationSettings.phoneCounts.contains) ?? true else {
      return try await applicationPage(id, visitor, problem: "A user has one phone or two.")
    }
    let synced = field("synced_passkeys").map(SyncedPasskeys.init(rawValue:))
    guard synced.map({ $0 != nil }) ?? true else {
      return try await applicationPage(id, visitor, problem: "Synced passkeys must be accepted or refused.")
    }
    try await storage.changeSettings(of: id) { settings in
      if let phones { settings.phones = phones }
      if let synced { settings.acceptsSyncedPasskeys = synced == .accepted }
      settings.walkaway = walkaway
      settings.silenceLeaves = silenceLeaves
      settings.appsVouchForFaces = appsVouchForFaces
      settings.matchCodes = matchCodes
      settings.answerTime = answerTime
      settings.greatestDuration = duration
      settings.hook = hook
    }
    return redirect("/application/\(id)", done: .settings)
  }

  private func perform(
    _ act: ConsoleRoute.CredentialAct, on id: String, of application: String, _ visitor: Visitor
  ) async throws -> ServiceReply {
    guard try await storage.hostCredential(id, of: application) != nil else {
      return refusal(.unknownCredential)
    }
    switch act {
    case .rename:
      let name = trimmedField("name")
      guard HostCredential.isFit(name) else {
        return try await applicationPage(application, visitor, problem: HostCredentialRefusal.nameNotFit.explanation)
      }
      guard let isDone = try await storage.renameCredential(id, of: application, to: name) else {
        return refusal(.unknownCredential)
      }
      guard isDone else {
        return try await applicationPage(application, visitor, problem: HostCredentialRefusal.nameTaken.explanation)
      }
      return redirect("/application/\(application)", done: .renamed)
    case .revoke:
      guard let closed = try await storage.revokeCredential(id, of: application, at: now) else {
        return refusal(.unknownCredential)
      }
      core.announceEnd(of: closed)
      return redirect("/application/\(application)", done: .revoked)
    case .settle: return try await settleComputer(id, of: application, visitor)
    }
  }

  private func perform(
    _ act: ConsoleRoute.UserAct, on id: Int64, of application: String, _ visitor: Visitor
  ) async throws -> ServiceReply {
    guard let found = try await storage.managed(id, of: application) else { return refusal(.unknownUser) }
    switch act {
    case .delete:
      core.announceEnd(of: try await storage.deleteUsers([found.user.name], of: application, at: now))
      core.board.changed(.user(id))
      core.board.changed(.userList(application))
      return redirect("/application/\(application)", done: .deleted)
    case .unblock:
      guard try await storage.liftBlocks(of: id, of: application, at: now) != nil else { return refusal(.unknownUser) }
      return redirect("/application/\(application)/user/\(id)", done: .unblocked)
    case .link, .lost:
      let name = act == .lost ? found.phone?.displayName ?? KnownUser.nobodysName : trimmedField("display_name")
      guard
        let link = try await management.links.make(
          for: found.user.name, of: application, displayName: name.isEmpty ? KnownUser.nobodysName : name,
          losing: act == .lost ? phoneLoss : nil, phone: field("phone").flatMap { $0.isEmpty ? nil : $0 },
          at: publicAddress)
      else { return refusal(.unknownUser) }
      return linkPage(link.url, name: name, back: "/application/\(application)/user/\(id)", visitor)
    }
  }

  /// As in `iampassctl lost-device`: a finder of the phone may have approved sessions.
  private var phoneLoss: PhoneLoss { field("keep_sessions") == "on" ? .keepsSessions : .endsSessions(but: []) }

  private func endSession(_ id: String) async throws -> ServiceReply {
    guard let session = try await storage.session(id) else {
      return refusal(.unknownSession)
    }
    _ = try await sessions.logOut(session.id)
    return redirect("/sessions", done: .ended)
  }

  /// Without the spaces around it, which are mistakes.
  func trimmedField(_ name: String) -> String { String((field(name) ?? "")[...].trimming(" \t")) }
}

extension ApplicationRefusal {
  fileprivate var explanation: String {
    switch self {
    case .nameUnknown: "It no longer exists."
    case .nameTaken: "An application with this name already exists."
    case .nameNotFit: "A name must have 1 to 100 characters, without control characters."
    }
  }
}

extension UserListRefusal {
  fileprivate var explanation: String {
    switch self {
    case .unknownApplication, .unknownUser, .badToken: "It no longer exists."
    case .nameNotFit: "A Unix user name has letters, digits, points, hyphens and underscores, and is not root."
    case .groupNotFit: "A group's name has letters, digits, points, hyphens and underscores."
    }
  }
}

extension HostCredentialRefusal {
  fileprivate var explanation: String {
    switch self {
    case .unknownApplication, .unknownCredential: "It no longer exists."
    case .nameTaken: "A credential with this name already exists."
    case .nameNotFit: "A name must have 1 to 100 characters, without control characters."
    case .hostNotFit: "A host must have 1 to 100 characters, without control characters."
    }
  }
}
