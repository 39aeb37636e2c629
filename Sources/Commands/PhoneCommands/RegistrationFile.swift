import CommandSupport
import DeviceProtocol
import Glibc
import HostSystem
import IAMPASSPhone
import IAMPASSProtocol

/// The keys of a phone until its account is in the state file: a file beside that, mode 0600.
///
/// They are on the disk before the link is used. If the command ends without the service's reply, it can be given once
/// more with the same link: the service repeats the reply to the same keys, and to no others.
struct RegistrationFile {
  /// In bytes: two keys.
  private static let greatestSize = 4_096

  let state: StateFile
  let link: RegistrationLink

  private struct Keys {
    let own: DeviceKey
    let agreement: DeviceKey
  }

  private var path: String { state.path + ".registering" }

  /// Whether an earlier command may have used this link.
  var isBegun: Bool { kept != nil }

  /// The keys that an earlier command made for this link; nil if there are none.
  private var kept: Keys? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var found = stat()
    guard fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG, found.st_uid == geteuid(),
      found.st_mode & 0o077 == 0, let text = FileText.read(descriptor, atMost: Self.greatestSize),
      let json = try? JSON(parsing: text), json["link"]?.string == linkDigest,
      let own = json["private_key"]?.string.flatMap({ try? DeviceKey(exported: Secret($0)) }),
      let agreement = json["agreement_private_key"]?.string.flatMap({ try? DeviceKey(exported: Secret($0)) })
    else { return nil }
    return Keys(own: own, agreement: agreement)
  }

  /// The keys for this link. New ones are on the disk when this returns.
  private func keys() throws -> Keys {
    if let kept { return kept }
    let made = Keys(own: try DeviceKey.generate(), agreement: try DeviceKey.generate())
    let text = JSON.object([
      "link": .string(linkDigest), "private_key": .string(try made.own.exported().exposedValue),
      "agreement_private_key": .string(try made.agreement.exported().exposedValue),
    ]).encoded()
    // What a command left that was killed.
    let draft = path + ".\(getpid()).new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw CommandProblem.notWritable(path, String(cString: strerror(errno))) }
    defer { close(descriptor) }
    guard write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0, rename(draft, path) == 0 else {
      let reason = String(cString: strerror(errno))
      unlink(draft)
      throw CommandProblem.notWritable(path, reason)
    }
    try? FolderFlush.settle(SecureFile.folder(of: path))
    return made
  }

  /// The code itself is worth as much as the keys until it is used.
  private var linkDigest: String {
    Digest.hexadecimal(Digest.sha256(Array("\(link.server.description) ".utf8) + link.code.exposedBytes))
  }
}

extension RegistrationFile: PhoneStorage {
  func accounts() throws -> [PhoneAccount] { try state.accounts() }
  func makeKey() throws -> any PhoneKey { try keys().own }
  func makeAgreementKey() throws -> (any PhoneAgreementKey)? { try keys().agreement }

  func add(_ register: () throws -> PhoneAccount) throws -> PhoneAccount {
    do {
      let account = try state.add(register)
      unlink(path)
      return account
    } catch {
      // The service has decided: the keys are of no use.
      if case .refused? = error as? PhoneError { unlink(path) }
      throw error
    }
  }

  func remove(_ account: PhoneAccount) throws { try state.remove(account) }
}
