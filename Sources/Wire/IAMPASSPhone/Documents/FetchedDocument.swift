import DeviceProtocol
import HostSystem
import IAMPASSProtocol

extension RegisteredPhone {
  /// Fetches the document that a request asks an administrator to sign, and judges it.
  ///
  /// This takes at most as long as the request is open.
  ///
  /// - Parameter memory: the memory of earlier reviews, see ``DocumentStorage``.
  public func review(_ request: OpenRequest, remembering memory: DocumentMemory) throws(PhoneError) -> DocumentReview {
    guard request.document != nil, SignedDocument.isAsked(by: request.context), !request.isForAnother else {
      return .misfit(.notADocument)
    }
    let publicKey = try keyed { () throws(DeviceKeyError) in try account.key.publicKeyText }
    switch try parts(of: request, memory) {
    case .failure(let misfit): return .misfit(misfit)
    case .success(let parts):
      let reviewer = DocumentReviewer(
        origin: account.server.origin, device: account.device, publicKey: publicKey, memory: memory)
      return reviewer.review(parts, for: request)
    }
  }

  private func parts(
    of request: OpenRequest, _ memory: DocumentMemory
  ) throws(PhoneError) -> Result<DocumentParts, DocumentMisfit> {
    let end = MonotonicInstant.now().advanced(milliseconds: max(0, request.secondsLeft) * 1_000)
    var parts: DocumentParts?
    var after = ""
    while true {
      let ask = DocumentAsk(
        ask: try newAsk(.document), session: request.session, knownSet: memory.setNumber, after: after)
      let body = try post(ask.json, DeviceRoute.document)
      do {
        let page = try DocumentPage(parsing: body)
        if parts == nil {
          parts = try DocumentParts(first: page, size: body.count)
        } else {
          try parts?.append(page, size: body.count)
        }
        if page.next == nil, let parts { return .success(parts) }
        after = page.next ?? ""
      } catch {
        return .failure(error as? DocumentMisfit ?? .malformed)
      }
      guard MonotonicInstant.now() < end else { return .failure(.tooLarge) }
    }
  }
}
