import CHost
import CPAM
import HostState
import IAMPASSProtocol

// The functions that the shim in pam/ calls. They turn PAM's arguments into values.

@c(iampass_authenticate)
public func iampassAuthenticate(
  _ handle: OpaquePointer, _ count: Int32, _ words: UnsafePointer<UnsafePointer<CChar>?>?
) -> Int32 {
  Secret.staysOutOfDumps = true
  let host = PAMHost(handle: handle)
  let words = moduleWords(count, words)
  if ModuleArguments(reading: words).servesKeyring { return cleared(KeyringCall(host: host, words: words).run()) }
  KeptApproval.reset(host)
  KeptSession.endOfAnotherUser(host, line: words)
  return cleared(AuthenticateCall(host: host, words: words).run())
}

@c(iampass_open_session)
public func iampassOpenSession(
  _ handle: OpaquePointer, _ count: Int32, _ words: UnsafePointer<UnsafePointer<CChar>?>?
) -> Int32 {
  Secret.staysOutOfDumps = true
  return cleared(SessionCall(host: PAMHost(handle: handle), words: moduleWords(count, words)).open())
}

@c(iampass_renew_credentials)
public func iampassRenewCredentials(
  _ handle: OpaquePointer, _ count: Int32, _ words: UnsafePointer<UnsafePointer<CChar>?>?
) -> Int32 {
  return cleared(SessionCall(host: PAMHost(handle: handle), words: moduleWords(count, words)).unlock())
}

@c(iampass_close_session)
public func iampassCloseSession(
  _ handle: OpaquePointer, _ count: Int32, _ words: UnsafePointer<UnsafePointer<CChar>?>?
) -> Int32 {
  return cleared(SessionCall(host: PAMHost(handle: handle), words: moduleWords(count, words)).close())
}

/// Clears the registers, because the host may run for hours afterwards.
private func cleared(_ answer: Int32) -> Int32 {
  iampass_clear_vector_registers()
  return answer
}

private func moduleWords(_ count: Int32, _ words: UnsafePointer<UnsafePointer<CChar>?>?) -> [String] {
  guard let words, count > 0 else { return [] }
  // SAFETY: PAM owns the words and keeps them through this call.
  return (0..<Int(count)).compactMap { words[$0].map { String(cString: $0) } }
}
