import DeviceProtocol

/// The place where an app keeps its accounts and their keys.
public protocol PhoneStorage {
  /// All accounts of this phone.
  func accounts() throws -> [PhoneAccount]

  /// A new key for a new account.
  func makeKey() throws -> any PhoneKey

  /// A new key for agreement, by which a new account approves without a network; nil: it shall not.
  func makeAgreementKey() throws -> (any PhoneAgreementKey)?

  /// Stores the account that `register` returns.
  ///
  /// Make sure that there is room before you call `register`, once: it uses the link up. Store nothing if it throws.
  func add(_ register: () throws -> PhoneAccount) throws -> PhoneAccount

  /// Forgets the account and its key.
  func remove(_ account: PhoneAccount) throws
}

extension PhoneStorage {
  /// A key from the system's generator, in memory.
  public func makeKey() throws -> any PhoneKey { try DeviceKey.generate() }

  /// None: storages of before know no such key.
  public func makeAgreementKey() throws -> (any PhoneAgreementKey)? { nil }
}
