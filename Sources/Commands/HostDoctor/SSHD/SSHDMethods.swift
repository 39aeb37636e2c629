/// AuthenticationMethods: lists that spaces separate. One list is enough, and all its methods are asked for in order
/// (sshd_config(5)).
struct SSHDMethods {
  private static let phone = "keyboard-interactive"
  /// The settings that switch methods off. sshd then ignores each list that has such a method.
  private static let switches = [
    "publickey": "pubkeyauthentication", "hostbased": "hostbasedauthentication",
    "gssapi-with-mic": "gssapiauthentication", "gssapi-keyex": "gssapiauthentication",
  ]

  /// The lists as written, such as `publickey,keyboard-interactive:pam`.
  private let lists: [String]

  /// - Parameter text: the option as `sshd -T` prints it. `any` gives no lists.
  init(_ text: String) {
    lists = text.split(separator: " ").map(String.init).filter { $0 != "any" }
  }

  /// Whether all lists ask for keyboard-interactive: nobody signs in while it is off.
  var needKeyboardInteractive: Bool {
    !lists.isEmpty && lists.allSatisfy { Self.methods($0).contains(Self.phone) }
  }

  /// Whether a sign-in may need keyboard-interactive and nothing else.
  var takeKeyboardInteractiveAlone: Bool {
    lists.isEmpty || lists.contains { Self.methods($0).allSatisfy { $0 == Self.phone } }
  }

  /// - Parameter withoutPhone: the level of the finding that no list asks the phone.
  func findings(_ settings: SSHDSettings, withoutPhone: Finding.Level) -> [Finding] {
    guard !lists.isEmpty else { return [] }
    let asking = lists.filter { Self.methods($0).contains(Self.phone) }
    let text = "AuthenticationMethods \(lists.joined(separator: " "))"
    guard !asking.isEmpty else {
      return [
        Finding(
          withoutPhone, .sshd, "sshd: \(text) leaves keyboard-interactive out: the phone is never asked",
          // sshd does not start with AuthenticationMethods alone.
          hint: "set KbdInteractiveAuthentication yes and AuthenticationMethods "
            + lists.map { "\($0),\(Self.phone)" }.joined(separator: " "))
      ]
    }
    return lists.filter { Self.goesPastPAM($0, settings) }.map { list in
      guard let longer = asking.first(where: { Self.has($0, all: list) }) else {
        return Finding(.ok, .sshd, "sshd: \(text): \(list) goes past PAM, and does not ask the phone")
      }
      return Finding(
        .problem, .sshd, "sshd: \(text): one list is enough, so that \(list) opens without the phone of \(longer)",
        hint: "take the list \(list) out of AuthenticationMethods")
    }
  }

  /// Whether a client may begin with a password, before another method has succeeded.
  func beginWithPassword(_ settings: SSHDSettings) -> Bool {
    lists.isEmpty
      || lists.contains { list in
        let methods = Self.methods(list)
        return methods.first == "password"
          && methods.allSatisfy { method in Self.switches[method].flatMap { settings[$0] } != "no" }
      }
  }

  /// The methods without devices: on Linux, sshd asks PAM for each device of keyboard-interactive.
  private static func methods(_ list: String) -> [String] {
    list.split(separator: ",").map { String($0.prefix { $0 != ":" }) }
  }

  /// Whether the list signs in without PAM. A password is given to PAM, so the stack decides on it.
  private static func goesPastPAM(_ list: String, _ settings: SSHDSettings) -> Bool {
    methods(list).allSatisfy { method in
      ![phone, "password"].contains(method) && switches[method].flatMap { settings[$0] } != "no"
    }
  }

  private static func has(_ longer: String, all list: String) -> Bool {
    var left = methods(longer)
    return methods(list).allSatisfy { method in
      left.firstIndex(of: method).map { left.remove(at: $0) } != nil
    }
  }
}
