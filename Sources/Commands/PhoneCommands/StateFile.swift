import CommandSupport
import DeviceProtocol
import Glibc
import HostSystem
import IAMPASSPhone

/// The file of a phone's state: mode 0600, and always complete.
struct StateFile {
  /// The greatest size in bytes.
  private static let greatestSize = 1 << 20

  let path: String

  var exists: Bool { access(path, F_OK) == 0 }

  func read() throws(CommandProblem) -> PhoneAccount {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .notReadable(path, String(cString: strerror(errno))) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & 0o077 == 0 else { throw .unsafeState(path) }
    guard let text = FileText.read(descriptor, atMost: Self.greatestSize), let account = PhoneAccount(parsing: text)
    else { throw .brokenState(path) }
    return account
  }

  /// Reserves a place for a new state before the link is used: a full disk must not waste the link.
  fileprivate func prepare() throws(CommandProblem) -> Draft {
    let draft = path + ".\(getpid()).new"
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .notWritable(path, String(cString: strerror(errno))) }
    return Draft(target: path, path: draft, descriptor: descriptor)
  }

  /// A new file beside the state file, which replaces it once complete.
  fileprivate struct Draft: ~Copyable {
    private let target: String
    private let path: String
    private let descriptor: Int32

    fileprivate init(target: String, path: String, descriptor: Int32) {
      self.target = target
      self.path = path
      self.descriptor = descriptor
    }

    deinit {
      close(descriptor)
      // After `commit` the file has its final name, and this finds nothing.
      unlink(path)
    }

    consuming func commit(_ account: PhoneAccount) throws {
      guard let key = account.key as? DeviceKey else { throw DeviceKeyError.notAKey }
      let text = try account.encoded(with: key, agreementKey: account.agreementKey as? DeviceKey)
      guard write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0, rename(path, target) == 0 else {
        throw CommandProblem.notWritable(target, String(cString: strerror(errno)))
      }
      // Its name, too: a registration removes the other copy of the keys next.
      try? FolderFlush.settle(SecureFile.folder(of: target))
    }
  }
}

extension StateFile: PhoneStorage {
  func accounts() throws -> [PhoneAccount] { exists ? [try read()] : [] }

  func add(_ register: () throws -> PhoneAccount) throws -> PhoneAccount {
    let draft = try prepare()
    let account = try register()
    try draft.commit(account)
    return account
  }

  func makeAgreementKey() throws -> (any PhoneAgreementKey)? { try DeviceKey.generate() }

  /// The account, which gets its key for agreement if an earlier version registered it.
  func readWithAgreementKey() throws -> PhoneAccount {
    let account = try read()
    guard account.agreementKey == nil else { return account }
    let draft = try prepare()
    let whole = PhoneAccount(
      server: account.server, device: account.device, key: account.key, agreementKey: try DeviceKey.generate(),
      application: account.application, user: account.user, authority: account.authority,
      documents: account.documents)
    try draft.commit(whole)
    return whole
  }

  func remove(_ account: PhoneAccount) throws {
    guard unlink(path) == 0 else { throw CommandProblem.notRemoved(path, String(cString: strerror(errno))) }
  }
}

extension StateFile: DocumentStorage {
  func documentMemory() throws -> DocumentMemory { try read().documents }

  func keep(_ memory: DocumentMemory) throws {
    var account = try read()
    guard account.documents != memory else { return }
    account.documents = memory
    try prepare().commit(account)
  }
}

/// Reads whole files of limited size.
enum FileText {
  /// Nil if the file cannot be read or is larger.
  static func read(_ descriptor: Int32, atMost limit: Int) -> [UInt8]? {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0, text.count + count <= limit else { return nil }
      if count == 0 { return text }
      text += buffer.prefix(count)
    }
  }

  static func read(authority path: String, atMost limit: Int = 1 << 20) throws(CommandProblem) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .authorityNotReadable(path, String(cString: strerror(errno))) }
    defer { close(descriptor) }
    guard let text = read(descriptor, atMost: limit) else {
      throw .authorityNotReadable(path, "the file is too large, or reading failed")
    }
    return text
  }
}
