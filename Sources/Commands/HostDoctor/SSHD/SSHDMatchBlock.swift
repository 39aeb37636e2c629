/// A `Match` block of sshd's configuration (sshd_config(5)).
struct SSHDMatchBlock: Equatable {
  /// One condition of its line, such as `Group admins,wheel`. All criteria of a line must hold.
  struct Criterion: Equatable {
    /// The criterion's name, as written.
    let name: String
    let patterns: [String]

    var text: String { "\(name) \(patterns.joined(separator: ","))" }

    /// The patterns without wildcards; none if the list has negated patterns.
    var literals: [String] {
      guard !patterns.contains(where: { $0.hasPrefix("!") }) else { return [] }
      return patterns.filter { !$0.contains("*") && !$0.contains("?") }
    }
  }

  /// The line's place, such as `/etc/ssh/sshd_config:12`.
  let place: String
  /// The block's criteria. If the file is included within a block, that block's criteria are added. If the list is
  /// empty, the block holds for all connections.
  let criteria: [Criterion]
  /// Whether the block sets an option that decides if the phone is asked.
  var changesSignIn = false
  /// Whether the block sets PasswordAuthentication. That matters if a password rings the phone.
  var changesPasswords = false
  /// Whether the block itself sets KbdInteractiveAuthentication: what is set outside of it does not matter then.
  var setsKeyboardInteractive = false

  var text: String { "Match \(criteria.map(\.text).joined(separator: " ")) (\(place))" }
}

/// The example connections that sshd is asked about.
struct SSHDConnections: Equatable {
  /// The most connections for one block.
  static let greatestCount = 32
  /// The criteria and their names in `sshd -T -C`, in the order of the output.
  private static let fields = [
    ("user", "user"), ("group", "user"), ("host", "host"), ("address", "addr"), ("localaddress", "laddr"),
    ("localport", "lport"), ("rdomain", "rdomain"),
  ]

  /// The connections in the form of `-C`, such as `user=alice,addr=192.0.2.1`.
  private(set) var texts: [String] = []
  /// Why other connections of the block cannot be judged.
  private(set) var reasons: [String] = []

  /// - Parameter members: gives the known users of a group.
  init(of block: SSHDMatchBlock, members: (String) -> [String]) {
    var values: [String: [String]] = [:]
    for criterion in block.criteria {
      let name = criterion.name.lowercased()
      guard let field = Self.fields.first(where: { $0.0 == name })?.1 else {
        reasons.append("what \(criterion.name) matches is not known here")
        return
      }
      if criterion.literals.count < criterion.patterns.count {
        reasons.append("\(criterion.text) has wildcards or negations")
      }
      let found = name == "group" ? criterion.literals.flatMap(members) : criterion.literals.map(Self.example)
      if found.isEmpty, !criterion.literals.isEmpty { reasons.append("\(criterion.text) has no known member") }
      let before = values[field]
      values[field] = found.reduce(into: []) { known, value in
        if before?.contains(value) ?? true, !known.contains(value) { known.append(value) }
      }
    }
    var specifications: [[String]] = [[]]
    for field in Self.fields.map(\.1).uniqued where values[field] != nil {
      specifications = specifications.flatMap { before in
        (values[field] ?? []).prefix(Self.greatestCount + 1).map { before + ["\(field)=\($0)"] }
      }
      specifications = Array(specifications.prefix(Self.greatestCount + 1))
    }
    if specifications.count > Self.greatestCount {
      reasons.append("it names more than \(Self.greatestCount) connections")
    } else if specifications.isEmpty, reasons.isEmpty {
      reasons.append("no connection is known that it applies to")
    }
    texts = specifications.prefix(Self.greatestCount).map { $0.joined(separator: ",") }
  }

  /// An address that a pattern matches. For `192.0.2.0/24` it is the network's own address.
  private static func example(_ pattern: String) -> String {
    pattern.split(separator: "/", omittingEmptySubsequences: false).first.map(String.init) ?? pattern
  }
}

extension [String] {
  /// The elements, each once, in order.
  fileprivate var uniqued: [String] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}
