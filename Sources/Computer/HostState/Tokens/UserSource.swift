import HostSystem
import IAMPASSProtocol

/// Where this computer's users come from: `users` in `iampass.conf`.
public enum UserSource: String, Sendable, CaseIterable {
  /// `/etc/iampass/users` alone.
  case file
  /// The service's list, except for users in `/etc/iampass/users`, who have that file's token.
  case service
}

/// Which users of the service's list may sign in here: `users_from_service`.
public struct UserSelection: Sendable, Equatable {
  /// Ranges of uids. 0 is in none of them.
  public var uids: [ClosedRange<UInt32>]
  /// A user must be a member of one of these groups; if it is empty, all users may sign in.
  public var groups: [String]

  /// The uids of people, as adduser(8) and useradd(8) assign them.
  public static let usual = UserSelection(uids: [1_000...59_999], groups: [])

  public init(uids: [ClosedRange<UInt32>], groups: [String]) {
    self.uids = uids
    self.groups = groups
  }

  /// Parses `1000-59999 group:NAME`, with any number of each; nil for other texts, and for a range that includes root.
  public init?(_ text: String) {
    self.init(uids: [], groups: [])
    for word in text.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "," }) {
      if word.hasPrefix("group:") {
        guard let name = UnixUsername(validating: String(word.dropFirst(6))) else { return nil }
        groups.append(name.text)
        continue
      }
      let ends = word.split(separator: "-", omittingEmptySubsequences: false).map { UInt32($0) }
      guard let first = ends.first ?? nil, let last = ends.last ?? nil, (1...2).contains(ends.count), first >= 1,
        first <= last
      else { return nil }
      uids.append(first...last)
    }
    guard !uids.isEmpty else { return nil }
  }

  /// The text that ``init(_:)`` parses.
  public var text: String {
    (uids.map { "\($0.lowerBound)-\($0.upperBound)" } + groups.map { "group:\($0)" }).joined(separator: " ")
  }

  /// - Parameter isMember: whether the user is a member of the group of this name.
  /// - Throws: if membership of one group is not known, and the user is in none of the groups before it.
  public func includes(
    _ user: SystemUser,
    isMember: (SystemUser, String) throws(UserLookupError) -> Bool = {
      (user, group) throws(UserLookupError) in try user.isMember(ofGroup: group)
    }
  ) throws(UserLookupError) -> Bool {
    guard user.uid != 0, uids.contains(where: { $0.contains(user.uid) }) else { return false }
    for group in groups {
      if try isMember(user, group) { return true }
    }
    return groups.isEmpty
  }
}
