import Glibc
import HostState
import IAMPASSProtocol

/// Findings about sign-ins if the service or the phone cannot be asked (`methods_offline`).
public struct OfflineFindings {
  /// One user's recovery codes.
  public struct Codes: Sendable, Equatable {
    public let user: String
    public let left: Int
    /// Why the set is not valid; nil if it is.
    public let fault: String?

    public init(user: String, left: Int, fault: String? = nil) {
      self.user = user
      self.left = left
      self.fault = fault
    }
  }

  /// If fewer codes than this are left, a new set is due.
  static let fewCodes = 3

  public let methods: OfflineMethods
  /// The listed PAM services of this computer.
  public let services: [String]
  public let codes: [Codes]
  /// Users with a token.
  public let users: [String]
  /// The listed services that a security key alone opens.
  public let takingKeys: [String]

  public init(
    methods: OfflineMethods, services: [String], codes: [Codes], users: [String], takingKeys: [String] = []
  ) {
    self.methods = methods
    self.services = services
    self.codes = codes
    self.users = users
    self.takingKeys = takingKeys
  }

  public var findings: [Finding] {
    let taking = services.filter(methods.takesCodes)
    guard !taking.isEmpty else {
      let withPhone = services.contains { methods.takes(.phone, $0) }
      let orKey = takingKeys.isEmpty ? "" : ", or a security key at \(takingKeys.joined(separator: ", "))"
      let without = Finding(
        .ok, .configuration, "without the service, all sign-ins need a password\(orKey) (methods_offline)")
      guard let first = codes.first else { return withPhone ? [] : [without] }
      return (withPhone ? [] : [without]) + [
        Finding(
          .warning, .configuration, "\(first.user) has recovery codes, and no service takes them",
          hint: "set methods_offline = recovery")
      ]
    }
    let named = Set(codes.map { Array($0.user.utf8) })
    let missing = users.filter { !named.contains(Array($0.utf8)) }
    var findings = [
      Finding(.ok, .configuration, "without the service, \(taking.joined(separator: ", ")) take recovery codes")
    ]
    findings += exceptions + codes.map(finding)
    if !missing.isEmpty {
      findings.append(
        Finding(
          .warning, .users, "without recovery codes, so with a password only: \(UserFindings.list(missing))",
          hint: "iampassctl recovery create \(DisplayText.sanitized(missing[0]))"))
    }
    return findings
  }

  /// Findings about services in `methods_offline` that never take a code, or not always.
  private var exceptions: [Finding] {
    var findings: [Finding] = []
    let brokered = services.filter { methods.contains(.recovery, for: $0) && !methods.takesCodes($0) }
    if !brokered.isEmpty {
      findings.append(
        Finding(.ok, .configuration, "through the broker no code is taken: \(brokered.joined(separator: ", "))"))
    }
    if services.contains("sddm"), methods.takesCodes("sddm") {
      findings.append(Finding(.ok, .configuration, "sddm takes a code only if its line says prompt=push"))
    }
    return findings
  }

  private func finding(_ codes: Codes) -> Finding {
    let hint = "iampassctl recovery create \(DisplayText.sanitized(codes.user))"
    if let fault = codes.fault {
      return Finding(.warning, .users, "recovery codes of \(codes.user) are not taken: \(fault)", hint: hint)
    }
    let text = "\(codes.user) has \(Words.counted(codes.left, "recovery code")) left"
    return codes.left < Self.fewCodes
      ? Finding(.warning, .users, text, hint: hint) : Finding(.ok, .users, text)
  }
}

/// Reads the files for ``OfflineFindings``.
struct OfflineChecks {
  let configuration: Configuration
  let codes: RecoveryCodes
  /// Nil unless this computer verifies approvals.
  let phones: OfflinePhones?
  let services: [String]
  let usersPath: String
  let pageDigestsPath: String
  let takingKeys: [String]

  func findings() -> [Finding] {
    let users = (try? UserTokens(path: usersPath))?.users() ?? []
    return codeFindings(users)
      + OfflinePhoneFindings(
        methods: configuration.offlineMethods, services: services, phones: phones, users: users,
        pageDigests: (pageDigestsPath, access(pageDigestsPath, F_OK) == 0)
      ).findings
  }

  private func codeFindings(_ users: [String]) -> [Finding] {
    do throws(RecoveryError) {
      let sets = try codes.sets()
      let listed = try sets.map { (set) throws(RecoveryError) in
        OfflineFindings.Codes(user: set.user.text, left: try codes.left(of: set), fault: codes.fault(of: set))
      }
      return OfflineFindings(
        methods: configuration.offlineMethods, services: services, codes: listed, users: users,
        takingKeys: takingKeys
      ).findings
    } catch {
      return [Finding(.problem, .files, error.explanation, hint: "iampassctl recovery revoke USER, or mend the file")]
    }
  }
}

extension RecoveryCodes {
  /// Why the set is not valid; nil if it is.
  func fault(of set: RecoverySet) -> String? {
    if !isThisComputers(set) { return "they were made for another computer" }
    do { return try isOfThisName(set) ? nil : "they were made for another user of this name" } catch {
      return error.explanation
    }
  }
}
