/// The ways to sign in if the phone cannot be asked; the raw values are the configuration's words.
public enum OfflineMethod: String, Sendable, CaseIterable {
  /// Recovery codes, see `RecoveryCodes`.
  case recovery
  /// The digits of a phone that has no network, see `OfflinePhones`.
  case phone
}

/// `methods_offline`: which of these ways a PAM service takes.
public struct OfflineMethods: Sendable, Equatable {
  public static let takes = "none, phone, recovery, or SERVICE:phone and the like for single services"

  /// For each service without a word of its own.
  private var usual: Set<OfflineMethod> = []
  private var ofServices: [String: Set<OfflineMethod>] = [:]

  public init() {}

  /// Words between blanks or commas. The words of a service replace the usual ones. Nil for what is not understood.
  public init?(reading text: String) {
    let words = text.utf8.split { KeyValueFile.isBlank($0) || $0 == UInt8(ascii: ",") }.map { String(Substring($0)) }
    guard !words.isEmpty else { return nil }
    var said: [String: Set<String>] = [:]
    for word in words {
      let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let (service, method) = parts.count == 2 ? (parts[0], parts[1]) : ("", word)
      // A group stands for services by other rules; its words would be those of no service.
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
    // `none` beside a method says nothing clear.
    guard said.values.allSatisfy({ !$0.contains("none") || $0.count == 1 }) else { return nil }
  }

  public func contains(_ method: OfflineMethod, for service: String) -> Bool {
    (ofServices[service] ?? usual).contains(method)
  }

  /// Whether the service takes recovery codes. Services that ask through the broker never do.
  public func takesCodes(_ service: String) -> Bool { takes(.recovery, service) }

  /// Whether the service takes this way. Services that ask through the broker take none.
  public func takes(_ method: OfflineMethod, _ service: String) -> Bool {
    contains(method, for: service) && !DesktopServices.asksBroker(service)
  }

  /// Whether any service takes this way.
  public func takesAnywhere(_ method: OfflineMethod) -> Bool {
    usual.contains(method) || ofServices.values.contains { $0.contains(method) }
  }

  /// Whether no service takes any.
  public var isEmpty: Bool { usual.isEmpty && ofServices.values.allSatisfy(\.isEmpty) }

  /// As ``init(reading:)`` takes it.
  public var text: String {
    func words(_ methods: Set<OfflineMethod>) -> [String] {
      methods.isEmpty ? ["none"] : methods.map(\.rawValue).sorted()
    }
    let services = ofServices.sorted { $0.key < $1.key }.flatMap { pair in words(pair.value).map { "\(pair.key):\($0)" }
    }
    return (words(usual) + services).joined(separator: " ")
  }
}
