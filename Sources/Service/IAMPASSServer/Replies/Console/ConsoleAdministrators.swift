import IAMPASSProtocol

// The administrators and their roles.

extension Console {
  func administratorsPage(_ visitor: Visitor, problem: String? = nil) async throws -> ServiceReply {
    // They are read before the shown data, so that a change in between is noticed.
    var marks: [String: String] = [:]
    for one in try await storage.administrators() {
      marks[one.name] = try await storage.state(of: .administrator(one.name))
    }
    let all = try await storage.administrators()
    var table = ConsoleTable(["Name", "Role", "Phone", ""])
    for one in all {
      let path = "/administrators/\(PercentEncoding.encode(one.name))"
      // An administrator who was added in between has no mark yet: their forms are refused.
      let seen = marks[one.name] ?? ""
      table.add([
        "\(one.name)", "\(one.role.rawValue)", one.phone.map { "\($0)" } ?? "<span class=\"soft\">none</span>",
        HTML([
          unfolding(
            "Change the role", path + "/role", visitor, seen: seen,
            """
            <label>Role of \(one.name) <select name="role">\(choices(of: one.role))</select></label>
            <button>Change the role</button>
            """),
          one.phone == nil
            ? form(
              path + "/link", visitor, seen: seen, "<button class=\"quiet\">Link for a phone of \(one.name)</button>")
            : .nothing,
          careful(
            "Lost phone", path + "/lost", visitor,
            "The phone stops working, and the browsers that it signed in are signed out. A link for a new phone is shown.",
            seen: seen, button: "Cut off the phone of \(one.name)"),
          careful(
            "Remove", path + "/remove", visitor, "The phone stops working, and the browsers that it signed in.",
            seen: seen, button: "Remove \(one.name)"),
        ]),
      ])
    }
    let signing = try await administratorSigningSection(visitor)
    let content: HTML = """
      <section aria-labelledby="title">
      \(table.html(none: "No administrators yet: browsers come in by one-time links alone."))
      </section>
      \(signing)
      \(addAdministratorSection(visitor))
      """
    return show("Administrators", content, visitor: visitor, status: problem == nil ? 200 : 409, problem: problem)
  }

  private func choices(of chosen: AdministratorRole) -> [HTML] {
    AdministratorRole.allCases.map { role in
      "<option value=\"\(role.rawValue)\"\(role == chosen ? " selected" : "")>\(role.rawValue)</option>"
    }
  }

  private func addAdministratorSection(_ visitor: Visitor) -> HTML {
    guard visitor.may("/administrators") else { return .nothing }
    return """
      <section aria-labelledby="add">
      <h2 id="add">Add an administrator</h2>
      \(form("/administrators", visitor, """
        <label>Name <small>As it is typed to sign in.</small>
        <input type="text" name="name" required maxlength="100" autocomplete="off" spellcheck="false"></label>
        <label>Role <small>An auditor reads. Helpdesk also cares for users' phones, links and sessions. An admin may do
        everything.</small>
        <select name="role">\(choices(of: .auditor))</select></label>
        <button>Add, and show a link for the phone</button>
        """))
      </section>
      """
  }

  func addAdministrator(_ visitor: Visitor) async throws -> ServiceReply {
    guard let role = field("role").flatMap(AdministratorRole.init(rawValue:)) else { return refusal(.badRequest) }
    let name = trimmedField("name")
    let change = try await storage.addAdministrator(name, role: role, at: now)
    guard change == .done else { return try await administratorsPage(visitor, problem: change.explanation) }
    return try await administratorLink(name, isLost: false, visitor)
  }

  func perform(
    _ act: ConsoleRoute.AdministratorAct, onAdministrator name: String, _ visitor: Visitor
  ) async throws -> ServiceReply {
    let change: AdministratorChange
    switch act {
    case .link, .lost: return try await administratorLink(name, isLost: act == .lost, visitor)
    case .role:
      guard let role = field("role").flatMap(AdministratorRole.init(rawValue:)) else {
        return refusal(.badRequest)
      }
      change = try await storage.setAdministrator(name, role: role, keepsOne: true, at: now)
    case .remove: change = try await storage.removeAdministrator(name, keepsOne: true, at: now)
    }
    guard change == .done else { return try await administratorsPage(visitor, problem: change.explanation) }
    // This wakes the phone, and requests that wait for its sessions.
    core.board.changedAll()
    return redirect("/administrators", done: act == .role ? .role : .removed)
  }

  private func administratorLink(_ name: String, isLost: Bool, _ visitor: Visitor) async throws -> ServiceReply {
    switch try await storage.invitation(ofAdministrator: name, isLost: isLost, at: now) {
    case .unknown: return refusal(.unknownUser)
    case .hasPhone: return try await administratorsPage(visitor, problem: "\(name) has a phone already.")
    case .code(let code):
      if isLost { core.board.changedAll() }
      let link = publicAddress.route(["register", code.exposedValue])
      return linkPage(link, name: name, back: "/administrators", pins: false, visitor)
    }
  }
}

extension AdministratorChange {
  fileprivate var explanation: String {
    switch self {
    case .done: ""
    case .nameNotFit: "A name must have 1 to 100 characters, without control characters."
    case .nameTaken: "An administrator with this name already exists."
    case .unknown: "There is no such administrator any more."
    case .lastAdmin: "This is the only admin. Make another one first."
    }
  }
}
