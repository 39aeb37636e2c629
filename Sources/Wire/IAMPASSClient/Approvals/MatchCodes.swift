import IAMPASSProtocol

/// Draws the match codes of one user's requests. A code that was drawn stays taken until this object goes.
///
/// A broken service reads each code. It could wait until a request of somebody else has the digits that the user's own
/// terminal shows, and have the phone approve that one. So no two requests on one computer have the same.
public protocol MatchCodes: AnyObject {
  /// Two digits that no other request of the user has on this computer.
  ///
  /// - Throws: ``ServiceError/noRandomness``, or ``ServiceError/codesNotKept`` if none is free or that cannot be known.
  func draw() throws(ServiceError) -> Secret
}

/// For a program whose users have one request at a time.
public final class UnsharedMatchCodes: MatchCodes {
  public init() {}

  public func draw() throws(ServiceError) -> Secret {
    guard let code = AskedApproval.drawCode() else { throw .noRandomness }
    return code
  }
}
