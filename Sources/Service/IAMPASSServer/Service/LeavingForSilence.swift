extension SignInService {
  func leaveForSilence(at now: UnixTime) async throws {
    let (look, changed) = try await core.storage.leaveForSilence(since: lastLook.value, at: now)
    // This comes after the look is stored: time of a failed look does not count as silence.
    lastLook.remember(look)
    core.announceMoves(of: changed)
  }
}
