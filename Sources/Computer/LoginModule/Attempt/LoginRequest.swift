import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Who wants to sign in, through which service and from which place: what the PAM host says.
public struct LoginRequest: Sendable, Equatable {
  public var user: UnixUsername
  public var service: String
  public var tty: String?
  public var remoteHost: String?
  /// PAM_RUSER: the user who asks.
  public var remoteUser: String?
  /// For the phone to show: see ``AskingUser``.
  public var askedBy: String?
  /// Who began the program that asks, by the kernel's word; 0 also if that is not known.
  public var callingUID: UInt32
  /// PAM_AUTHTOK is set: the phone is the second factor.
  public var hasPassword: Bool
  public var command: String?
  public var hostName: String?
  /// The program was called so that it asks its user nothing: then no phone rings.
  public var asksNothing: Bool
  /// What people see of the program that asks, as its row says; see ``shows``.
  public var hostShows: ServiceRow.Shows
  /// The program can show no code, and may ask without: see ``ServiceRow/asksWithoutCode(callerUID:for:)``.
  public var isWithoutCode: Bool
  /// The host is sshd's own program, whatever `service` it names.
  public var isSSHServer: Bool
  /// sudo was told to read the password from its standard input, as Ansible does: nobody waits for a phone there.
  public var isAnsweredByProgram: Bool

  public init(
    user: UnixUsername, service: String, tty: String? = nil, remoteHost: String? = nil, remoteUser: String? = nil,
    askedBy: String? = nil, callingUID: UInt32, hasPassword: Bool = false, command: String? = nil,
    hostName: String? = nil, hostShows: ServiceRow.Shows = .text, isWithoutCode: Bool = false,
    isSSHServer: Bool = false, asksNothing: Bool = false, isAnsweredByProgram: Bool = false
  ) {
    self.user = user
    self.service = service
    self.tty = tty
    self.remoteHost = remoteHost
    self.remoteUser = remoteUser
    self.askedBy = askedBy
    self.callingUID = callingUID
    self.hasPassword = hasPassword
    self.command = command
    self.hostName = hostName
    self.hostShows = hostShows
    self.isWithoutCode = isWithoutCode
    self.isSSHServer = isSSHServer
    self.asksNothing = asksNothing
    self.isAnsweredByProgram = isAnsweredByProgram
  }

  public var isSSH: Bool { isSSHServer || service == SSHServer.usualService }

  /// Whether a code stands in a line or in a prompt. sshd's own program is sshd under every name.
  var shows: ServiceRow.Shows { isSSH ? .prompts : hostShows }

  /// Whether users ask for themselves at a terminal, as in sudo.
  var isOwnTerminal: Bool {
    isRemoteUserOwn && tty?.isEmpty == false && remoteHost == nil
  }

  /// Whether the request waits for another one to end. Editors and `scp` open several ssh connections at once. A
  /// stranger's su or program does not wait: it would ring as soon as the phone is free.
  var waitsItsTurn: Bool { isOwnTerminal || isSSH }

  var isRemoteUserOwn: Bool { remoteUser.flatMap { UnixUsername(validating: $0) } == user }

  /// Whether a display manager of this computer asks. SDDM answers with what was typed before PAM asked, so that its
  /// user's Enter comes at once.
  var isAtGreeter: Bool { DesktopServices.isGreeter(service) && remoteHost == nil }

  var source: AttemptSource {
    if let remoteHost { return .remoteHost(remoteHost) }
    if isOwnTerminal { return .own }
    return callingUID == 0 ? .program(service: service) : .caller(uid: callingUID)
  }

  var context: SignInContext {
    SignInContext(
      host: hostName, service: service, user: user.text, askedBy: askedBy, isWithoutCode: isWithoutCode, tty: tty,
      remoteHost: remoteHost, command: command)
  }
}
