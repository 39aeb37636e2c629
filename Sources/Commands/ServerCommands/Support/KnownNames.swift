import IAMPASSServer

/// The known names, for a hint about an unknown name.
extension OperatorStore {
  /// The applications' names; empty if they cannot be read.
  func knownApplications() async -> [String] { (try? await listedApplications().map(\.name)) ?? [] }

  /// The administrators' names; empty if they cannot be read.
  func knownAdministrators() async -> [String] { (try? await administrators().map(\.name)) ?? [] }
}
