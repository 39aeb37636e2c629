import FuzzKit
import IAMPASSProtocol

@testable import HostState
@testable import HostSystem
@testable import IAMPASSClient
@testable import WorkerLink

/// A record that is taken is whole and within bounds, and the same after it was written; so is the helper's note.
func fuzzRecord(_ text: [UInt8]) {
  if let note = WatchNote(parsing: text) {
    must(ReferenceJSON(text) != nil, "a note is read from invalid JSON")
    must(
      WatchNote(parsing: note.encoded()).map { $0.encoded() } == note.encoded(), "a note is written otherwise than read"
    )
  }
  guard let record = SessionRecord(parsing: text) else { return }
  guard let reference = ReferenceJSON(text) else { return must(false, "a record is read from invalid JSON") }
  must(SessionRecord(parsing: record.encoded()) == record, "a record is written otherwise than read")
  check(record, reference)
  checkSession(record)
}

private func check(_ record: SessionRecord, _ reference: ReferenceJSON) {
  must(reference["version"] == .number("1"), "a record of another version")
  must(reference["user"]?.string == record.user.text, "another user's record")
  must(reference["uid"]?.integer == Int64(record.uid), "another uid's record")
  must(
    !record.user.text.isEmpty && !record.user.text.contains { "/:\n ".contains($0) }, "an invalid user name is accepted"
  )
  must((0...(1 << 40)).contains(record.created), "made at no time")
  must((0...(366 * 86_400)).contains(record.duration), "longer than anybody asks for")
  must(record.process.pid > 0 && record.parent.pid > 0, "an invalid process is accepted")
  for (name, value) in [
    ("claimed", record.isClaimed), ("released", record.isReleased), ("condemned", record.isLogoutRequested),
  ] {
    must(reference[name] == .bool(value), "\(name) is not as written")
  }
  guard let binding = record.binding else {
    return must(
      reference["logind_session"]?.string == nil, "bound to a session, and nobody knows")
  }
  must(reference["logind_session"]?.string == binding.logindSession, "bound to another session")
  must(binding.leader.pid > 0, "an invalid leader is accepted")
}

/// What the service is asked by it.
private func checkSession(_ record: SessionRecord) {
  guard let server = try? ServerURL("https://iampass.test") else { return must(false, "the service has an address") }
  let settings = ServiceSettings(server: server, scheme: .documented, dialect: .iampass, signedReplies: false)
  guard let session = try? record.remoteSession(settings) else { return }
  must(leadsToTheService(session.statusURL) && leadsToTheService(session.logoutURL), "asks elsewhere")
  must(session.token.isEmpty || isPlainWord(session.token.exposedValue), "a token that cannot stand in a header")
  must(isDocumentedSecret(session.secret.exposedValue), "a secret that cannot sign")
}
