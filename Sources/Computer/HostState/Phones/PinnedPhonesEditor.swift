import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Changes `/etc/iampass/phones`: at any moment the old or the new file is there. Two editors wait for each other.
public struct PinnedPhonesEditor: Sendable {
  /// Others may read the file, because public keys are not secret.
  private static let mode: UInt32 = 0o644

  private let path: String

  private let flush: @Sendable (String) throws(FileError) -> Void

  public init(path: String) { self.init(path: path, flush: FolderFlush.settle) }

  /// - Parameter flush: what flushes a folder.
  package init(path: String, flush: @escaping @Sendable (String) throws(FileError) -> Void) {
    self.path = path
    self.flush = flush
  }

  /// Adds the phone to the user's trusted phones.
  ///
  /// - Parameter replacing: whether it replaces all phones of the user. Otherwise it replaces only a line with the same
  ///   id or key.
  /// - Throws: ``PinnedPhonesError/tooMany``, and the errors of the user's other lines if those stay.
  public func pin(_ phone: PinnedPhone, for user: UnixUsername, replacing: Bool) throws(PinnedPhonesError) {
    try edit { (known) throws(PinnedPhonesError) in
      var lost: [PinnedPhone] = []
      let kept = known.text(removing: user) { old in
        let isThis = old.map { $0.id == phone.id || $0.key == phone.key } ?? false
        // This includes the phone's former key if the phone was registered again.
        if replacing || isThis, let old, old.key != phone.key { lost.append(old) }
        return replacing || isThis
      }
      var text = Self.text(
        kept,
        withoutLocums: { old in old.key != phone.key && lost.contains { $0.id == old.id || $0.key == old.key } })
      if let last = text.last, last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
      text += Array("\(user.text):\(phone.fields)\n".utf8)
      // A line that sign-ins would not take is not written.
      guard try PinnedPhones(parsing: text).phones(of: user).contains(phone) else { throw .badLine(0) }
      return text
    }
  }

  /// Removes the user's phones, all or those with this id. Locum lines of these phones are removed too. Unreadable
  /// lines are removed if all phones are.
  ///
  /// - Returns: whether a line was removed. If none was, the file is not written.
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
      // A locum's line has the administrator's name in place of the phone's.
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

  /// The text without the locum lines for which `isGone` holds.
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
    do throws(FileError) {
      try AtomicFile.write(text, to: path, mode: Self.mode)
      // What follows relies on it: no power cut may bring a lost phone back once the service was told of it.
      try flush(SecureFile.folder(of: path))
    } catch { throw .file(error) }
  }
}
