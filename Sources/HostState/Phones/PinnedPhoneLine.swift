import IAMPASSClient
import IAMPASSProtocol

// A phone's line in `/etc/iampass/phones`.

extension PinnedPhone {
  /// Nil unless these are the six fields after the user's name, each in its one spelling.
  init?(fields text: String) {
    // By bytes: a mark that combines with the colon before it makes another character of it, and no other byte.
    let fields = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 5, omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    guard fields.count == 6, let key = P256PublicKey(fields[1]), let since = Int64(fields[4]),
      String(since) == fields[4]
    else { return nil }
    let credential: Credential?
    if fields[2].isEmpty, fields[3].isEmpty {
      credential = nil
    } else {
      guard let key = P256PublicKey(fields[3]), let whole = Credential(id: fields[2], key: key) else { return nil }
      credential = whole
    }
    self.init(id: fields[0], key: key, credential: credential, since: since, name: fields[5])
    // What would be written otherwise was not written here.
    guard Array(self.fields.utf8) == Array(text.utf8) else { return nil }
  }

  /// The line's part after the user's name and a colon.
  var fields: String {
    [id, key.text, credential?.id ?? "", credential?.key.text ?? "", String(since), name].joined(separator: ":")
  }
}
