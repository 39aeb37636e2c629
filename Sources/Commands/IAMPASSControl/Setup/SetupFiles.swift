import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The two files with the new values in them.
struct SetupFiles {
  /// The authority of a service that this computer joined.
  static let authority = "service-ca.pem"

  let folder: String
  /// The configuration's name.
  let name: String
  let answers: SetupAnswers
  let trial: SetupTrial

  func write() throws(CommandProblem) {
    do throws(FileError) {
      let changes = try [authority(), configuration(), credentials()].compactMap { $0 }
      guard !changes.isEmpty else { return Terminal.say("nothing to change") }
      for (entry, backup) in changes {
        if let backup { try AtomicFile.write(backup, to: "\(folder)/\(entry.name).bak", mode: entry.mode) }
      }
      try FileSet.write(changes.map(\.0), in: folder)
      for (entry, backup) in changes {
        Terminal.say("wrote \(folder)/\(entry.name)" + (backup == nil ? "" : " (the old one is \(entry.name).bak)"))
      }
      HelperUnit.reload()
    } catch { throw .file(error) }
  }

  /// The configuration's change: only values that differ from those in force. Nil if none differ.
  private func configuration() throws(FileError) -> (FileSet.Entry, backup: [UInt8]?)? {
    var values: [(key: String, value: String)] = []
    let known = answers.configuration
    if known.server != answers.server { values.append(("server", answers.server.description)) }
    if let path = answers.newAuthority, path != known.caFile { values.append(("ca_file", path)) }
    if answers.joining != nil, known.users != .service { values.append(("users", "service")) }
    if answers.joining?.isSigned == true, !saysWhoseApprovalsCount { values.append(("approvals", "verified")) }
    let dropped = answers.joining != nil && answers.newAuthority == nil && known.caFile != nil ? ["ca_file"] : []
    if known.signing != trial.scheme { values.append(("signing", trial.scheme.rawValue)) }
    func word(_ isRequired: Bool) -> String { isRequired ? "required" : "off" }
    let was = ReplyPins(known)
    if was.signedReplies != trial.replies.signedReplies {
      values.append(("signed_replies", word(trial.replies.signedReplies)))
    }
    if was.signedTargets != trial.replies.signedTargets {
      values.append(("signed_targets", word(trial.replies.signedTargets)))
    }
    return try entry(name, values, removing: dropped, .readableByAll, mode: 0o644)
  }

  /// Whether the administrator has already set `approvals`, which then stays.
  private var saysWhoseApprovalsCount: Bool {
    (try? KeyValueFile(path: "\(folder)/\(name)", privacy: .readableByAll))?["approvals"] != nil
  }

  private func authority() throws(FileError) -> (FileSet.Entry, backup: [UInt8]?)? {
    guard let certificates = answers.joining?.certificates else { return nil }
    return (FileSet.Entry(name: Self.authority, bytes: certificates.pem, mode: 0o644), nil)
  }

  /// The credential's change. It has no backup: the old secret may be the application's, which must then leave this
  /// computer.
  private func credentials() throws(FileError) -> (FileSet.Entry, backup: [UInt8]?)? {
    let known = try? ServiceCredential(path: folder + "/credentials")
    let new = answers.credential
    let isSame = known?.applicationID == new.applicationID && known?.secret == new.secret
    // A secret alone does not have the computer's name, so the known name of the same credential stays.
    guard !isSame || (new.host != nil && new.host != known?.host) else { return nil }
    var values = [
      (key: "application_id", value: new.applicationID), (key: "application_secret", value: new.secret.exposedValue),
    ]
    if let host = new.host { values.append(("host", host)) }
    return try entry("credentials", values, removing: new.host == nil ? ["host"] : [], .secret, mode: 0o600)
      .map { ($0.0, nil) }
  }

  /// - Parameter removed: keys of the former file that no longer apply.
  private func entry(
    _ name: String, _ values: [(key: String, value: String)], removing removed: [String] = [],
    _ privacy: SecureFile.Privacy, mode: UInt32
  ) throws(FileError) -> (FileSet.Entry, backup: [UInt8]?)? {
    guard !values.isEmpty || !removed.isEmpty else { return nil }
    var old: [UInt8]?
    do { old = try SecureFile.read("\(folder)/\(name)", privacy: privacy, limit: 64 * 1024) } catch {
      guard error.code == .missing else { throw error }
    }
    let kept = KeyValueEditor.removing(removed, from: old ?? [])
    return (FileSet.Entry(name: name, bytes: KeyValueEditor.setting(values, in: kept), mode: mode), old)
  }
}
