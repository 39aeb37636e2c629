import IAMPASSProtocol

/// Draws the match codes of one user's requests. A drawn code stays taken until this object is freed.
///
/// A compromised service reads each code. It could wait until another person's request has the digits of the user's own
/// terminal, and have the phone approve that request. So no two requests on one computer have the same code.
public protocol MatchCodes: AnyObject {
  /// Two digits that no other request of the user has on this computer.
  ///
  /// - Throws: ``ServiceError/noRandomness``, or ``ServiceError/codesNotKept`` if no code is free, or if that is not
  ///   known.
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
