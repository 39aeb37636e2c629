import IAMPASSProtocol

extension CodeUse {
  /// Reads the body of a computer's request. Its host is the credential's, if the credential has one.
  init(_ call: Call, by signInClient: SignInClient) throws(MessageError) {
    let read = try CodeUseReport(parsing: call.request.body)
    let context = signInClient.context(read.context)
    guard context.isWithinBounds else { throw .member("context") }
    report = CodeUseReport(
      id: read.id, way: read.way, usedAt: read.usedAt, left: read.left, context: context, isOpen: read.isOpen)
    credential = signInClient.credential?.id
  }
}
