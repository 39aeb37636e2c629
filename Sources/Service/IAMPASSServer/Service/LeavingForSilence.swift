extension SignInService {
  /// Makes the sessions of silent phones leave, and wakes the requests that wait for them.
  ///
  /// If a portion fails or the task is cancelled, earlier portions stay, and the next round goes on.
  func leaveForSilence(at now: UnixTime, portion limit: Int = PresenceBySilence.portion) async throws {
    var isLast = false
    repeat {
      let portion = try await core.storage.leaveForSilence(since: lastCheck.value, at: now, limit: limit)
      // This comes after the look is stored: time of a failed look does not count as silence.
      lastCheck.remember(portion.check)
      core.announceMoves(of: portion.moved)
      isLast = portion.isLast
    } while !isLast && !Task.isCancelled
  }
}
