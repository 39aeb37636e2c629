import HostSystem
import IAMPASSClient

/// The first line of a kept file of the service's list: its kind, its credential and its version.
struct ListHeading: Equatable {
  enum Content: String {
    case users
    case phones
  }

  let content: Content
  /// The id of this computer's credential.
  let credential: String
  let version: UserListVersion

  init(_ content: Content, credential: String, version: UserListVersion) {
    self.content = content
    self.credential = credential
    self.version = version
  }

  /// Parses the first line of a file; nil if it has another form.
  init?(_ content: Content, beginning text: some Sequence<UInt8>) {
    let line = String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    let words = line.split(separator: " ").map(String.init)
    guard line.hasPrefix("# iampass \(content.rawValue) "), words.count == 6, words[3].hasPrefix("for="),
      words[4].hasPrefix("epoch="), let epoch = Int64(words[4].dropFirst(6)), words[5].hasPrefix("version="),
      let number = Int64(words[5].dropFirst(8))
    else { return nil }
    self.init(
      content, credential: String(words[3].dropFirst(4)), version: UserListVersion(epoch: epoch, number: number))
  }

  /// Reads the first line of the file at this path; nil if it cannot be read.
  init?(_ content: Content, of path: String) {
    var found: ListHeading?
    guard let file = try? PieceFile(path, privacy: .secret, limit: UserTokens.greatestSize),
      (try? file.read {
        found = ListHeading(content, beginning: $0)
        return false
      }) != nil, let found
    else { return nil }
    self = found
  }

  var line: String {
    "# iampass \(content.rawValue) for=\(credential) epoch=\(version.epoch) version=\(version.number)"
  }
}
