import IAMPASSProtocol

/// The words after `pam_iampass.so` in a PAM file.
///
/// Only this reader parses them. So `iampassctl check` reports exactly what the module does not accept.
public struct ModuleArguments: Sendable, Equatable {
  /// All known words, for a hint.
  public static let grammar =
    "config=PATH timeout=5s–90s prompt=auto|choose|push methods=a,b fail=closed|open password=follows|none keyring debug"

  /// The configuration's path, which is absolute.
  public private(set) var configurationPath = Configuration.path
  /// The time for an answer in seconds, within ``ApprovalTimeout/bounds``; nil: the configuration's `approval_timeout`.
  public private(set) var timeout: Int64?
  public private(set) var prompt = PromptMode.auto
  /// The accepted methods. If the list is empty, the service chooses.
  public private(set) var methods: [AuthenticationMethod] = []
  public private(set) var failsOpen = false
  /// A module after this one asks for a password, so that the user can be sent to its prompt. The module cannot see the
  /// rest of its stack, so the administrator's line says it.
  public private(set) var passwordFollows = true
  public private(set) var isDebugging = false
  /// The line does not ask the phone. It gives a sealed password to the modules after it; see ``KeyringAct``.
  public private(set) var servesKeyring = false
  /// Names of words that this version does not know, for a warning.
  public private(set) var unknown: [String] = []
  /// Words with a known name and an invalid value. The module then refuses every sign-in.
  public private(set) var bad: [String] = []

  /// Reads every word, in order; if two have the same name, the last valid one counts.
  public init(reading words: [String]) {
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      switch take(parts[0], parts.count > 1 ? parts[1] : nil) {
      case .taken: break
      case .unknown: unknown.append(parts[0])
      case .bad: bad.append(word)
      }
    }
  }

  /// - Throws: ``Misconfiguration/badArgument(_:)`` for the first bad word. Unknown words are kept for a warning.
  public init(_ words: [String]) throws(Misconfiguration) {
    self.init(reading: words)
    if let word = bad.first { throw .badArgument(word) }
  }

  private enum Verdict { case taken, bad, unknown }

  /// An invalid value changes nothing. Key paths are not used, because the runtime would build their types in each
  /// process.
  private mutating func take(_ name: String, _ value: String?) -> Verdict {
    switch name {
    case "config": Self.take(&configurationPath, value) { $0.hasPrefix("/") ? $0 : nil }
    case "timeout": Self.takeOptional(&timeout, value) { ApprovalTimeout.seconds($0) }
    case "prompt": Self.take(&prompt, value) { PromptMode(rawValue: $0) }
    case "methods": Self.take(&methods, value) { Self.methods($0) }
    case "fail": Self.take(&failsOpen, value) { $0 == "open" ? true : $0 == "closed" ? false : nil }
    case "password": Self.take(&passwordFollows, value) { $0 == "follows" ? true : $0 == "none" ? false : nil }
    case "debug" where value == nil: Self.take(flag: &isDebugging)
    case "keyring" where value == nil: Self.take(flag: &servesKeyring)
    // `debug=1` is not `debug`; it is ignored with a log line.
    default: .unknown
    }
  }

  private static func take<Value>(_ field: inout Value, _ text: String?, _ convert: (String) -> Value?) -> Verdict {
    guard let text, let value = convert(text) else { return .bad }
    field = value
    return .taken
  }

  /// For a value without a default.
  private static func takeOptional<Value>(
    _ field: inout Value?, _ text: String?, _ convert: (String) -> Value?
  ) -> Verdict {
    guard let text, let value = convert(text) else { return .bad }
    field = value
    return .taken
  }

  private static func take(flag: inout Bool) -> Verdict {
    flag = true
    return .taken
  }

  /// Nil if one of the names is not a method.
  private static func methods(_ text: String) -> [AuthenticationMethod]? {
    let names = text.split(separator: ",", omittingEmptySubsequences: false)
    let methods = names.compactMap { AuthenticationMethod(rawValue: String($0)) }
    return methods.count == names.count ? methods : nil
  }
}
