import IAMPASSProtocol

extension StorageEngine {
  func stock() async throws -> StorageStock { try await readOnce { try StorageStock(in: $0) } }
}

extension StorageEngine {
  /// When the nonces were used that may be forgotten: before this moment, in milliseconds. Nil if there are none, so
  /// that nobody who signs a request waits for nothing.
  func endOfOldNonces(at now: UnixTime, wall: UnixTime) async throws -> Int64? {
    try await readOnce { try NonceTimes.endOfOld(at: now, wall: wall, in: $0) }
  }
}

extension StorageTransaction {
  /// Deletes a portion: see ``HousekeepingStore/forgetOld(_:at:wall:)``. Each engine deletes nonces and notes itself.
  ///
  /// - Returns: whether there may be more.
  func forgetOld(_ kind: Forgettable, at now: UnixTime) throws -> Bool {
    let count =
      switch kind {
      case .links: try Link.prune(at: now, in: self)
      case .blocks: try SourceBlock.prune(at: now, in: self)
      case .answers: try KeptAnswer.prune(at: now, in: self)
      case .endedSessions: try Session.prune(at: now, in: self)
      case .auditEntries: try AuditEntry.prune(at: now, in: self)
      case .codeUses: try CodeUse.prune(at: now, in: self)
      case .consoleVisits: try ConsoleAccess.prune(at: now, in: self)
      case .cutOffPhones: try Phone.prune(at: now, in: self)
      case .revokedCredentials: try HostCredential.prune(at: now, in: self)
      case .joinings: try Joining.prune(at: now, in: self)
      case .nonces, .notes: 0
      }
    return count >= Forgettable.portion
  }
}
