import HostState
import IAMPASSProtocol

/// The `Defaults` of sudoers(5) that decide which PAM service sudo uses, and whose password it asks for.
public struct SudoersSettings: Sendable, Equatable {
  /// One option of a `Defaults` entry.
  struct Setting: Equatable {
    let name: String
    let value: JSON
    /// Users, hosts or commands that the entry is for, as sudoers writes them; nil for an entry that always holds.
    let bound: String?
  }

  /// A PAM service that sudo uses.
  public struct Service: Sendable, Equatable {
    public let name: String
    /// The option that names it, such as `pam_service`.
    public let option: String
    /// Users, hosts or commands that the option is for; nil: it always replaces the usual service.
    public let bound: String?
  }

  /// The options that name services, each with the service that sudo uses without it.
  private static let usualServices = [
    (option: "pam_service", usual: "sudo"), (option: "pam_login_service", usual: "sudo-i"),
    (option: "pam_askpass_service", usual: "sudo"),
  ]
  /// Options by which sudo asks for another user's password.
  private static let othersPasswords = ["targetpw", "rootpw", "runaspw"]
  /// The most users, hosts or commands of an entry that are shown.
  private static let greatestNamed = 3

  private let settings: [Setting]

  /// - Parameter output: the output of `cvtsudoers -f json`. It may have messages before and after the JSON. It is
  ///   empty without entries.
  /// - Returns: nil if it has no valid JSON.
  public init?(_ output: String) {
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    guard let first = lines.firstIndex(of: "{") else {
      guard lines.allSatisfy({ $0.hasPrefix("cvtsudoers: ") || $0.isEmpty }) else { return nil }
      settings = []
      return
    }
    guard let last = lines.lastIndex(of: "}"), first < last,
      let json = try? JSON(parsing: Array(lines[first...last].joined(separator: "\n").utf8))
    else { return nil }
    settings = (json["Defaults"]?.array ?? []).flatMap(Self.settings)
  }

  private static func settings(_ entry: JSON) -> [Setting] {
    let bound = entry["Binding"]?.array.map { items in
      let names = items.map(Self.bound)
      return names.prefix(greatestNamed).joined(separator: ", ") + (names.count > greatestNamed ? ", …" : "")
    }
    return (entry["Options"]?.array ?? []).flatMap { option -> [Setting] in
      guard case .object(let members) = option else { return [] }
      return members.map { Setting(name: $0.name, value: $0.value, bound: bound) }
    }
  }

  private static func bound(_ item: JSON) -> String {
    guard case .object(let members) = item else { return "?" }
    let isNegated = item["negated"]?.bool == true
    return (isNegated ? "!" : "") + (members.first { $0.name != "negated" }?.value.string ?? "?")
  }

  /// The services other than sudo's usual ones, each once.
  public var services: [Service] {
    var found: [Service] = []
    for (option, usual) in Self.usualServices {
      let named = settings.filter { $0.name == option }
      // The last entry that always holds replaces those before it.
      let always = named.last { $0.bound == nil }
      for setting in named where setting.bound != nil || setting == always {
        guard let name = setting.value.string, name != usual, !name.isEmpty else { continue }
        let service = Service(name: name, option: option, bound: setting.bound)
        if !found.contains(service) { found.append(service) }
      }
    }
    return found
  }

  /// The option that makes sudo use the service; nil if there is none.
  public func option(naming service: String) -> String? { services.first { $0.name == service }?.option }

  /// - Parameters:
  ///   - listed: the services in `services`.
  ///   - opensSession: gives whether a service counts as one that opens a login session.
  ///   - isThere: gives whether a service has a PAM file.
  public func findings(listed: [String], opensSession: (String) -> Bool, isThere: (String) -> Bool) -> [Finding] {
    let asked = services.filter { isThere($0.name) || $0.bound == nil }
    let isListed = (["sudo", "sudo-i"] + asked.map(\.name)).contains { listed.contains($0) }
    guard isListed else { return [] }
    return asked.compactMap { service in
      let usual = Self.usualServices.first { $0.option == service.option }?.usual ?? "sudo"
      if listed.contains(service.name) { return opensSession(service.name) ? misjudged(service) : nil }
      return listed.contains(usual) ? unlisted(service, needsRow: opensSession(service.name)) : nil
    } + otherFindings
  }

  private func unlisted(_ service: Service, needsRow: Bool) -> Finding {
    // The other options are for some calls only.
    let isEach = service.bound == nil && service.option == "pam_service"
    return Finding(
      isEach ? .problem : .warning, .pam, "sudo: \(said(service)), which is not in services: the phone is not asked",
      hint: (needsRow ? ServiceProposal.row(for: service.name) + ", and " : "") + "add \(service.name) to services")
  }

  private func misjudged(_ service: Service) -> Finding {
    let isOthers = ServiceTable.row(service.name) != nil
    return Finding(
      .problem, .pam,
      "sudo: \(said(service)), which counts as a service that opens a login session, and sudo opens none",
      hint: isOthers ? "give sudo a service of its own: visudo" : ServiceProposal.row(for: service.name))
  }

  private func said(_ service: Service) -> String {
    "\(service.option) is \(service.name)" + (service.bound.map { " for \($0)" } ?? "")
  }

  /// Findings about options that change whose password sudo asks for, and how.
  private var otherFindings: [Finding] {
    let strangers = [inForce("pam_rhost", true), inForce("pam_ruser", false)].compactMap(\.self).map {
      Finding(
        .warning, .pam,
        "sudo: \($0): the phone rings only after Enter, since sudo does not say that its user is at the terminal",
        hint: "take it out of sudoers: visudo")
    }
    let others = Self.othersPasswords.compactMap { inForce($0, true) }.map {
      Finding(.ok, .pam, "sudo: \($0): not the caller's phone is asked, but that of the user whose password sudo takes")
    }
    return strangers + others
  }

  /// The option as sudoers writes it, if it has this value always or for some calls.
  private func inForce(_ name: String, _ value: Bool) -> String? {
    let set = settings.filter { $0.name == name }
    let always = set.last { $0.bound == nil }
    let holding = set.filter { $0.bound != nil || $0 == always }
    guard let found = holding.first(where: { $0.value.bool == value }) else { return nil }
    return (value ? "" : "!") + name + " is set" + (found.bound.map { " for \($0)" } ?? "")
  }
}
