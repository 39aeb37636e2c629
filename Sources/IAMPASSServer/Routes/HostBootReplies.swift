import IAMPASSProtocol

extension Call {
  /// The boot that a start names, as far as it is signed: the signature covers the address, and the body by its digest
  /// alone. Anybody on the way could otherwise end all sessions of a computer by changing it.
  func signedBootID(of start: StartRequest) -> String? { target.has(BodyDigest.name) ? start.bootID : nil }
}

extension Service {
  /// Ends what this computer opened before it was started again. An application's own credential may be used by several
  /// computers: with that one, each of them ends its own sessions.
  func endEarlierBoots(than bootID: String?, of starter: Starter) async throws {
    guard let bootID, let credential = starter.credential else { return }
    // Nothing need be written in the boot that is known, which is nearly always.
    guard try await !storage.read({ try HostBoot.isCurrent(bootID, of: credential.id, in: $0) }) else { return }
    let now = clock()
    let finding = try await storage.write { db -> HostBoot.Finding in
      // Read again: it may have been revoked since its signature was checked.
      guard try starter.isUsable(in: db) else { return .isCurrent }
      return try HostBoot.note(bootID, of: credential.id, at: now, in: db)
    }
    switch finding {
    case .isCurrent: return
    case .isNew(let ended): announceEnd(of: ended)
    case .isOlder:
      logger.warning(
        "a host credential is used by two computers at once",
        metadata: [
          "credential": "\(credential.name)", "host": "\(credential.host)",
          "hint": "give each computer a credential of its own: sessions of one end when another starts",
        ])
    }
  }
}
