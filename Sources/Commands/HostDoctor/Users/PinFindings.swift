import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Findings about differences between pinned phones, users' tokens and the service, if approvals are verified.
package struct PinFindings: Sendable {
  /// One user with a token.
  package struct User: Sendable {
    package let name: String
    package let pinned: [PinnedPhone]
    /// The user's phones at the service; nil if it was not asked, or did not say.
    package let listed: [PhoneDigestsReply.Phone]?

    package init(name: String, pinned: [PinnedPhone], listed: [PhoneDigestsReply.Phone]?) {
      self.name = name
      self.pinned = pinned
      self.listed = listed
    }

    /// Whether no pinned phone has a known screen lock.
    fileprivate var isTappedOnly: Bool { !pinned.isEmpty && pinned.allSatisfy { $0.credential == nil } }

    /// Whether the service has none of the pinned phones, or has one with other keys. That phone cannot sign the user
    /// in.
    fileprivate var isReplaced: Bool {
      guard !pinned.isEmpty, let listed else { return false }
      return !pinned.contains { phone in listed.contains { $0.id == phone.id && $0.keysDigest == phone.keys.digest } }
    }

    /// Whether the service also asks a phone that is not pinned. Its approval does not count here.
    fileprivate var hasUnpinned: Bool {
      guard !pinned.isEmpty, !isReplaced, let listed else { return false }
      return !listed.allSatisfy { phone in pinned.contains { $0.id == phone.id && $0.keys.digest == phone.keysDigest } }
    }
  }

  package let users: [User]
  /// Whether these are all users who have a token.
  package let isWhole: Bool
  /// Names with a pinned phone, but without a token.
  package let withoutToken: [String]
  /// The methods that each service with the module asks for.
  package let asking: [(service: String, methods: [AuthenticationMethod])]

  package init(
    users: [User], isWhole: Bool = true, withoutToken: [String],
    asking: [(service: String, methods: [AuthenticationMethod])] = []
  ) {
    self.users = users
    self.isWhole = isWhole
    self.withoutToken = withoutToken
    self.asking = asking
  }

  package var findings: [Finding] {
    var findings: [Finding] = []
    func add(_ names: [String], _ text: String, hint: (String) -> String) {
      guard let first = names.first else { return }
      let list = UserFindings.list(names)
      findings.append(
        Finding(.warning, .users, "\(text): \(list)", hint: hint(DisplayText.sanitized(first, limit: 64))))
    }
    let without = users.filter { $0.pinned.isEmpty }
    add(without.map(\.name), "with a token, but without a pinned phone, so the phone is not asked") {
      "iampassctl phone trust \($0)"
    }
    add(
      users.filter(\.isReplaced).map(\.name),
      "the service does not have the pinned phone any more, or has it with other keys"
    ) {
      "iampassctl phone trust \($0), if they have a new phone or screen lock; otherwise take the service for broken into"
    }
    add(
      users.filter(\.hasUnpinned).map(\.name), "asked on a further phone that is not pinned, so it signs nobody in here"
    ) {
      "iampassctl phone trust \($0), or lost-device \($0) --phone NAME"
    }
    add(withoutToken, "with a pinned phone, but without a token") { "iampassctl phone forget \($0)" }
    if findings.isEmpty, !users.isEmpty, isWhole {
      let isAsked = users.allSatisfy { $0.listed != nil }
      findings.append(
        Finding(
          .ok, .users,
          "each user's phone is pinned"
            + (isAsked ? ", and the service has the same" : "; the service does not tell whether it has the same")))
    }
    return findings + unverifiable() + locks(users.filter(\.isTappedOnly).map(\.name))
  }

  /// Findings about services whose methods a signature cannot prove.
  private func unverifiable() -> [Finding] {
    let services = asking.filter { !$0.methods.isEmpty && !$0.methods.contains(where: Self.isVerifiable) }.map(
      \.service)
    guard !services.isEmpty else { return [] }
    return [
      Finding(
        .warning, .users,
        "\(Words.either(services)) asks for methods=facial, which a computer cannot verify, so no phone is asked",
        hint: "methods=device after pam_iampass.so")
    ]
  }

  private static func isVerifiable(_ method: AuthenticationMethod) -> Bool {
    switch method {
    case .acceptance, .device: true
    case .facial: false
    }
  }

  /// - Parameter tapped: users whose phones can prove only a tap.
  private func locks(_ tapped: [String]) -> [Finding] {
    guard let first = tapped.first else { return [] }
    let list = UserFindings.list(tapped)
    let next =
      "add the screen lock on the phone's page, then: iampassctl phone trust \(DisplayText.sanitized(first, limit: 64))"
    let strict = asking.filter { $0.methods.contains(.device) && !$0.methods.contains(.acceptance) }.map(\.service)
    var findings: [Finding] = []
    if !strict.isEmpty {
      findings.append(
        Finding(
          .warning, .users,
          "\(Words.either(strict)) asks for a screen lock, which the pinned phone does not have, so it is not asked: \(list)",
          hint: next))
    }
    if asking.contains(where: { $0.methods.isEmpty || $0.methods.contains(.acceptance) }) {
      findings.append(
        Finding(
          .ok, .users,
          "a service that was broken into could have an open page sign a tap, which is enough for: \(list)",
          hint: "methods=device after pam_iampass.so asks for a screen lock; first \(next)"))
    }
    return findings
  }
}

/// Reads `/etc/iampass/phones`, and asks the service for its phones.
struct PinChecks {
  /// The most users whose lines are looked up.
  private static let greatestLookedUp = 1_000

  let path: String
  let usersPath: String
  /// The users whom the service lists; nil: users are only in the file.
  let listed: ServiceUsers?
  /// Whether a sign-in needs a pinned phone.
  let isVerified: Bool
  /// The methods that each service with the module asks for.
  let asking: [(service: String, methods: [AuthenticationMethod])]
  let service: ServiceChecks?

  func findings() -> [Finding] {
    let file: PinnedPhones
    do throws(PinnedPhonesError) { file = try PinnedPhones(path: path) } catch {
      return [bad(error.explanation(path: path), hint: Self.hint(error))]
    }
    return badLines(file) + (isVerified ? comparison(file) : [])
  }

  /// A finding about a file that cannot be used. It is a problem only if sign-ins need the file.
  private func bad(_ text: String, hint: String?) -> Finding {
    Finding(isVerified ? .problem : .warning, .users, text, hint: hint)
  }

  private static func hint(_ error: PinnedPhonesError) -> String? {
    if case .file(let file) = error { file.hint } else { nil }
  }

  private func badLines(_ file: PinnedPhones) -> [Finding] {
    file.badLines().prefix(UserFindings.greatestNamed).map { line in
      bad(
        "\(PinnedPhonesError.badLine(line).explanation(path: path)): its user cannot sign in by a verified approval",
        hint: "remove the line, or iampassctl phone forget USER")
    }
  }

  private func comparison(_ file: PinnedPhones) -> [Finding] {
    // Errors of the users file were reported before.
    guard let tokens = try? UserTokens(path: usersPath) else { return [] }
    let names = tokens.users()
    let inFile = Set(file.users())
    var users: [PinFindings.User] = []
    var refused: [Finding] = []
    var lookedUp = 0
    for name in names {
      guard let user = UnixUsername(validating: name) else { continue }
      guard inFile.contains(user) else {
        users.append(PinFindings.User(name: name, pinned: [], listed: nil))
        continue
      }
      // Each look-up reads the whole file.
      lookedUp += 1
      guard lookedUp <= Self.greatestLookedUp else { break }
      do throws(PinnedPhonesError) {
        users.append(PinFindings.User(name: name, pinned: try file.phones(of: user), listed: nil))
      } catch { refused += refusal(of: user, error) }
    }
    let atService = service?.phones(of: users.filter { !$0.pinned.isEmpty }.map(\.name), tokens) ?? [:]
    let known = Set(names.compactMap { UnixUsername(validating: $0) })
    return PinFindings(
      users: users.map { PinFindings.User(name: $0.name, pinned: $0.pinned, listed: atService[$0.name]) },
      isWhole: users.count == names.count,
      withoutToken: file.users().filter {
        !known.contains($0) && listed?.tokens[$0.text] == nil && !PinnedPhones.isRole($0)
      }.map(\.text),
      asking: asking
    ).findings + refused.prefix(UserFindings.greatestNamed)
  }

  /// A finding about an error that makes all phones of a user unusable although each line is valid. Bad lines were
  /// reported with their numbers.
  private func refusal(of user: UnixUsername, _ error: PinnedPhonesError) -> [Finding] {
    if case .badLine = error { return [] }
    let text = "\(error.explanation(path: path)): \(user) cannot sign in by a verified approval"
    return [bad(text, hint: "remove a line of the user, or iampassctl phone forget \(user)")]
  }
}
