extension SignInService {
  func leaveForSilence(at now: UnixTime) async throws {
    let (check, changed) = try await core.storage.leaveForSilence(since: lastCheck.value, at: now)
    // This comes after the look is stored: time of a failed look does not count as silence.
    lastCheck.remember(check)
    core.announceMoves(of: changed)
  }
}
