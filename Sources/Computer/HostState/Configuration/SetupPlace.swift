import HostSystem

/// The paths of this computer's setup: the configuration and the files in its folder.
public struct SetupPlace: Sendable, Equatable {
  /// The configuration's path, such as `/etc/iampass/iampass.conf`.
  public let configuration: String

  /// - Parameter configuration: a path. A relative path starts at the process's working directory.
  public init(configuration: String) { self.configuration = configuration }

  /// The folder that the configuration is in.
  public var folder: String { SecureFile.folder(of: configuration) }
  /// The configuration's name in its folder.
  public var name: String { configuration.split(separator: "/").last.map(String.init) ?? configuration }
  /// The file of the application's or the computer's credential.
  public var credentials: String { beside("credentials") }
  /// The file of the users' tokens.
  public var users: String { beside("users") }
  /// The file of the phones that this computer trusts (``PinnedPhones``). It may be missing.
  public var phones: String { beside("phones") }
  /// The file with digests of the phone's page, as `iampass-server page-digest` prints them. It may be missing.
  public var pageDigests: String { beside("page-digests") }
  /// The file of the bound phones (``BoundPhones``). It may be missing.
  public var presence: String { beside("presence") }
  /// The folder with rows of PAM services (``OwnServices``). It may be missing.
  public var ownServices: String { beside(OwnServices.folder) }
  /// The file with the notes of a trial (``TrialNotes``).
  public var trial: String { beside("iampass-trial") }
  /// The file that says that a trial has ended (``TrialEndNote``). It may be missing.
  public var trialEnd: String { beside("iampass-trial-ended") }
  /// The lock file of commands that change the setup. Only root can open it. It may be missing.
  public var administratorLock: String { beside(Self.administratorLockName) }
  public static let administratorLockName = "iampassctl.lock"

  private func beside(_ name: String) -> String { folder == "/" ? "/" + name : folder + "/" + name }
}
