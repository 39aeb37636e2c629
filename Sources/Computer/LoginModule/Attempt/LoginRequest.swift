import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// The sign-in as the PAM host describes it: user, PAM service and remote host.
public struct LoginRequest: Sendable, Equatable {
  public var user: UnixUsername
  public var service: String
  public var tty: String?
  public var remoteHost: String?
  /// PAM_RUSER: the user who asks.
  public var remoteUser: String?
  /// The asking user for the phone to show: see ``AskingUser``.
  public var askedBy: String?
  /// The uid of the user who started the program, from the kernel; 0 also if it is not known.
  public var callingUID: UInt32
  /// Whether PAM_AUTHTOK is set, so that the phone is the second factor.
  public var hasPassword: Bool
  public var command: String?
  public var hostName: String?
  /// Whether the program was told not to ask its user. The phone does not ring then.
  public var asksNothing: Bool
  /// What users see of the program, by its row; see ``shows``.
  public var hostShows: ServiceRow.Shows
  /// Whether the program cannot show a code and may ask without one: see
  /// ``ServiceRow/asksWithoutCode(callerUID:for:)``.
  public var isWithoutCode: Bool
  /// Whether the host is sshd's own program, whatever `service` it names.
  public var isSSHServer: Bool
  /// Whether sudo was told to read the password from its standard input, as Ansible does. There is no user who waits
  /// for a phone.
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

  /// What users see. sshd's own program counts as sshd under every service name.
  var shows: ServiceRow.Shows { isSSH ? .prompts : hostShows }

  /// Whether users ask for themselves at a terminal, as in sudo.
  var isOwnTerminal: Bool {
    isRemoteUserOwn && tty?.isEmpty == false && remoteHost == nil
  }

  /// Whether the request waits for another one to end. Editors and `scp` open several ssh connections at once. A
  /// stranger's su or program does not wait: it would ring as soon as the phone is free.
  var waitsItsTurn: Bool { isOwnTerminal || isSSH }

  var isRemoteUserOwn: Bool { remoteUser.flatMap { UnixUsername(validating: $0) } == user }

  /// Whether a display manager of this computer asks. SDDM answers with text that was typed before PAM asked, so its
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
