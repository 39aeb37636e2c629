import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why `/etc/iampass/phones` is not used.
public enum PinnedPhonesError: Error, Sendable, Equatable {
  case file(FileError)
  /// The user's line, with this number, does not have the form of the manual page.
  case badLine(Int)
  /// The user's line, with this number, has the id or key of an earlier line of the user.
  case phoneTwice(Int)
  /// The user has more phones than ``greatestCount``.
  case tooMany
  /// The system did not say who the user is.
  case lookup(UserLookupError)

  public func explanation(path: String) -> String {
    switch self {
    case .file(let error): error.explanation
    case .badLine(let line): "\(path):\(line): not the line of a phone"
    case .phoneTwice(let line): "\(path):\(line): a phone of this user stands here for the second time"
    case .lookup(let error): "\(path): \(error.explanation)"
    case .tooMany: "\(path): a user has more than \(PinnedPhones.greatestCount) phones"
    }
  }
}

/// `/etc/iampass/phones`: a line `user:id:key:credential id:credential key:since:name` for each phone that this computer
/// trusts.
///
/// Empty lines and lines that begin with `#` are skipped. A bad line affects only its own user.
public struct PinnedPhones: Sendable {
  /// The greatest size of the file in bytes.
  public static let greatestSize = 16 * 1024 * 1024
  /// The greatest number of phones of one user.
  public static let greatestCount = 4

  /// In place of a user's name: a phone that may answer for users who have no phone at hand, except for root.
  public static let locum = "@locum"
  /// In place of a user's name: a phone that may answer only for root. Commands do not write it.
  public static let rootsLocum = "@locum-root"

  private let bytes: [UInt8]

  /// Reads the file. A missing file has no phones.
  public init(path: String) throws(PinnedPhonesError) {
    do { bytes = try SecureFile.read(path, privacy: .readableByAll, limit: Self.greatestSize) } catch {
      guard error.code == .missing else { throw .file(error) }
      bytes = []
    }
  }

  /// Takes a file's text.
  public init(parsing bytes: [UInt8]) { self.bytes = bytes }

  /// The user's phones, in the file's order; none without a line.
  public func phones(of user: UnixUsername) throws(PinnedPhonesError) -> [PinnedPhone] {
    let key = TokenSearch.key(of: user)
    guard key.first != UInt8(ascii: "#") else { return [] }
    if let damaged = bytes.withUnsafeBytes({ TokenSearch.damagedLine(for: key, in: $0) }) {
      throw .badLine(line(at: damaged))
    }
    var phones: [PinnedPhone] = []
    var next = 0
    while let found = bytes.withUnsafeBytes({ TokenSearch.line(beginning: key, in: $0, from: next) }) {
      next = found + 1
      let rest = bytes.withUnsafeBytes { TokenSearch.value(in: $0, from: found + key.count) }
      guard let text = String(validating: rest, as: UTF8.self), let phone = PinnedPhone(fields: text) else {
        throw .badLine(line(at: found))
      }
      guard !phones.contains(where: { $0.id == phone.id || $0.key == phone.key }) else {
        throw .phoneTwice(line(at: found))
      }
      phones.append(phone)
      guard phones.count <= Self.greatestCount else { throw .tooMany }
    }
    return phones
  }

  /// Whether the name is ``locum`` or ``rootsLocum``.
  public static func isRole(_ name: UnixUsername) -> Bool { name.text == locum || name.text == rootsLocum }

  /// The phones that may answer for this user. A user whom the system does not know counts as root.
  public func locums(for user: UnixUsername) throws(PinnedPhonesError) -> [PinnedPhone] {
    let isRoot: Bool
    do { isRoot = try SystemUser.find(named: user).map { $0.uid == 0 } ?? true } catch { throw .lookup(error) }
    guard let role = UnixUsername(validating: isRoot ? Self.rootsLocum : Self.locum) else { return [] }
    return try phones(of: role)
  }

  /// The names before the first colon of each line, each once, in the file's order. Invalid names are left out.
  public func users() -> [UnixUsername] {
    var seen: Set<UnixUsername> = []
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard line.first != UInt8(ascii: "#"), let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let user = UnixUsername(validating: String(decoding: line[..<colon], as: UTF8.self)),
        seen.insert(user).inserted
      else { return nil }
      return user
    }
  }

  /// The numbers, counted from 1, of lines that no sign-in uses. They have no colon, an invalid name, or a form that
  /// ``phones(of:)`` does not take.
  public func badLines() -> [Int] {
    var numbers: [Int] = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      if !line.isEmpty, line.first != UInt8(ascii: "#"), Self.phone(in: line) == nil { numbers.append(number) }
    }
    return numbers
  }

  /// Whether a user has a phone. Lines that no sign-in uses, and those of a role, do not count.
  var hasPhone: Bool {
    var rest = bytes[...]
    while let line = rest.split(separator: UInt8(ascii: "\n"), maxSplits: 1).first {
      if Self.userPhone(in: line) != nil { return true }
      rest = bytes[line.endIndex...]
    }
    return false
  }

  /// Whether a user has a phone without a screen lock. Parses only lines that look like it: there may be 100,000.
  var hasPhoneWithoutLock: Bool {
    // Such a line has these empty parts. A phone's name may have them too.
    let mark = Array(":::".utf8)
    return bytes.withUnsafeBytes { text in
      var start = 0
      while let found = TokenSearch.position(of: mark, in: text, from: start) {
        let line = TokenSearch.lineRange(around: found, in: text)
        if let phone = Self.userPhone(in: bytes[line]), phone.credential == nil { return true }
        start = line.upperBound
      }
      return false
    }
  }

  private static func userPhone(in line: ArraySlice<UInt8>) -> PinnedPhone? {
    let roles = [Self.locum, Self.rootsLocum].map { Array($0.utf8) + [UInt8(ascii: ":")] }
    let isOthers = line.first == UInt8(ascii: "#") || roles.contains { line.starts(with: $0) }
    return isOthers ? nil : phone(in: line)
  }

  private static func phone(in line: ArraySlice<UInt8>) -> PinnedPhone? {
    guard !line.contains(0), !line.contains(UInt8(ascii: "\r")),
      let colon = line.firstIndex(of: UInt8(ascii: ":")),
      let user = String(validating: line[..<colon], as: UTF8.self), UnixUsername(validating: user) != nil,
      let fields = String(validating: line[(colon + 1)...], as: UTF8.self)
    else { return nil }
    return PinnedPhone(fields: fields)
  }

  private func line(at index: Int) -> Int { bytes[..<index].count { $0 == UInt8(ascii: "\n") } + 1 }

  /// The text without the user's lines for which `isGone` holds; a line that cannot be read counts as nil.
  func text(removing user: UnixUsername, where isGone: (PinnedPhone?) -> Bool) -> [UInt8] {
    let key = TokenSearch.key(of: user)
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return Array(
      lines.filter { !$0.starts(with: key) || !isGone(Self.phone(in: $0)) }.joined(separator: [UInt8(ascii: "\n")]))
  }
}
