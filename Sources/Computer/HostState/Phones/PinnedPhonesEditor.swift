import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Changes `/etc/iampass/phones`: the old file or the new one is there at any moment, and two editors wait for each other.
public struct PinnedPhonesEditor: Sendable {
  /// Others may read the file: public keys are not secret.
  private static let mode: UInt32 = 0o644

  private let path: String

  public init(path: String) { self.path = path }

  /// Trusts the phone for the user.
  ///
  /// - Parameter replacing: whether it is the user's only phone from now on. Otherwise it takes the place of a line with
  ///   the same id or key alone.
  /// - Throws: ``PinnedPhonesError/tooMany``, and what is wrong with the user's other lines if those stay.
  public func pin(_ phone: PinnedPhone, for user: UnixUsername, replacing: Bool) throws(PinnedPhonesError) {
    try edit { (known) throws(PinnedPhonesError) in
      var lost: [PinnedPhone] = []
      let kept = known.text(removing: user) { old in
        let isThis = old.map { $0.id == phone.id || $0.key == phone.key } ?? false
        // Also the phone's own former key, if it was registered again.
        if replacing || isThis, let old, old.key != phone.key { lost.append(old) }
        return replacing || isThis
      }
      var text = Self.text(
        kept,
        withoutLocums: { old in old.key != phone.key && lost.contains { $0.id == old.id || $0.key == old.key } })
      if let last = text.last, last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
      text += Array("\(user.text):\(phone.fields)\n".utf8)
      // What no sign-in would take is not written.
      guard try PinnedPhones(parsing: text).phones(of: user).contains(phone) else { throw .badLine(0) }
      return text
    }
  }

  /// Trusts the user's phones no more, for others neither: all, or those with this id. Lines that cannot be read go with
  /// all.
  ///
  /// - Returns: whether the file had such a line. Otherwise nothing is written.
  @discardableResult
  public func forget(_ user: UnixUsername, phone id: String? = nil) throws(PinnedPhonesError) -> Bool {
    var hadOne = false
    try edit { (known) throws(PinnedPhonesError) in
      var lost: [PinnedPhone] = []
      let kept = known.text(removing: user) { old in
        let isGone = id == nil || old?.id == id
        hadOne = hadOne || isGone
        if isGone, let old { lost.append(old) }
        return isGone
      }
      // A locum's line has the administrator's name in the place of the phone's.
      let text = Self.text(
        kept,
        withoutLocums: { old in
          let isGone =
            (id == nil && old.name.utf8.elementsEqual(user.text.utf8)) || old.id == id
            || lost.contains { $0.id == old.id || $0.key == old.key }
          hadOne = hadOne || isGone
          return isGone
        })
      return hadOne ? text : nil
    }
    return hadOne
  }

  /// Without the lines of phones that may answer for others, and for which `isGone` holds.
  private static func text(_ text: [UInt8], withoutLocums isGone: (PinnedPhone) -> Bool) -> [UInt8] {
    [PinnedPhones.locum, PinnedPhones.rootsLocum].compactMap { UnixUsername(validating: $0) }.reduce(text) {
      text, role in
      PinnedPhones(parsing: text).text(removing: role) { $0.map(isGone) ?? false }
    }
  }

  /// - Parameter change: gives the new text; nil leaves the file as it is.
  private func edit(
    _ change: (PinnedPhones) throws(PinnedPhonesError) -> [UInt8]?
  ) throws(PinnedPhonesError) {
    let lock: EditorLock
    do { lock = try EditorLock(of: path) } catch { throw .file(error) }
    defer { withExtendedLifetime(lock) {} }
    guard let text = try change(try PinnedPhones(path: path)) else { return }
    guard text.count <= PinnedPhones.greatestSize else { throw .file(FileError(.tooLarge, path: path)) }
    do { try AtomicFile.write(text, to: path, mode: Self.mode) } catch { throw .file(error) }
  }
}
