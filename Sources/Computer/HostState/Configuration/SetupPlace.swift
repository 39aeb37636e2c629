import HostSystem

/// Where this computer's setup is: the configuration, and what stands beside it.
public struct SetupPlace: Sendable, Equatable {
  /// The configuration's path, such as `/etc/iampass/iampass.conf`.
  public let configuration: String

  /// - Parameter configuration: a path. A relative one means what it means to the process's working directory.
  public init(configuration: String) { self.configuration = configuration }

  /// The folder that the configuration is in.
  public var folder: String { SecureFile.folder(of: configuration) }
  /// The configuration's name in its folder.
  public var name: String { configuration.split(separator: "/").last.map(String.init) ?? configuration }
  /// The application's or the host's credential.
  public var credentials: String { beside("credentials") }
  /// The users' tokens.
  public var users: String { beside("users") }
  /// The phones that this computer trusts (``PinnedPhones``). The file need not be there.
  public var phones: String { beside("phones") }
  /// What the phone's page is compared with, as `iampass-server page-digest` prints it. It need not be there.
  public var pageDigests: String { beside("page-digests") }
  /// The bound phones (``BoundPhones``). It need not be there.
  public var presence: String { beside("presence") }
  /// Rows of PAM services (``OwnServices``). The folder need not be there.
  public var ownServices: String { beside(OwnServices.folder) }
  /// The notes of a trial (``TrialNotes``).
  public var trial: String { beside("iampass-trial") }
  /// That a trial has ended (``TrialEndNote``). It need not be there.
  public var trialEnd: String { beside("iampass-trial-ended") }
  /// Locked by each command that changes something; root alone can open it. It need not be there.
  public var administratorLock: String { beside(Self.administratorLockName) }
  public static let administratorLockName = "iampassctl.lock"

  private func beside(_ name: String) -> String { folder == "/" ? "/" + name : folder + "/" + name }
}
