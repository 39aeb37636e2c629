import HostState
import HostSystem
import IAMPASSProtocol

/// Why it is not known whether a user has a token.
struct LookupFailure: Error, Equatable {
  /// The reason, for the log.
  let explanation: String
}

/// A user's token, as a look-up tells it.
enum TokenReply {
  /// The first byte of a reply. The token or the reason follows.
  private static let (saysToken, saysNone, saysWhy) = (UInt8(ascii: "t"), UInt8(ascii: "n"), UInt8(ascii: "w"))
  private static let notInTime = "the system does not say in time who the user is"

  /// - Parameter find: gives the user's token; nil only if it is certain that the user has none.
  static func told(_ find: () throws -> Secret?) -> [UInt8] {
    let reason: String
    do {
      guard let found = try find() else { return [saysNone] }
      return [saysToken] + found.exposedBytes
    } catch let error as UserLookupError { reason = error.explanation } catch let error as Misconfiguration {
      reason = error.explanation
    } catch { reason = "the user's token cannot be looked up" }
    return [saysWhy] + Array(reason.utf8)
  }

  /// The token; nil only if it is certain that the user has none.
  ///
  /// - Throws: also if the answer is not whole.
  static func token(_ answer: LookupAnswer) throws(LookupFailure) -> Secret? {
    guard answer.isWhole, let kind = answer.bytes.first else { throw LookupFailure(explanation: notInTime) }
    let rest = Array(answer.bytes.dropFirst())
    switch kind {
    case saysToken where !rest.isEmpty: return Secret(bytes: rest)
    case saysNone where rest.isEmpty: return nil
    case saysWhy: throw LookupFailure(explanation: String(decoding: rest, as: UTF8.self))
    default: throw LookupFailure(explanation: notInTime)
    }
  }
}
