/// The message about a file that has lost its line: one sentence for all services that used the line.
public struct LostLines: Sendable, Equatable {
  /// The files into which `iampassctl enable` writes by pam-auth-update(8).
  private static let managed: Set<String> = ["common-auth", "common-session"]

  public let text: String
  public let hint: String
  /// Whether the phone was required. Users now get in without it.
  public let wasRequired: Bool

  /// The messages in the order of their files. Lines that were required come first.
  public static func all(_ lines: [PhoneLine]) -> [LostLines] {
    var groups: [[PhoneLine]] = []
    for line in lines.filter(\.isRequired) + lines.filter({ !$0.isRequired }) {
      let place = groups.firstIndex {
        $0[0].file == line.file && $0[0].kind == line.kind && $0[0].isRequired == line.isRequired
      }
      if let place { groups[place].append(line) } else { groups.append([line]) }
    }
    return groups.map { LostLines(group: $0) }
  }

  private init(group: [PhoneLine]) {
    let first = group[0]
    let services = group.map(\.service).joined(separator: ", ")
    let what =
      switch (first.kind, first.isRequired) {
      case (.auth, true): "the phone was required there, and is not any more: \(services)"
      case (.auth, false): "the phone is not asked any more: \(services)"
      case (.session, _): "nobody would watch a session that the phone opens: \(services)"
      }
    text = "\(first.file) has lost its line of pam_iampass.so; \(what)"
    let name = first.file.split(separator: "/").last.map(String.init) ?? first.file
    hint =
      Self.managed.contains(name)
      ? "iampassctl enable, or iampassctl disable if this is meant; see iampass-helper(8)"
      : "put the line back, or run iampassctl enable if this is meant; see iampass-helper(8)"
    wasRequired = first.isRequired
  }
}
