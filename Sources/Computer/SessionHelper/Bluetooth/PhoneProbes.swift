import HostState
import HostSystem
import PresenceLink

/// Looks for phones, one at a time. Bluetooth pages are serial: with two at once, one of the phones would seem away.
///
/// A round asks for each phone of one user until one is near. Rounds take turns after each phone, so that a user with
/// several absent phones does not hold up the others. Times are milliseconds after boot.
final class PhoneProbes {
  /// A round that has ended.
  struct Found {
    let user: UnixUsername
    /// One answer for each phone; at least one.
    let answers: [ProbeAnswer]
    /// When the first look began.
    let began: Int64
  }

  private struct Round {
    let user: UnixUsername
    var phones: [BoundPhone]
    var answers: [ProbeAnswer] = []
    var began: Int64?
  }

  private let probe: any PhoneProbe
  private let bonds: PhoneBonds
  /// The first round is under way if ``asked`` is set.
  private var rounds: [Round] = []
  private var asked: BoundPhone?

  init(probe: any PhoneProbe, bonds: PhoneBonds) {
    self.probe = probe
    self.bonds = bonds
  }

  /// When ``turn(at:)`` has something to do although the probe's descriptor is silent; nil without a round.
  var due: Int64? { rounds.isEmpty ? nil : asked == nil ? 0 : probe.deadline }

  /// - Parameter phones: at least one.
  func begin(_ user: UnixUsername, _ phones: [BoundPhone]) { rounds.append(Round(user: user, phones: phones)) }

  /// Gives up the rounds of a user.
  func forget(_ user: UnixUsername) {
    if asked?.user == user {
      asked = nil
      probe.rest()
    }
    rounds.removeAll { $0.user == user }
  }

  /// Gives up all rounds and the probe's connection. The probe ends by itself without a connection.
  func startOver() {
    (rounds, asked) = ([], nil)
    probe.rest()
  }

  /// Does all steps that do not wait. Returns the rounds that have ended.
  func turn(at now: Int64) -> [Found] {
    var found: [Found] = []
    while !rounds.isEmpty {
      guard let phone = asked else {
        if let answer = ask(now), let round = conclude(answer, now) { found.append(round) }
        continue
      }
      guard let answer = probe.answer(at: now) else { break }
      asked = nil
      // If the bond was removed meanwhile, the phone would look like an impostor.
      if let round = conclude(bonds.ignorance(of: phone) ?? answer, now) { found.append(round) }
    }
    return found
  }

  /// Asks for the next phone of the first round.
  ///
  /// - Returns: an answer that needs no look.
  private func ask(_ now: Int64) -> ProbeAnswer? {
    let phone = rounds[0].phones.removeFirst()
    rounds[0].began = rounds[0].began ?? now
    if let ignorance = bonds.ignorance(of: phone) { return ignorance }
    let level: ProbeRequest.Level = bonds.requiresAuthenticatedKeys ? .high : .medium
    probe.ask(ProbeRequest(adapter: phone.adapter, phone: phone.phone, level: level), at: now)
    asked = phone
    return nil
  }

  private func conclude(_ answer: ProbeAnswer, _ now: Int64) -> Found? {
    var round = rounds.removeFirst()
    round.answers.append(answer)
    guard answer == .near || round.phones.isEmpty else {
      rounds.append(round)
      return nil
    }
    return Found(user: round.user, answers: round.answers, began: round.began ?? now)
  }
}
