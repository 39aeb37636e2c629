import IAMPASSProtocol

/// A document that a phone is to be asked to sign. Its lines are stored.
struct DocumentDraft: Sendable {
  /// How often a document is made again if something changes while it is read.
  static let greatestTries = 5
  /// Lines that are stored in one step: other writers come in between.
  static let portion = 400

  let order: String
  let administrator: String
  let document: SignedDocument
  /// What the administrator's phones in the set can prove.
  let methods: [AuthenticationMethod]

  /// The same whenever the phone is asked for this document: it is asked once, whichever service goes on with the order.
  var startName: StartName? {
    StartName(String(Digest.hexadecimal(Digest.sha256(Array("\(order) \(text)".utf8))).prefix(32)))
  }

  var text: String {
    switch document {
    case .administrators(let set): set.json.storedText
    case .users(let head): head.json.storedText
    }
  }
}
