import CHost
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Findings about the age of this computer's signed list, and about unsigned changes at the service.
enum SignedListFindings {
  /// How long changes may stay unsigned, in seconds.
  static let patience: Int64 = 3_600

  static func findings(_ setup: HostSetup, _ service: ServiceChecks?) -> [Finding] {
    guard setup.configuration.approvals == .verified, let credential = try? setup.credential(),
      let fleet = try? setup.fleet(of: credential.applicationID),
      let version = SignedUsers.version(
        SignedUsers.Place(folder: setup.configuration.stateFolder + "/service"), credential: credential.applicationID)
    else { return [] }
    var found = stat()
    guard stat(setup.serviceUsersPath, &found) == 0 else { return [] }
    let unsigned = service?.unsignedChanges(since: version, administrators: fleet.administrators.number)
    return findings(version, age: Int64(time(nil)) - Int64(found.st_mtim.tv_sec), unsigned)
  }

  /// - Parameters:
  ///   - age: seconds since the list was fetched.
  ///   - unsigned: nil if the service did not answer, or if all changes are signed.
  static func findings(_ version: UserListVersion, age: Int64, _ unsigned: UnsignedChanges?) -> [Finding] {
    let kept = Finding(
      .ok, .users,
      "the signed list in force here, version \(version.epoch).\(version.number), came "
        + "\(ElapsedTime.words(seconds: age)) ago")
    guard let unsigned else { return [kept] }
    let since = unsigned.age.map { ElapsedTime.words(seconds: $0) }
    let text =
      unsigned.count == 0
      ? "the service's list of users must be signed again" + (since.map { ", for \($0) now" } ?? "")
      : "the service has \(Words.counted(Int(clamping: unsigned.count), "change")) of users that no administrator has "
        + "signed" + (since.map { "; the first is \($0) old" } ?? "")
    let isLong = unsigned.age.map { $0 >= patience } ?? true
    return [
      kept,
      Finding(
        isLong ? .warning : .ok, .users, text + "; this computer keeps the list in force",
        hint: "iampass-server user sign, at the service, or its console"),
    ]
  }
}

extension ServiceChecks {
  /// The unsigned changes at the service; nil if it did not answer.
  func unsignedChanges(since version: UserListVersion, administrators: Int64) -> UnsignedChanges? {
    guard isAccepted, let transport = try? setup.transport(interruption: nil),
      let settings = try? setup.serviceSettings(), let credential = try? setup.credential()
    else { return nil }
    let client = UserListClient(
      settings: settings, credential: credential, transport: transport, unixTime: { Int64(time(nil)) })
    let question = UserListQuestion(
      since: version.number, after: "",
      signed: UserListQuestion.Signed(epoch: version.epoch, administrators: administrators))
    return try? client.signedPage(question, deadline: .now().advanced(milliseconds: Self.patience)).unsigned
  }
}
