/// The ways to sign in if the phone cannot be asked. The raw values are the configuration's words.
public enum OfflineMethod: String, Sendable, CaseIterable {
  /// Recovery codes, see `RecoveryCodes`.
  case recovery
  /// The digits of a phone that has no network, see `OfflinePhones`.
  case phone
}

/// `methods_offline`: the ways that each PAM service allows.
public struct OfflineMethods: Sendable, Equatable {
  public static let takes = "none, phone, recovery, or SERVICE:phone and the like for single services"

  /// The ways for each service that is not named.
  private var usual: Set<OfflineMethod> = []
  private var ofServices: [String: Set<OfflineMethod>] = [:]

  public init() {}

  /// Parses words that blanks or commas separate. The words of a service replace the usual ones. Nil if a word is not
  /// valid.
  public init?(reading text: String) {
    let words = text.utf8.split { KeyValueFile.isBlank($0) || $0 == UInt8(ascii: ",") }.map { String(Substring($0)) }
    guard !words.isEmpty else { return nil }
    var said: [String: Set<String>] = [:]
    for word in words {
      let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let (service, method) = parts.count == 2 ? (parts[0], parts[1]) : ("", word)
      // A group is not allowed here: its words would not apply to any service.
      guard parts.count == 1 || ServiceNames.read(service) == [service] else { return nil }
      guard method == "none" || OfflineMethod(rawValue: method) != nil,
        said[service, default: []].insert(method).inserted
      else { return nil }
      if method != "none", let known = OfflineMethod(rawValue: method) {
        if service.isEmpty { usual.insert(known) } else { ofServices[service, default: []].insert(known) }
      } else if !service.isEmpty {
        ofServices[service] = ofServices[service] ?? []
      }
    }
    // `none` beside a method is a contradiction.
    guard said.values.allSatisfy({ !$0.contains("none") || $0.count == 1 }) else { return nil }
  }

  public func contains(_ method: OfflineMethod, for service: String) -> Bool {
    (ofServices[service] ?? usual).contains(method)
  }

  /// Whether the service takes recovery codes. Services that ask through the broker never do.
  public func takesCodes(_ service: String) -> Bool { takes(.recovery, service) }

  /// Whether the service allows this way. Services that ask through the broker allow none.
  public func takes(_ method: OfflineMethod, _ service: String) -> Bool {
    contains(method, for: service) && !DesktopServices.asksBroker(service)
  }

  /// Whether any service allows this way.
  public func takesAnywhere(_ method: OfflineMethod) -> Bool {
    usual.contains(method) || ofServices.values.contains { $0.contains(method) }
  }

  /// Whether no service allows any way.
  public var isEmpty: Bool { usual.isEmpty && ofServices.values.allSatisfy(\.isEmpty) }

  /// The text that ``init(reading:)`` parses.
  public var text: String {
    func words(_ methods: Set<OfflineMethod>) -> [String] {
      methods.isEmpty ? ["none"] : methods.map(\.rawValue).sorted()
    }
    let services = ofServices.sorted { $0.key < $1.key }.flatMap { pair in words(pair.value).map { "\(pair.key):\($0)" }
    }
    return (words(usual) + services).joined(separator: " ")
  }
}
