import DeviceProtocol
import IAMPASSProtocol

/// What a document changes, in lines for the administrator who signs it. The phone's page shows the same
/// (`changes.js`).
enum DocumentWords {
  // MARK: - Users

  /// `bob (office), phone “Pixel 8” (saha tira gava hoka juga dado)`.
  static func line(of entry: DocumentPage.Entry) -> String {
    let phones = entry.line.phones.isEmpty ? ["no phone"] : entry.line.phones.map(phone)
    return (["\(entry.line.name) \(groups(entry))"] + phones).joined(separator: ", ")
  }

  /// How the new list differs from the former one, sorted by name.
  static func changes(from former: [String: DocumentPage.Entry], to new: [String: DocumentPage.Entry]) -> [String] {
    let names = Set(former.keys).union(new.keys).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return names.flatMap { name -> [String] in
      switch (former[name], new[name]) {
      case (nil, let entry?): ["add " + line(of: entry)]
      case (let entry?, nil): ["remove \(name) \(groups(entry))"]
      case (let before?, let after?): changes(of: name, from: before, to: after)
      case (nil, nil): []
      }
    }
  }

  private static func changes(
    of name: String, from former: DocumentPage.Entry, to new: DocumentPage.Entry
  ) -> [String] {
    var found: [String] = []
    found += new.groups.filter { !former.groups.contains($0) }.map { "into group \($0)" }
    found += former.groups.filter { !new.groups.contains($0) }.map { "out of group \($0)" }
    if former.line.token != new.line.token { found.append("stands for another user of the service") }
    for one in new.line.phones where !former.line.phones.contains(one) {
      switch former.line.phones.first(where: { isSame($0, one) }) {
      case nil: found.append("new " + phone(one))
      case let before? where before.name != one.name: found.append("\(phone(before)) is now called \(quoted(one.name))")
      case _?: found.append("\(phone(one)) has another date")
      }
    }
    found += former.line.phones.filter { before in !new.line.phones.contains { isSame($0, before) } }
      .map { "no more " + phone($0) }
    return found.map { "\(name): \($0)" }
  }

  private static func isSame(_ left: PinnedPhone, _ right: PinnedPhone) -> Bool {
    left.id == right.id && left.keys == right.keys
  }

  private static func groups(_ entry: DocumentPage.Entry) -> String {
    entry.groups.isEmpty ? "(no group)" : "(\(entry.groups.joined(separator: ", ")))"
  }

  // MARK: - Administrators

  /// `phone “Pixel 8” (saha tira gava hoka juga dado) of “alice”`.
  static func line(of key: AdministratorSet.Key) -> String {
    switch key {
    case .phone(let name, let one): "\(phone(one)) of \(person(name))"
    case .recovery(let name, let key):
      "recovery key \(person(name)) (\(PhoneKeys(publicKey: key.text, credential: nil).words))"
    }
  }

  static func changes(from former: AdministratorSet, to new: AdministratorSet) -> [String] {
    new.keys.filter { !former.keys.contains($0) }.map { "add " + line(of: $0) }
      + former.keys.filter { !new.keys.contains($0) }.map { "remove " + line(of: $0) }
  }

  // MARK: - Names

  private static func phone(_ one: PinnedPhone) -> String { "phone \(quoted(one.name)) (\(one.keys.words))" }

  /// Quotes a name that people chose. It may contain any visible character.
  static func quoted(_ name: String) -> String {
    var shown = ""
    for scalar in DisplayText.escaped(name).unicodeScalars {
      // No character of a name looks like its closing quote.
      switch scalar {
      case "“": shown += "‹U+201C›"
      case "”": shown += "‹U+201D›"
      default: shown.unicodeScalars.append(scalar)
      }
    }
    return "“\(shown)”"
  }

  /// An administrator's name, with the code points of its first letters that are not ASCII: they may look like others.
  static func person(_ name: String) -> String {
    let foreign = name.unicodeScalars.filter { !$0.isASCII }
    guard !foreign.isEmpty else { return quoted(name) }
    let points = foreign.prefix(greatestPoints).map { scalar in
      let digits = String(scalar.value, radix: 16, uppercase: true)
      return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
    return "\(quoted(name)) [\(points.joined(separator: " "))\(foreign.count > greatestPoints ? " …" : "")]"
  }

  private static let greatestPoints = 4

  static func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
}
