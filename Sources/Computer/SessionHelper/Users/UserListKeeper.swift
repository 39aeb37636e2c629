import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Keeps this computer's copy of the service's list of users. It asks one question, which the service holds until the
/// list changes.
///
/// Times are milliseconds after boot.
final class UserListKeeper {
  /// The pause between two questions while the service does not hold them.
  private static let pollTime: Int64 = 5_000
  /// The shortest pause before the next question, so that a broken service does not keep the helper busy.
  private static let leastPause: Int64 = 1_000
  /// The pause after an invalid list: the service will not have a better one soon.
  private static let refusedTime: Int64 = 60_000
  private static let complaintTime: Int64 = 600_000

  /// The list's file, and the credential that it belongs to.
  struct Place {
    let path: String
    let state: RunFolder
    let credential: String
    /// The service's origin, as phones spell it.
    var origin = ""

    private var folder: String { path.hasSuffix("/users") ? String(path.dropLast("/users".count)) : path }
    /// The administrators whose phones sign the list, and the kept list.
    var fleet: Fleet? { get throws(FleetError) { try Fleet.kept(in: folder, credential: credential) } }
    var signed: SignedUsers.Place { SignedUsers.Place(folder: folder) }
    /// The version of the signed list; nil if no complete list is kept, or if the signing administrators are not known.
    var signedVersion: UserListVersion? {
      guard let fleet = try? fleet else { return nil }
      return SignedUsers.version(signed, credential: fleet.credential)
    }
  }

  /// A list that is being fetched.
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
  /// The stamp of the file that ``known`` is from.
  private var stamp: FileStamp?
  private var fetch: Fetch?
  private var asked: (ticket: SessionService.Ticket, at: Int64, mark: String?)?
  private var mark: ComputerMark?
  /// The connection may be a new one.
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

  /// - Parameter place: nil if the users are in this computer's own file.
  func adopt(_ place: Place?, at now: Int64) {
    asked = nil
    fetch = nil
    self.place = place
    known = nil
    isNothingSigned = false
    mark = place.map { ComputerMark(in: $0.state, credential: $0.credential) }
    isConnectedAnew = true
    due = place == nil ? nil : now
  }

  /// Begins again after a sleep: questions under way are lost with their connections.
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
    // The service already has the next page of a list, and does not wait with it.
    let isFirst = next.after.isEmpty
    let question = UserListQuestion(
      since: next.since, after: next.after, mark: isFirst ? mark?.sent : nil, signed: next.signed)
    // The service may also hold the question until a first list is signed.
    let mayHold = isFirst && (question.since > 0 || isNothingSigned)
    asked = (service.askUsers(question, mayHold: mayHold), now, question.mark?.mark)
  }

  /// Nil if the signing administrators are not known. The list is not asked for then.
  private func begun(_ place: Place, _ now: Int64) -> Fetch? {
    do throws(FleetError) {
      guard let fleet = try place.fleet else {
        // The file may have been lost, damaged or replaced by an older one meanwhile.
        let found = FileStamp(path: place.path)
        if known == nil || found != stamp {
          known = ServiceUsers(path: place.path, credential: place.credential)
          stamp = found
        }
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

  /// Makes a new mark. If it cannot be kept, the last mark stays: the service must not take this computer for another
  /// one.
  private func renewMark(in state: RunFolder, _ now: Int64) {
    isConnectedAnew = false
    do { try mark?.renew(in: state) } catch { complainOfMark(error, now) }
  }

  private func confirm(_ sent: String?, _ now: Int64) {
    guard let sent, let place else { return }
    do { try mark?.confirm(sent, in: place.state) } catch { complainOfMark(error, now) }
  }

  private func complainOfMark(_ error: FileError, _ now: Int64) {
    if let complainedOfMark, now - complainedOfMark < Self.complaintTime { return }
    complainedOfMark = now
    log.write(LOG_WARNING, "the mark by which a copied computer is noticed is not kept: \(error.explanation)")
  }

  /// - Returns: false if the question was not asked here.
  func took(_ ticket: SessionService.Ticket, _ outcome: ServiceOutcome, _ pace: PollingSchedule, _ now: Int64) -> Bool {
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

  /// - Parameter wasHeld: whether the service says that it held its reply.
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

  /// - Parameter wasHeld: whether the service says that it held its reply.
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
    stamp = place.flatMap { FileStamp(path: $0.path) }
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
