import CommandSupport
import HostDoctor
import HostState
import IAMPASSClient
import IAMPASSProtocol

/// The administrators whose phones sign the list of a computer that joins again. A code without them, or with others,
/// does not take their place unless root says so: otherwise whoever breaks into the service, or sends a code, would decide
/// who signs in here.
struct FormerAdministrators {
  private enum Known {
    case fleet(Fleet)
    /// There were some, and their file cannot be used.
    case lost(FleetError)
  }

  /// Nil if the service alone was believed, or this computer is new.
  private let known: Known?
  private let areGivenUp: Bool

  /// - Parameter areGivenUp: by `--give-up-administrators`.
  init(stateFolder: String, credential: ServiceCredential?, areGivenUp: Bool) {
    self.areGivenUp = areGivenUp
    do throws(FleetError) {
      known = try Fleet.former(in: stateFolder + "/service", credential: credential?.applicationID).map { .fleet($0) }
    } catch { known = .lost(error) }
  }

  /// Before anything is asked, so that the code goes on to serve.
  func check(_ code: JoinCode) throws(CommandProblem) {
    guard !areGivenUp, code.fleet == nil, let known else { return }
    throw .join(.noAdministrators(former: Self.signers(known)))
  }

  /// - Parameter named: what the code names.
  /// - Returns: what is to be believed from now on; nil: the service alone.
  func settled(_ named: Fleet?) throws(CommandProblem) -> Fleet? {
    guard let known else { return named }
    guard !areGivenUp else {
      Terminal.say("given up: the list of users counted here if \(Self.signers(known)) signed it by phone")
      return named
    }
    guard let named else { throw .join(.noAdministrators(former: Self.signers(known))) }
    switch known {
    case .fleet(let former):
      guard let next = named.succeeding(former) else {
        throw .join(.administratorsDoNotFollow(former: former.signers, named: named.signers))
      }
      return next
    case .lost(let error):
      Terminal.complain("warning: \(error.explanation)")
      return named
    }
  }

  /// Without administrators' signatures.
  func tellWhatServes(_ configuration: Configuration) {
    guard known != nil else { return }
    Terminal.say("from now on the service alone says who the users are: so does whoever breaks into it")
    guard configuration.approvals == .verified else { return }
    Terminal.say("approvals = verified stays: phones count once iampassctl phone trust has pinned them here")
  }

  private static func signers(_ known: Known) -> String {
    switch known {
    case .fleet(let fleet): fleet.signers
    case .lost: "an administrator"
    }
  }
}

extension Fleet {
  /// Their names, for people.
  var signers: String {
    let names = Set(administrators.phones.compactMap { administrators.administrator(withPhone: $0.id) }).sorted()
    let shown = names.prefix(5).map { DisplayText.sanitized($0, limit: 64) } + (names.count > 5 ? ["another"] : [])
    return Words.either(shown)
  }
}
