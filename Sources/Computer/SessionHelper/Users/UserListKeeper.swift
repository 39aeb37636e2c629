import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Keeps this computer's list of users as the service has it: one question that the service holds until the list changes.
///
/// Times are milliseconds after boot.
final class UserListKeeper {
  /// While the service does not hold the question.
  private static let pollTime: Int64 = 5_000
  /// Before the next question, whatever the service says: a broken one must not keep the helper busy.
  private static let leastPause: Int64 = 1_000
  /// After a list that is refused: nothing better is to be expected soon.
  private static let refusedTime: Int64 = 60_000
  private static let complaintTime: Int64 = 600_000

  /// The file of the list, and for which credential it is.
  struct Place {
    let path: String
    let state: RunFolder
    let credential: String
    /// The service's, as phones spell it.
    var origin = ""

    private var folder: String { path.hasSuffix("/users") ? String(path.dropLast("/users".count)) : path }
    /// Whose phones sign the list, and what is kept of it.
    var fleet: Fleet? { get throws(FleetError) { try Fleet.kept(in: folder, credential: credential) } }
    var signed: SignedUsers.Place { SignedUsers.Place(folder: folder) }
    /// The version of the list that administrators' phones have signed; nil if nothing whole is kept, or if nobody knows
    /// whose phones sign.
    var signedVersion: UserListVersion? {
      guard let fleet = try? fleet else { return nil }
      return SignedUsers.version(signed, credential: fleet.credential)
    }

    /// Beside the list.
    var markPath: String { path.hasSuffix("/users") ? String(path.dropLast("users".count)) + "mark" : path + ".mark" }
  }

  /// A list under way.
  private enum Fetch {
    case plain(UserListFetch)
    case signed(SignedListFetch)

    var next: UserListQuestion {
      switch self {
      case .plain(let fetch): fetch.next
      case .signed(let fetch): fetch.next
      }
    }
  }

  private let log: any HelperLog
  private let verifier: any SignatureVerifier
  private var place: Place?
  private var known: ServiceUsers?
  private var fetch: Fetch?
  private var asked: (ticket: SessionService.Ticket, at: Int64, mark: String?)?
  private var mark: ComputerMark?
  /// The connection is another one than before, as far as is known.
  private var isConnectedAnew = false
  /// The last reply said that no administrator has signed a list.
  private var isNothingSigned = false
  private(set) var due: Int64?
  private var failures = 0
  private var complained: (text: String, at: Int64)?
  private var complainedOfMark: Int64?

  init(log: any HelperLog, verifier: any SignatureVerifier = LibcryptoVerifier()) {
    self.log = log
    self.verifier = verifier
  }

  /// - Parameter place: nil: the users are in a file of this computer's own.
  func adopt(_ place: Place?, at now: Int64) {
    asked = nil
    fetch = nil
    self.place = place
    known = nil
    isNothingSigned = false
    mark = place.map { ComputerMark(path: $0.markPath, credential: $0.credential) }
    isConnectedAnew = true
    due = place == nil ? nil : now
  }

  /// After a sleep: what was under way is lost with its connections.
  func startOver(_ now: Int64) {
    asked = nil
    fetch = nil
    isConnectedAnew = true
    if place != nil { due = now }
  }

  func turn(_ service: any SessionService, _ now: Int64) {
    guard let place, asked == nil, let due, due <= now else { return }
    self.due = nil
    guard let current = fetch ?? begun(place, now) else { return }
    fetch = current
    if isConnectedAnew { renewMark(in: place.state, now) }
    let next = current.next
    // A page in the middle of a list is there already.
    let isFirst = next.after.isEmpty
    let question = UserListQuestion(
      since: next.since, after: next.after, mark: isFirst ? mark?.told : nil, signed: next.signed)
    // A list that nobody has signed yet may be waited for, too.
    let mayHold = isFirst && (question.since > 0 || isNothingSigned)
    asked = (service.askUsers(question, mayHold: mayHold), now, question.mark?.mark)
  }

  /// Nil if nobody knows whose phones sign the list: it is not asked for then.
  private func begun(_ place: Place, _ now: Int64) -> Fetch? {
    do throws(FleetError) {
      guard let fleet = try place.fleet else {
        if known == nil { known = ServiceUsers(path: place.path, credential: place.credential) }
        return .plain(UserListFetch(known: known, credential: place.credential))
      }
      known = nil
      return .signed(
        SignedListFetch(
          known: SignedListFetch.Known(place.signed, credential: place.credential), fleet: fleet,
          origin: place.origin, verifier: verifier))
    } catch {
      complain(error.explanation, now)
      due = now + Self.refusedTime
      return nil
    }
  }

  /// Without a mark that can be kept, the last one goes on: the service must not take this computer for another.
  private func renewMark(in state: RunFolder, _ now: Int64) {
    isConnectedAnew = false
    do { try mark?.renew(in: state) } catch { complainOfMark(error, now) }
  }

  private func confirm(_ told: String?, _ now: Int64) {
    guard let told, let place else { return }
    do { try mark?.confirm(told, in: place.state) } catch { complainOfMark(error, now) }
  }

  private func complainOfMark(_ error: FileError, _ now: Int64) {
    if let complainedOfMark, now - complainedOfMark < Self.complaintTime { return }
    complainedOfMark = now
    log.write(LOG_WARNING, "the mark by which a copied computer is noticed is not kept: \(error.explanation)")
  }

  /// - Returns: false if the question was another's.
  func took(_ ticket: SessionService.Ticket, _ outcome: ServiceOutcome, _ pace: AskingPace, _ now: Int64) -> Bool {
    guard let asked, asked.ticket == ticket else { return false }
    self.asked = nil
    switch outcome {
    case .users(let page):
      confirm(asked.mark, now)
      took(page, wasHeld: page.isHeld && now - asked.at >= Self.leastPause, now)
    case .signedUsers(let page):
      confirm(asked.mark, now)
      took(page, wasHeld: page.isHeld && now - asked.at >= Self.leastPause, now)
    case .failed(let error):
      failures += 1
      fetch = nil
      isConnectedAnew = true
      due = now + pace.afterFailure(failures)
      if !error.isPassing { complain(error.explanation, now) }
    default: due = now + Self.pollTime
    }
    return true
  }

  /// - Parameter wasHeld: the service waited with its reply, as it says.
  private func took(_ page: UserListPage, wasHeld: Bool, _ now: Int64) {
    failures = 0
    guard case .plain(var fetch)? = fetch, let place else { return askAgain(now) }
    let step = fetch.took(page)
    self.fetch = nil
    switch step {
    case .ask:
      self.fetch = .plain(fetch)
      due = now
    case .unchanged: due = wasHeld ? now : now + Self.pollTime
    case .refused(let reason):
      complain(reason.rawValue, now)
      due = now + Self.refusedTime
    case .done(let list, let removed):
      keep(list, removed, in: place.state, now)
    }
  }

  /// - Parameter wasHeld: the service waited with its reply, as it says.
  private func took(_ page: SignedListPage, wasHeld: Bool, _ now: Int64) {
    failures = 0
    guard case .signed(var fetch)? = fetch, let place else { return askAgain(now) }
    let step = fetch.took(page)
    self.fetch = nil
    isNothingSigned = false
    switch step {
    case .ask:
      self.fetch = .signed(fetch)
      due = now
    case .administrators(let fleet): keep(fleet, in: place.state, now)
    case .unchanged: due = wasHeld ? now : now + Self.pollTime
    case .nothingSigned:
      isNothingSigned = true
      complain("no administrator has signed it yet", now)
      due = wasHeld ? now : now + Self.pollTime
    case .refused(let reason):
      complain(reason.explanation, now)
      due = now + Self.refusedTime
    case .done(let list, let removed, let lostPhones):
      keep(list, removed, lostPhones, in: place.state, now)
    }
  }

  private func askAgain(_ now: Int64) {
    fetch = nil
    due = now + Self.leastPause
  }

  /// The next question begins from what is kept.
  private func keep(_ fleet: Fleet, in state: RunFolder, _ now: Int64) {
    do {
      _ = try fleet.write(in: state)
      log.write(LOG_NOTICE, "administrators=\(fleet.administrators.number)")
      due = now
    } catch {
      complain(error.explanation, now)
      due = now + Self.refusedTime
    }
  }

  private func keep(
    _ list: SignedUsers, _ removed: [String], _ lostPhones: [String], in state: RunFolder, _ now: Int64
  ) {
    do { _ = try list.write(in: state) } catch {
      complain(error.explanation, now)
      due = now + Self.refusedTime
      return
    }
    log.write(
      LOG_NOTICE,
      "users=\(list.lines.count) version=\(list.version.epoch).\(list.version.number) signed"
        + Self.named("removed", removed) + Self.named("removed_phones", lostPhones))
    complained = nil
    due = now + Self.leastPause
  }

  private static func named(_ what: String, _ names: [String]) -> String {
    names.isEmpty ? "" : " \(what)=\(names.prefix(10).joined(separator: ","))\(names.count > 10 ? ",…" : "")"
  }

  private func keep(_ list: ServiceUsers, _ removed: [String], in state: RunFolder, _ now: Int64) {
    let isRepeated = list.version == known?.version
    do { known = try list.write(in: state) } catch {
      complain(error.explanation, now)
      due = now + Self.refusedTime
      return
    }
    log.write(
      LOG_NOTICE,
      "users=\(list.tokens.count) version=\(list.version.epoch).\(list.version.number)"
        + Self.named("removed", removed))
    complained = nil
    due = now + (isRepeated ? Self.pollTime : Self.leastPause)
  }

  private func complain(_ text: String, _ now: Int64) {
    if let complained, complained.text == text, now - complained.at < Self.complaintTime { return }
    complained = (text, now)
    log.write(LOG_WARNING, "the service's list of users is not taken: \(text); the last one stays")
  }
}
