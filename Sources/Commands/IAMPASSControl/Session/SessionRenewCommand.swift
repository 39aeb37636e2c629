import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import IAMPASSClient
import IAMPASSProtocol

extension SessionCommand {
  struct Renew: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Asks the user's phone for a new approval, with which a session goes on.",
      discussion: """
        The session's time begins again once the phone has approved; nothing else prolongs it. Without an ID it is the \
        session that this command runs in.
        """)

    @OptionGroup var host: HostOptions
    @Argument(help: "The session's id, or as much of its beginning as is unique.") var id: String?

    func run() throws {
      try reportingProblems {
        let records = try RecordedSessions(host)
        let session = try id.map { try records.session(beginning: $0) } ?? records.own()
        guard records.helperIsThere else { throw CommandProblem.helperNotThere }
        try records.renew(session, ConfiguredHost(path: host.path, credentials: nil))
      }
    }
  }
}

extension RecordedSessions {
  /// The session that this process runs in.
  func own() throws(CommandProblem) -> RecordedSession {
    let place = CommandPlace.current()
    guard let found = try all().first(where: { place.isIn($0.record) }) else { throw .noOwnSession }
    return found
  }

  func renew(_ session: RecordedSession, _ host: ConfiguredHost) throws(CommandProblem) {
    let record = session.record
    guard record.binding != nil, !record.isReleased, !record.isLogoutRequested else {
      throw .notRenewable(record.publicName)
    }
    let user = try host.enrolledForSignIn(record.user.text)
    let duration = host.setup.configuration.sessionDuration
    // The phone shows the request's purpose, so the approval does not count for a sign-in or a command.
    let context = SignInContext(
      host: Self.hostName(), service: "\(record.service): stay signed in", user: record.user.text, tty: record.tty,
      remoteHost: record.remoteHost)
    let question = PhoneQuestion(
      host: host, user: user, duration: duration,
      context: host.setup.configuration.sendContext == .no ? nil : context)
    let active = try question.approval("approve on the phone that the session goes on")
    do {
      let renewed = try ledger.renew(record, by: active, duration: duration)
      Terminal.say("\(renewed.publicName): goes on for \(Span.text(duration))")
    } catch {
      question.end(active.remote)
      throw error == .notYours ? .notRenewable(record.publicName) : .records(error)
    }
  }

  static func hostName() -> String? {
    var name = [CChar](repeating: 0, count: 256)
    // One byte is left for the final zero, which gethostname omits if the name is too long.
    guard gethostname(&name, name.count - 1) == 0 else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
