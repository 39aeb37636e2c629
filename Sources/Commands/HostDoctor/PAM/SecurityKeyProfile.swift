import HostSystem

/// The profile of pam-auth-update that adds pam_u2f to our module.
public struct SecurityKeyProfile: Sendable {
  /// The profile's file, which `iampassctl enable` writes.
  public static let path = "/usr/share/pam-configs/iampass-key"

  public enum Place: String, Sendable, CaseIterable {
    /// A key, the phone or the password is enough.
    case instead
    /// Users who have a key need it in addition to phone or password.
    case second
  }

  /// The most bytes of user ids in one line. Debian 12's libpam takes 1,024 bytes a line, and refuses the whole stack
  /// if there are more.
  private static let greatestList = 700
  /// A word that is not a user id.
  private static let nobody = "none"

  public let place: Place
  public let services: [String]
  public let mapping: String
  /// The users whose sign-ins need a key as the second factor.
  public let uids: [UInt32]

  /// - Parameter services: the services. sshd must not be one: the key would have to be at this computer, not at the
  ///   user's.
  public init(_ place: Place, services: [String], mapping: String, uids: [UInt32] = []) {
    self.place = place
    self.services = services.filter { $0 != "sshd" }
    self.mapping = mapping
    self.uids = uids
  }

  /// Parses the services and the mapping of a written profile; nil if it is another profile.
  public init?(parsing text: String) {
    let words = text.split { $0 == " " || $0 == "\t" || $0 == "\n" }.map(String.init)
    guard let service = words.firstIndex(of: "service"), words.count > service + 2, words[service + 1] == "in",
      let mapping = words.first(where: { $0.hasPrefix("authfile=") })
    else { return nil }
    self.init(
      text.contains("Auth-Type: Primary") ? .instead : .second,
      services: words[service + 2].split(separator: ":").map(String.init), mapping: String(mapping.dropFirst(9)))
  }

  /// The bytes of the written profile; nil if there is none, or if it cannot be read.
  public static var writtenBytes: [UInt8]? {
    try? SecureFile.read(path, privacy: .readableByAll, limit: 64 * 1024)
  }

  /// The written profile; nil if there is none.
  public static var written: SecurityKeyProfile? {
    writtenBytes.flatMap { SecurityKeyProfile(parsing: String(decoding: $0, as: UTF8.self)) }
  }

  /// The same profile for other users.
  public func requiring(_ uids: [UInt32]) -> SecurityKeyProfile {
    SecurityKeyProfile(place, services: services, mapping: mapping, uids: uids)
  }

  /// The condition for the key. Remote sign-ins of other services skip it too.
  private var condition: String { "pam_succeed_if.so quiet service in \(services.joined(separator: ":")) rhost !~ ?*" }

  private var module: String {
    "pam_u2f.so cue authfile=\(mapping) origin=\(SecurityKeyFiles.origin) appid=\(SecurityKeyFiles.origin)"
  }

  /// The ids as lists for pam_succeed_if. Names would not do: a directory may accept several spellings of one name.
  private var lists: [String] {
    var lists: [String] = []
    for uid in uids {
      if let last = lists.last, last.utf8.count < Self.greatestList {
        lists[lists.count - 1] = "\(last):\(uid)"
      } else {
        lists.append(String(uid))
      }
    }
    return lists.isEmpty ? [Self.nobody] : lists
  }

  /// The profile's text. If the key replaces the password, every failure continues with the phone. If it is the second
  /// factor, every failure ends the sign-in of users who have a key, and an error of a condition leads to the key.
  public var text: String {
    let head = "Name: IAMPASS security key\nDefault: no\n"
    switch place {
    case .instead:
      return head + """
        Priority: 950
        Auth-Type: Primary
        Auth:
        \t[success=ignore default=1]\t\(condition)
        \t[success=end default=ignore]\t\(module)

        """
    case .second:
      return head + """
        Priority: 950
        Auth-Type: Additional
        Auth:
        \t[success=ignore auth_err=\(lists.count + 1) default=ignore]\t\(condition)
        \(exemptions.joined(separator: "\n"))
        \t[success=ok default=die]\t\(module)

        """
    }
  }

  /// Users who are not listed skip the key. pam_succeed_if answers auth_err if the id is listed, and another code after
  /// an error (pam_succeed_if(8)).
  private var exemptions: [String] {
    let lists = lists
    return lists.enumerated().map { place, list in
      let left = lists.count - 1 - place
      let control = left > 0 ? "[success=ignore default=\(left)]" : "[success=1 default=ignore]"
      return "\t\(control)\tpam_succeed_if.so quiet uid notin \(list)"
    }
  }
}
