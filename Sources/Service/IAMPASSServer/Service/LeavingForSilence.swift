extension SignInService {
  func leaveForSilence(at now: UnixTime) async throws {
    let (look, changed) = try await core.storage.leaveForSilence(since: lastLook.value, at: now)
    // Only after it is stored: a failed look did not listen.
    lastLook.remember(look)
    core.announceMoves(of: changed)
  }
}
