import IAMPASSProtocol

// Pages of an application's groups of users.

extension Console {
  func groupsPage(of application: String, _ visitor: Visitor) async throws -> ServiceReply {
    let after = call.target.value("after") ?? ""
    guard let found = try await storage.groups(of: application, after: after, matching: query("q")) else {
      return refusal(.unknownApplication)
    }
    let path = "/application/\(application)/groups"
    var table = ConsoleTable(["Group", "Users", "Computers", "Join codes"])
    for one in found.groups {
      table.add([groupLink(one.name, of: application), "\(one.users)", "\(one.computers)", "\(one.codes)"])
    }
    let more: HTML =
      found.further.map {
        "<p><a href=\"\(next(path, keeping: ["q"], [("after", $0)]))\">More groups</a></p>"
      } ?? .nothing
    let content: HTML = """
      <p class="soft">Groups of <a href="\(base)/application/\(application)">\(found.application)</a></p>
      \(searchForm(path, [("q", "Group", "search")]))
      <section aria-labelledby="title">
      \(table.html(none: after.isEmpty && query("q").isEmpty ? "No groups yet." : "No more groups."))
      \(more)
      </section>
      <p class="soft">A computer of a group has the users of this group only; a computer without a group has all. A user
      gets groups on the page of the application, or by <code>iampassctl user add</code>.</p>
      """
    return show("Groups", content, visitor: visitor)
  }

  func groupPage(of application: String, _ visitor: Visitor) async throws -> ServiceReply {
    let (name, after) = (call.target.value("name") ?? "", call.target.value("after") ?? "")
    guard let found = try await storage.group(name, of: application, usersAfter: after) else {
      return refusal(.notFound)
    }
    let path = "/application/\(application)"
    var table = ConsoleTable(["User", "Groups", "Phone", "Registered", "Last use"])
    for user in found.users { table.add(row(of: user, in: application)) }
    let more: HTML =
      found.further.map {
        "<p><a href=\"\(next(path + "/group", keeping: ["name"], [("after", $0)]))\">More users</a></p>"
      } ?? .nothing
    let group = found.group
    let content: HTML = """
      <p class="soft">Group of <a href="\(base + path)">\(found.application)</a>: \(group.users) users,
      <a href="\(base)/joins?q=\(PercentEncoding.encode(name))">\(group.computers) computers</a>, \(group.codes) join codes.</p>
      <section aria-labelledby="users">
      <h2 id="users">Users</h2>
      \(table.html(none: group.users == 0 ? "No user has this group." : "No more users."))
      \(more)
      </section>
      <p><a href="\(base + path)/groups">All groups</a></p>
      """
    return show("Group \(name)", content, visitor: visitor)
  }

  /// A row of a table of users.
  func row(of user: UserSummary, in application: String) -> [HTML] {
    [
      "<a href=\"\(base)/application/\(application)/user/\(user.id)\">\(user.known.html)</a>",
      groupLinks(user.groups, of: application),
      user.phone.map { "\($0)\(user.isAway ? " (away)" : "")" } ?? "<span class=\"soft\">none</span>",
      dated(user.registeredAt).map(\.html) ?? .nothing, dated(user.lastUsedAt).html(orElse: "never"),
    ]
  }

  /// - Parameter groups: names between spaces.
  func groupLinks(_ groups: String, of application: String) -> HTML {
    let links = groups.split(separator: " ").map { groupLink(String($0), of: application) }
    return links.dropFirst().reduce(links.first ?? .nothing) { "\($0), \($1)" }
  }

  /// The name is in the query: browsers would shorten a path with a group that is called `..`.
  func groupLink(_ name: String, of application: String) -> HTML {
    guard !name.isEmpty else { return .nothing }
    return "<a href=\"\(base)/application/\(application)/group?name=\(PercentEncoding.encode(name))\">\(name)</a>"
  }
}
