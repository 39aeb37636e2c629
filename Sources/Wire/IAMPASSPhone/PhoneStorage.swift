import DeviceProtocol

/// The place where an app keeps its accounts and their keys.
public protocol PhoneStorage {
  /// All accounts of this phone.
  func accounts() throws -> [PhoneAccount]

  /// A new key for a new account.
  func makeKey() throws -> any PhoneKey

  /// A new account's key for agreement, for approvals without a network; nil: it makes none.
  func makeAgreementKey() throws -> (any PhoneAgreementKey)?

  /// Stores the account that `register` returns.
  ///
  /// Make sure that there is room first. Then call `register` once: it uses up the link. If it throws, store nothing.
  func add(_ register: () throws -> PhoneAccount) throws -> PhoneAccount

  /// Forgets the account and its key.
  func remove(_ account: PhoneAccount) throws
}

extension PhoneStorage {
  /// A key from the system's generator, in memory.
  public func makeKey() throws -> any PhoneKey { try DeviceKey.generate() }

  /// Nil: storages written before this method existed make no such key.
  public func makeAgreementKey() throws -> (any PhoneAgreementKey)? { nil }
}
