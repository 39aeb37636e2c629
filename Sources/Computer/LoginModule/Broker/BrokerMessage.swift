import HostState
import IAMPASSProtocol

/// A program's request to the broker: one sign-in by phone.
///
/// It never has a password or a token.
public struct BrokerRequest: Sendable, Equatable {
  /// PAM_USER as the program has it.
  public var user: String
  /// PAM_SERVICE as the program has it, or the name of the locker that asks by it: ``ServiceTable/name(of:isUsersOwn:)``.
  public var service: String
  /// Whether PAM_AUTHTOK is set, so that the phone is the second factor.
  public var hasPassword: Bool
  /// Whether the user has pressed Enter at the broker's question, so that the phone may ring.
  public var isAgreed: Bool
  /// Whether a module after this one asks for a password.
  public var passwordFollows: Bool
  public var prompt: PromptMode
  public var methods: [AuthenticationMethod]
  /// The time for an answer in seconds, within ``ApprovalTimeout/bounds``; nil: as in the broker's configuration.
  public var timeout: Int64?
  /// The real uid of a program that runs as root, such as polkit's setuid helper; nil if it is root or not known. Any
  /// caller can send it: see ``askerUID(of:)``.
  public var asker: UInt32?

  public init(
    user: String, service: String, hasPassword: Bool = false, isAgreed: Bool = false, passwordFollows: Bool = true,
    prompt: PromptMode = .auto, methods: [AuthenticationMethod] = [], timeout: Int64? = nil, asker: UInt32? = nil
  ) {
    self.user = user
    self.service = service
    self.hasPassword = hasPassword
    self.isAgreed = isAgreed
    self.passwordFollows = passwordFollows
    self.prompt = prompt
    self.methods = methods
    self.timeout = timeout
    self.asker = asker
  }

  /// The uid of the asking user. Only a root program may name another user than its own.
  ///
  /// - Parameter callerUID: the program's uid, from the kernel.
  public func askerUID(of callerUID: UInt32) -> UInt32 { callerUID == 0 ? asker ?? 0 : callerUID }
}

/// One message between a program's module and the broker.
///
/// A frame is a length of two bytes, big-endian, then the kind and its content, at most 1 KiB. The length counts kind
/// and content.
public enum BrokerMessage: Sendable, Equatable {
  /// Greatest length of a frame without its two bytes of length.
  public static let greatestLength = 1_024
  /// The longest time for the rest of a message after its first byte, or for sending one, in milliseconds.
  public static let patience: Int64 = 2_000

  case request(BrokerRequest)
  /// A line for the user.
  case say(String)
  /// A question. The broker closes the connection, and Enter leads to a new request.
  case ask(String)
  /// The end, with the line for the user; nothing is shown if it is empty. In an approval the text is the service's
  /// name for the session, for the log.
  case ended(BrokerEnding, String)

  private enum Kind: UInt8 {
    case request = 1
    case say
    case ask
    case ended
  }

  /// The frame with its length; nil if it would be too long.
  public func encoded() -> [UInt8]? {
    var content: [UInt8]
    switch self {
    case .request(let request):
      guard let fields = Self.fields(request) else { return nil }
      content = [Kind.request.rawValue] + fields
    case .say(let text): content = [Kind.say.rawValue] + Array(text.utf8)
    case .ask(let text): content = [Kind.ask.rawValue] + Array(text.utf8)
    case .ended(let ending, let text): content = [Kind.ended.rawValue, ending.rawValue] + Array(text.utf8)
    }
    guard content.count <= Self.greatestLength else { return nil }
    return [UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
  }

  /// - Parameter content: a frame without its two bytes of length. Nil if it is not a message.
  public init?(decoding content: [UInt8]) {
    guard content.count <= Self.greatestLength, let kind = content.first.flatMap({ Kind(rawValue: $0) }) else {
      return nil
    }
    let rest = content.dropFirst()
    switch kind {
    case .request:
      guard let request = Self.request(Array(rest)) else { return nil }
      self = .request(request)
    case .say:
      guard let text = Self.text(rest) else { return nil }
      self = .say(text)
    case .ask:
      guard let text = Self.text(rest) else { return nil }
      self = .ask(text)
    case .ended:
      guard let ending = rest.first.flatMap({ BrokerEnding(rawValue: $0) }), let text = Self.text(rest.dropFirst())
      else { return nil }
      self = .ended(ending, text)
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String? { String(validating: bytes, as: UTF8.self) }
}

extension BrokerMessage {
  private static let flagPassword: UInt8 = 1
  private static let flagAgreed: UInt8 = 2
  private static let flagPasswordFollows: UInt8 = 4
  private static let flagAsker: UInt8 = 8
  private static let allFlags: UInt8 = 15
  /// Flags, prompt, methods, timeout and the two lengths.
  private static let fixedLength = 6
  /// The bytes of a uid, big-endian, after the names. It may be missing, as in earlier versions: programs that keep an
  /// old module loaded through an upgrade, such as lockers, do not send it.
  private static let askerLength = 4

  /// Nil if a name is longer than 255 bytes.
  private static func fields(_ request: BrokerRequest) -> [UInt8]? {
    let user = Array(request.user.utf8)
    let service = Array(request.service.utf8)
    guard user.count <= 0xFF, service.count <= 0xFF, let timeout = UInt8(exactly: request.timeout ?? 0) else {
      return nil
    }
    let flags =
      (request.hasPassword ? flagPassword : 0) | (request.isAgreed ? flagAgreed : 0)
      | (request.passwordFollows ? flagPasswordFollows : 0) | (request.asker == nil ? 0 : flagAsker)
    var methods: UInt8 = 0
    for (place, method) in AuthenticationMethod.allCases.enumerated() where request.methods.contains(method) {
      methods |= 1 << UInt8(place)
    }
    let prompt = UInt8(PromptMode.allCases.firstIndex(of: request.prompt) ?? 0)
    let asker = request.asker.map { uid in (0..<askerLength).map { UInt8(uid >> UInt32(24 - 8 * $0) & 0xFF) } } ?? []
    return [flags, prompt, methods, timeout, UInt8(user.count)] + user + [UInt8(service.count)] + service + asker
  }

  private static func request(_ bytes: [UInt8]) -> BrokerRequest? {
    guard bytes.count >= fixedLength else { return nil }
    let prompts = PromptMode.allCases
    let methods = AuthenticationMethod.allCases
    let timeout = Int64(bytes[3])
    let userEnd = 5 + Int(bytes[4])
    guard bytes[0] & ~allFlags == 0, Int(bytes[1]) < prompts.count, Int(bytes[2]) < 1 << methods.count,
      timeout == 0 || ApprovalTimeout.bounds.contains(timeout), userEnd < bytes.count
    else { return nil }
    let serviceEnd = userEnd + 1 + Int(bytes[userEnd])
    let hasAsker = bytes[0] & flagAsker != 0
    guard bytes.count == serviceEnd + (hasAsker ? askerLength : 0), let user = text(bytes[5..<userEnd]),
      let service = text(bytes[(userEnd + 1)..<serviceEnd]), !user.utf8.contains(0), !service.utf8.contains(0)
    else { return nil }
    let asker = hasAsker ? bytes[serviceEnd...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } : nil
    guard asker != 0, asker != UInt32.max else { return nil }
    return BrokerRequest(
      user: user, service: service, hasPassword: bytes[0] & flagPassword != 0, isAgreed: bytes[0] & flagAgreed != 0,
      passwordFollows: bytes[0] & flagPasswordFollows != 0, prompt: prompts[Int(bytes[1])],
      methods: methods.enumerated().filter { bytes[2] & (1 << UInt8($0.offset)) != 0 }.map(\.element),
      timeout: timeout == 0 ? nil : timeout, asker: asker)
  }
}
