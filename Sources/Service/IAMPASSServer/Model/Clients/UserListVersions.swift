/// What grows with each change of a list of users and with each signature, for all applications in one view.
struct UserListVersions: Sendable {
  private let versions: [String: Int64]
  /// The last entry of the audit in this view; nil if there is no list.
  let lastAuditID: Int64?

  init(_ versions: [String: Int64], lastAuditID: Int64?) {
    self.versions = versions
    self.lastAuditID = lastAuditID
  }

  /// - Parameter application: its id.
  subscript(application: String) -> Int64? { versions[application] }

  /// The ids of applications whose list has changed, or is new.
  func changed(since former: UserListVersions) -> [String] {
    versions.filter { former[$0.key] != $0.value }.map(\.key)
  }
}
